/* Elementary functions whose bits no C library changes.
 *
 * C libraries differ in the last bit of exp, log and their relatives, and one library may differ from
 * one processor to the next. What is drawn and saved must not, so the kernels use these: IEEE double
 * arithmetic in the order written, for which meson.build forbids fused multiply-adds. exp is off by at most
 * 0.53 units in the last place, log by 0.75, pow by 1 where its result is between 1e-30 and 1e30,
 * the others by a few. tests/test_elementary.py compares them with sixty digits.
 */
#ifndef CALIBRANT_FUNCTIONS_H
#define CALIBRANT_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* 2^(j/128), and what is missing from it, relative to it. */
static const double calibrant_powers[128][2] = {
    {0x1p+0, 0.0}, {0x1.0163da9fb3335p+0, 0x1.b3b4f1a88bf6ep-54},
    {0x1.02c9a3e778061p+0, -0x1.160139cd8dc5dp-56}, {0x1.04315e86e7f85p+0, -0x1.05e7a108766d1p-54},
    {0x1.059b0d3158574p+0, 0x1.cd2523567f613p-55}, {0x1.0706b29ddf6dep+0, -0x1.bce8023f98efap-55},
    {0x1.0874518759bc8p+0, 0x1.0f74e61e6c861p-57}, {0x1.09e3ecac6f383p+0, 0x1.0a3e45b33d399p-54},
    {0x1.0b5586cf9890fp+0, 0x1.79aa65d837b6dp-54}, {0x1.0cc922b7247f7p+0, 0x1.eb51a92fdeffcp-55},
    {0x1.0e3ec32d3d1a2p+0, 0x1.ebe3d702f9cd1p-60}, {0x1.0fb66affed31bp+0, -0x1.a033489906e0bp-57},
    {0x1.11301d0125b51p+0, -0x1.556522a2fbd0ep-54}, {0x1.12abdc06c31ccp+0, -0x1.080ef8c4eea55p-58},
    {0x1.1429aaea92dep+0, -0x1.1c923b9d5f416p-54}, {0x1.15a98c8a58e51p+0, 0x1.0d3e3e95c55afp-55},
    {0x1.172b83c7d517bp+0, -0x1.01b15eaa59348p-55}, {0x1.18af9388c8deap+0, -0x1.f1ff055de323dp-55},
    {0x1.1a35beb6fcb75p+0, 0x1.b898c3f1353bfp-55}, {0x1.1bbe084045cd4p+0, -0x1.6d99c7611eb26p-54},
    {0x1.1d4873168b9aap+0, 0x1.aecf73e3a2f6p-54}, {0x1.1ed5022fcd91dp+0, -0x1.fe782cb86389dp-55},
    {0x1.2063b88628cd6p+0, 0x1.a6f4144a6c38dp-55}, {0x1.21f49917ddc96p+0, 0x1.07a05b0e4047dp-55},
    {0x1.2387a6e756238p+0, 0x1.68efde3a8a894p-54}, {0x1.251ce4fb2a63fp+0, 0x1.75e18f274487dp-55},
    {0x1.26b4565e27cddp+0, 0x1.0472b981fe7f2p-55}, {0x1.284dfe1f56381p+0, -0x1.6b87b3f71085ep-54},
    {0x1.29e9df51fdee1p+0, 0x1.2f7e16d09ab31p-55}, {0x1.2b87fd0dad99p+0, -0x1.d219b1a6fbffap-60},
    {0x1.2d285a6e4030bp+0, 0x1.b3782720c0ab4p-55}, {0x1.2ecafa93e2f56p+0, 0x1.e149289cecb8fp-57},
    {0x1.306fe0a31b715p+0, 0x1.34d754db0abb6p-55}, {0x1.32170fc4cd831p+0, 0x1.64201e2ac744cp-55},
    {0x1.33c08b26416ffp+0, 0x1.fdd395dd3f84ap-55}, {0x1.356c55f929ff1p+0, -0x1.6a3803b8e5b04p-55},
    {0x1.371a7373aa9cbp+0, -0x1.24aedcc4b5068p-54}, {0x1.38cae6d05d866p+0, -0x1.907f81b512d8ep-54},
    {0x1.3a7db34e59ff7p+0, -0x1.1d1e83e9436d2p-56}, {0x1.3c32dc313a8e5p+0, -0x1.91919b3ce1b15p-54},
    {0x1.3dea64c123422p+0, 0x1.59f48a72a4c6dp-55}, {0x1.3fa4504ac801cp+0, -0x1.312607a28698ap-54},
    {0x1.4160a21f72e2ap+0, -0x1.8a78f4817895bp-58}, {0x1.431f5d950a897p+0, -0x1.c2c9b67499a1bp-56},
    {0x1.44e086061892dp+0, 0x1.363ed60c2ac11p-59}, {0x1.46a41ed1d0057p+0, 0x1.666093b0664efp-54},
    {0x1.486a2b5c13cdp+0, 0x1.ecce1daa10379p-57}, {0x1.4a32af0d7d3dep+0, 0x1.3ff8e3f0f123p-54},
    {0x1.4bfdad5362a27p+0, 0x1.690cebb7aafbp-56}, {0x1.4dcb299fddd0dp+0, 0x1.31dbdeb54e077p-54},
    {0x1.4f9b2769d2ca7p+0, -0x1.f94340071a38ep-55}, {0x1.516daa2cf6642p+0, -0x1.7deccdc93a349p-55},
    {0x1.5342b569d4f82p+0, -0x1.8dec6bd0f385fp-56}, {0x1.551a4ca5d920fp+0, -0x1.61246ec7b5cf6p-55},
    {0x1.56f4736b527dap+0, 0x1.3350518fdd78ep-54}, {0x1.58d12d497c7fdp+0, 0x1.b98b72f8a9b05p-56},
    {0x1.5ab07dd485429p+0, 0x1.063e1e21c5409p-54}, {0x1.5c9268a5946b7p+0, 0x1.4c7855019c6eap-60},
    {0x1.5e76f15ad2148p+0, 0x1.432e62b64c035p-54}, {0x1.605e1b976dc09p+0, -0x1.ce44a6199769fp-55},
    {0x1.6247eb03a5585p+0, -0x1.c33c53bef4da8p-55}, {0x1.6434634ccc32p+0, -0x1.45378892be9aep-55},
    {0x1.6623882552225p+0, -0x1.3cedd78565858p-54}, {0x1.68155d44ca973p+0, 0x1.710aa807e1964p-58},
    {0x1.6a09e667f3bcdp+0, -0x1.3b3efbf5e2228p-54}, {0x1.6c012750bdabfp+0, -0x1.a12ad8734b982p-57},
    {0x1.6dfb23c651a2fp+0, -0x1.367efb86da9eep-57}, {0x1.6ff7df9519484p+0, -0x1.0dc3d54e08851p-55},
    {0x1.71f75e8ec5f74p+0, -0x1.81f647e5a3ecfp-56}, {0x1.73f9a48a58174p+0, -0x1.6ee4ac08b7dbp-55},
    {0x1.75feb564267c9p+0, -0x1.619321e55e68ap-55}, {0x1.780694fde5d3fp+0, 0x1.09ccb5e09d4d3p-54},
    {0x1.7a11473eb0187p+0, -0x1.b32dcb94da51dp-56}, {0x1.7c1ed0130c132p+0, 0x1.4ecfd5467c06bp-54},
    {0x1.7e2f336cf4e62p+0, 0x1.5ebe1abd66c55p-57}, {0x1.80427543e1a12p+0, -0x1.8a1c52fb3cf42p-55},
    {0x1.82589994cce13p+0, -0x1.369b6f13b3734p-54}, {0x1.8471a4623c7adp+0, -0x1.05e843a19ff1ep-55},
    {0x1.868d99b4492edp+0, -0x1.4d450d872576ep-54}, {0x1.88ac7d98a6699p+0, 0x1.0ad675b0e8ap-54},
    {0x1.8ace5422aa0dbp+0, 0x1.db72fc1f0eab4p-55}, {0x1.8cf3216b5448cp+0, -0x1.5b6609cc5e7ffp-57},
    {0x1.8f1ae99157736p+0, 0x1.bf68359f35f44p-56}, {0x1.9145b0b91ffc6p+0, -0x1.3091fa71e3d83p-54},
    {0x1.93737b0cdc5e5p+0, -0x1.da9b88b6c1e29p-58}, {0x1.95a44cbc8520fp+0, -0x1.c23f97c90b959p-57},
    {0x1.97d829fde4e5p+0, -0x1.2434322f4f9aap-54}, {0x1.9a0f170ca07bap+0, -0x1.5ca6cd7668e4bp-55},
    {0x1.9c49182a3f09p+0, 0x1.1affc2b91ce27p-56}, {0x1.9e86319e32323p+0, 0x1.dd235e10a73bbp-57},
    {0x1.a0c667b5de565p+0, -0x1.7c50422622263p-55}, {0x1.a309bec4a2d33p+0, 0x1.b1c86e3e231d5p-55},
    {0x1.a5503b23e255dp+0, -0x1.1bbd1d3bcbb15p-54}, {0x1.a799e1330b358p+0, 0x1.0cc319cee31d2p-54},
    {0x1.a9e6b5579fdbfp+0, 0x1.469846e735ab3p-55}, {0x1.ac36bbfd3f37ap+0, -0x1.2dfcd978e9db4p-55},
    {0x1.ae89f995ad3adp+0, 0x1.c1a7792cb3387p-55}, {0x1.b0e07298db666p+0, -0x1.07b8f4ad1d9fap-54},
    {0x1.b33a2b84f15fbp+0, -0x1.5c3d956dcaebap-58}, {0x1.b59728de5593ap+0, -0x1.0a40e3da6f64p-54},
    {0x1.b7f76f2fb5e47p+0, -0x1.8d6f438ad9334p-57}, {0x1.ba5b030a1064ap+0, -0x1.1eee26b588a35p-54},
    {0x1.bcc1e904bc1d2p+0, 0x1.4ffd70a5fddcdp-56}, {0x1.bf2c25bd71e09p+0, -0x1.1bdfbfa9298acp-54},
    {0x1.c199bdd85529cp+0, 0x1.36eae30af0cb3p-56}, {0x1.c40ab5fffd07ap+0, 0x1.ee3325c9ffd94p-55},
    {0x1.c67f12e57d14bp+0, 0x1.4e08fd10959acp-55}, {0x1.c8f6d9406e7b5p+0, 0x1.3cdaf384e1a67p-57},
    {0x1.cb720dcef9069p+0, 0x1.76b2c6c921968p-57}, {0x1.cdf0b555dc3fap+0, -0x1.08a1883ccb5d2p-55},
    {0x1.d072d4a07897cp+0, -0x1.fad5d3ffffa6fp-55}, {0x1.d2f87080d89f2p+0, -0x1.00dae3875a949p-54},
    {0x1.d5818dcfba487p+0, 0x1.4a385a63d07a7p-56}, {0x1.d80e316c98398p+0, -0x1.2919e2040220fp-55},
    {0x1.da9e603db3285p+0, 0x1.e5a50d5c192acp-55}, {0x1.dd321f301b46p+0, 0x1.43a59ac016b4bp-55},
    {0x1.dfc97337b9b5fp+0, -0x1.2d52107b43e1fp-55}, {0x1.e264614f5a129p+0, -0x1.92ab93b470dc9p-55},
    {0x1.e502ee78b3ff6p+0, 0x1.4b604603a88d3p-56}, {0x1.e7a51fbc74c83p+0, 0x1.3c5ec519d7271p-55},
    {0x1.ea4afa2a490dap+0, -0x1.ff7128fd391fp-55}, {0x1.ecf482d8e67f1p+0, -0x1.dae98e223747dp-55},
    {0x1.efa1bee615a27p+0, 0x1.ec3bc41aa2008p-55}, {0x1.f252b376bba97p+0, 0x1.42b94c3a9eb32p-55},
    {0x1.f50765b6e454p+0, 0x1.a64a931d185eep-55}, {0x1.f7bfdad9cbe14p+0, -0x1.e37bae43be3edp-55},
    {0x1.fa7c1819e90d8p+0, 0x1.7893b4d91cd9dp-56}, {0x1.fd3c22b8f71f1p+0, 0x1.305c14160cc89p-58},
};

/* For the 64 intervals that divide [0.6875, 1.375): a number c near the middle whose inverse is nearly a double,
 * that inverse, and log(c) in two pieces, the first a multiple of 2^-42. The two intervals beside 1 have c = 1. */
static const double calibrant_logarithms[64][4] = {
    {0x1.61febfe1p-1, 0x1.7243d6c8c6a65p+0, -0x1.79e6048972p-2, -0x1.955593195a318p-44},
    {0x1.65ff79cp-1, 0x1.6e200000337c8p+0, -0x1.6e626e6b3ap-2, 0x1.a33269fb3743dp-44},
    {0x1.6a00010f8p-1, 0x1.6a13cc05a85p+0, -0x1.63002db3abp-2, 0x1.d2623e779aep-45},
    {0x1.6e03654p-1, 0x1.661b7423de5a6p+0, -0x1.57b5f547d5p-2, -0x1.ba2c6290c463ap-47},
    {0x1.71ffa38p-1, 0x1.624000001624p+0, -0x1.4c9f09e193p-2, 0x1.e1dde6fe02dep-45},
    {0x1.76053fb28p-1, 0x1.5e70d07f30498p+0, -0x1.418ce3572fp-2, -0x1.b5e9c60dc26b3p-45},
    {0x1.7a005e8p-1, 0x1.5ac0000015acp+0, -0x1.36b5776c01p-2, -0x1.169785c9c223fp-46},
    {0x1.7dff82488p-1, 0x1.571f44b1110eep+0, -0x1.2bf058ce01p-2, 0x1.5a67830d67657p-44},
    {0x1.820001218p-1, 0x1.53909390949p+0, -0x1.214453d0ecp-2, 0x1.c670428db28a3p-44},
    {0x1.8600aaap-1, 0x1.50146e4724c23p+0, -0x1.16b40cbb32p-2, 0x1.239be572a8ae7p-44},
    {0x1.8a0564278p-1, 0x1.4ca6fb306e91p+0, -0x1.0c34d38eap-2, -0x1.d808e8c18a788p-44},
    {0x1.8dfffa8fp-1, 0x1.4953a2bbd1cp+0, -0x1.01eaf3626dp-2, 0x1.f9c22f6d6cf82p-44},
    {0x1.920001f68p-1, 0x1.460cbae7cd1p+0, -0x1.ef5ad44ddp-3, -0x1.277ba91bbc73ap-49},
    {0x1.95fdb072p-1, 0x1.42d838c25cabap+0, -0x1.db1f8315c6p-3, -0x1.0085f693c6f3fp-44},
    {0x1.9a0019ap-1, 0x1.3fb00000013fbp+0, -0x1.c6ff3c6f04p-3, -0x1.ee1337e5187eep-44},
    {0x1.9e038a078p-1, 0x1.3c96a56f0b323p+0, -0x1.b30c0388e6p-3, 0x1.afd18fb790788p-44},
    {0x1.a2057f138p-1, 0x1.398da344ff9cbp+0, -0x1.9f51529ddcp-3, -0x1.532ad768691c6p-45},
    {0x1.a603e4118p-1, 0x1.369602264de19p+0, -0x1.8bd81cc9d8p-3, -0x1.7be382dfb671dp-44},
    {0x1.aa05104ep-1, 0x1.33aa9d7d4e8edp+0, -0x1.788080794ep-3, -0x1.804492edbfbcep-45},
    {0x1.adfd59d38p-1, 0x1.30d370d4864c3p+0, -0x1.658189f2b4p-3, -0x1.5954eede90583p-45},
    {0x1.b2000516p-1, 0x1.2e02587ab1p+0, -0x1.527e464a1cp-3, 0x1.0660b964b4108p-44},
    {0x1.b5fffe4ap-1, 0x1.2b404bfb53p+0, -0x1.3fb4625992p-3, -0x1.21713c1203aafp-44},
    {0x1.b9ff918p-1, 0x1.288b4b4b5dd4p+0, -0x1.2d1810c8a8p-3, -0x1.3a817782c5fb2p-47},
    {0x1.bdfd754bp-1, 0x1.25e3d3cfeeb6fp+0, -0x1.1aae63eac4p-3, 0x1.98333ddc5057dp-44},
    {0x1.c2063c18p-1, 0x1.23415e7dd0a7bp+0, -0x1.083d2b8c36p-3, 0x1.2d26c1232020bp-44},
    {0x1.c6032fc8p-1, 0x1.20b26a05e58afp+0, -0x1.ec56d84a74p-4, -0x1.730baade52ce9p-44},
    {0x1.c9ffc6cp-1, 0x1.1e2f1779de768p+0, -0x1.c887801be4p-4, -0x1.647271bb80229p-45},
    {0x1.cdfc2b27p-1, 0x1.1bb6fe5b6fd5bp+0, -0x1.a5095c2f2cp-4, 0x1.077bde59bc4aap-44},
    {0x1.d1ff342p-1, 0x1.1945b3174883fp+0, -0x1.819ee2f598p-4, 0x1.c08bf09246a1ap-44},
    {0x1.d600b04p-1, 0x1.16e0000027378p+0, -0x1.5e8fa4da98p-4, -0x1.1c6fce315711p-44},
    {0x1.d9ffff898p-1, 0x1.1485f125ce5p+0, -0x1.3bdf5e7d2p-4, 0x1.193d0ad11033fp-44},
    {0x1.de00beeb8p-1, 0x1.123520f01a9b5p+0, -0x1.196d5915acp-4, -0x1.d2c2be71aa862p-49},
    {0x1.e1ff878p-1, 0x1.0fef450bc044p+0, -0x1.eeab1c0168p-5, -0x1.c3f2d8b9c2df3p-44},
    {0x1.e600be518p-1, 0x1.0db1a0ec2524ep+0, -0x1.aae2a51228p-5, 0x1.67f12c3778491p-44},
    {0x1.e9f8972ap-1, 0x1.0b827a507159ep+0, -0x1.6845301d1p-5, -0x1.18283316affbbp-44},
    {0x1.ee04d4eep-1, 0x1.09515b3b5b25ap+0, -0x1.24df135d2p-5, -0x1.d8efdb7ef9033p-46},
    {0x1.f2068c5f8p-1, 0x1.072eeab650e53p+0, -0x1.c565c02bep-6, -0x1.11b264dbfc33fp-45},
    {0x1.f603ecp-1, 0x1.0517754e88a33p+0, -0x1.42aa92d98p-6, -0x1.0b010f3f6bf2bp-49},
    {0x1.fa03f47e8p-1, 0x1.030715030a165p+0, -0x1.81446b38cp-7, -0x1.1b19d4a137a8bp-44},
    {0x1p+0, 0x1p+0, 0.0, 0.0},
    {0x1p+0, 0x1p+0, 0.0, 0.0},
    {0x1.0600f188p+0, 0x1.f4448cb5726fdp-1, 0x1.7bccb0623p-6, -0x1.b767af9913c62p-44},
    {0x1.0a00428p+0, 0x1.ecc000001eccp-1, 0x1.39f07b9ee8p-5, 0x1.eb129d5c2e577p-44},
    {0x1.0dfc3ff88p+0, 0x1.e57a6ac2a471dp-1, 0x1.b3bc0e475p-5, -0x1.ba4cbd6d0f0c4p-44},
    {0x1.11ff77p+0, 0x1.de5e5d6eb72p-1, 0x1.164b6ee838p-4, -0x1.4a709313a541ap-46},
    {0x1.1600022cp+0, 0x1.d77b619c8cp-1, 0x1.51b093f06p-4, 0x1.63f692a391311p-44},
    {0x1.1a02dc438p+0, 0x1.d0c6a21722a1bp-1, 0x1.8c5de92d28p-4, 0x1.d5dfd9411b29ep-45},
    {0x1.1e0410a9p+0, 0x1.ca44acd90b295p-1, 0x1.c61f808bd4p-4, -0x1.ece1630b75176p-44},
    {0x1.22006ebb8p+0, 0x1.c3f8438833c5cp-1, 0x1.fecf2f1c94p-4, 0x1.376a54bea8541p-48},
    {0x1.25fe4f0ap+0, 0x1.bdd54928592bep-1, 0x1.1b66e54a4ap-3, -0x1.4a0705d4d36b6p-45},
    {0x1.2a0336fep+0, 0x1.b7d205349ed86p-1, 0x1.3735d9e368p-3, -0x1.e92237c120b9fp-44},
    {0x1.2dffff69p+0, 0x1.b20364dfc9cp-1, 0x1.526e5a3a1cp-3, -0x1.7b0ba3806fce3p-44},
    {0x1.32004c8p+0, 0x1.ac569696b15cp-1, 0x1.6d62fe715ep-3, -0x1.bc59001fdf204p-44},
    {0x1.3600136p+0, 0x1.a6d0000001a6dp-1, 0x1.87fa865208p-3, 0x1.2212595671851p-44},
    {0x1.3a0003aep+0, 0x1.a16d3ab35dp-1, 0x1.a23bd9fe2cp-3, -0x1.9b9cd88dc9f1fp-44},
    {0x1.3dff80fc8p+0, 0x1.9c2db98f8d6dbp-1, 0x1.bc25354236p-3, -0x1.1e11c05653e29p-44},
    {0x1.42032c3b8p+0, 0x1.970a4cc290676p-1, 0x1.d5d6449b88p-3, 0x1.7e88a7fa6cc3dp-45},
    {0x1.45ffc2ep+0, 0x1.921000000e229p-1, 0x1.ef095cbda2p-3, -0x1.b27d79caf2f2ap-45},
    {0x1.4a0014ap+0, 0x1.8d300000018d3p-1, 0x1.0402994b4bp-2, 0x1.0370df44582d4p-48},
    {0x1.4e006deb8p+0, 0x1.886ddde492be2p-1, 0x1.105a109aadp-2, 0x1.c9eda4e07a228p-45},
    {0x1.520000548p+0, 0x1.83c9774a399p-1, 0x1.1c898d169ap-2, -0x1.81c10e5c4d5aap-44},
    {0x1.5600558p+0, 0x1.7f40000017f4p-1, 0x1.2896a13dc8p-2, 0x1.a8ed027616952p-44},
    {0x1.5a02902fp+0, 0x1.7acf5225e0816p-1, 0x1.34856fa256p-2, 0x1.87964c9317ecp-44},
    {0x1.5dfea5138p+0, 0x1.767f4177edbfbp-1, 0x1.403f116673p-2, 0x1.cb3d990f8e4dep-44},
};

static inline uint64_t calibrant_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

static inline double calibrant_double(uint64_t bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

/* exp(x + tail), |tail| a small part of |x|: x = (128 e + j) log(2) / 128 + r, |r| < 0.0028. */
static inline double calibrant_exp_of(double x, double tail) {
    const double whole = 0x1.8p52; /* adding it rounds to an integer, which the last bits then are */
    double n, r, m, y;
    uint64_t k;
    const double *row;
    int64_t shift = 0; /* beyond the normal powers of two: in two steps */
    if (!(fabs(x) < 708.0)) {
        if (!(x < 709.79)) return x != x ? x : INFINITY;
        if (x < -745.2) return 0.0;
        shift = x > 0.0 ? -1 : 64;
    }
    n = x * 0x1.71547652b82fep+7 + whole;
    k = calibrant_bits(n);
    n -= whole;
    row = calibrant_powers[k & 127];
    r = (x - n * 0x1.62e42fef8p-8) - n * 0x1.1cf79abc9e3b4p-43;
    m = r * r;
    y = calibrant_double(calibrant_bits(row[0]) + ((k & ~(uint64_t)127) << 45) + ((uint64_t)shift << 52));
    y += y * ((r + (row[1] + tail)) + m * ((0.5 + r * (1.0 / 6.0)) + m * (1.0 / 24.0 + r * (1.0 / 120.0))));
    return shift == 0 ? y : shift < 0 ? y * 2.0 : y * 0x1p-64;
}

static inline double calibrant_exp(double x) {
    return calibrant_exp_of(x, 0.0);
}

/* exp of up to 16 numbers, each as calibrant_exp has it: in loops that a compiler can vectorise. */
static inline void calibrant_exps(const double *x, double *y, int count) {
    const double whole = 0x1.8p52;
    double n[16], r[16], low[16];
    int i, usual = 1;
    for (i = 0; i < count; i++) usual &= fabs(x[i]) < 708.0;
    if (!usual) {
        for (i = 0; i < count; i++) y[i] = calibrant_exp(x[i]);
        return;
    }
    for (i = 0; i < count; i++) {
        n[i] = x[i] * 0x1.71547652b82fep+7 + whole;
        r[i] = (x[i] - (n[i] - whole) * 0x1.62e42fef8p-8) - (n[i] - whole) * 0x1.1cf79abc9e3b4p-43;
    }
    for (i = 0; i < count; i++) {
        const uint64_t k = calibrant_bits(n[i]);
        const double *row = calibrant_powers[k & 127];
        y[i] = calibrant_double(calibrant_bits(row[0]) + ((k & ~(uint64_t)127) << 45));
        low[i] = row[1];
    }
    for (i = 0; i < count; i++) {
        const double m = r[i] * r[i];
        y[i] += y[i] * ((r[i] + low[i]) + m * ((0.5 + r[i] * (1.0 / 6.0)) + m * (1.0 / 24.0 + r[i] * (1.0 / 120.0))));
    }
}

/* log(x) for normal x > 0, without its last rounding: what is returned and *tail add up to it.
 * x = 2^k m, m = c (1 + r), |r| < 1/64. */
static inline double calibrant_log_of(double x, double *tail) {
    uint64_t bits = calibrant_bits(x), above = bits - 0x3fe6000000000000u;
    const double *row = calibrant_logarithms[(above >> 46) & 63];
    const double k = (double)((int64_t)above >> 52);
    const double r = (calibrant_double(bits - (above & 0xfff0000000000000u)) - row[0]) * row[1];
    const double w = k * 0x1.62e42fefa38p-1 + row[2], s = w + r, m = r * r;
    *tail = ((((k * 0x1.ef35793c7673p-45 + row[3]) + ((w - s) + r)) - 0.5 * m)
        + (m * r) * (((1.0 / 3.0 - r * 0.25) + m * (0.2 - r * (1.0 / 6.0)))
                     + (m * m) * ((1.0 / 7.0 - r * 0.125) + m * (1.0 / 9.0 - r * 0.1))));
    return s;
}

static inline double calibrant_log(double x) {
    double s, tail;
    if (calibrant_bits(x) - 0x0010000000000000u >= 0x7fe0000000000000u) { /* not a normal number above 0 */
        if (!(x > 0.0 && x < INFINITY)) return x == 0.0 ? -INFINITY : x > 0.0 || x != x ? x : NAN;
        return calibrant_log_of(x * 0x1p54, &tail) + (tail - 54 * 0x1.62e42fefa39efp-1);
    }
    s = calibrant_log_of(x, &tail);
    return s + tail;
}

static inline double calibrant_log1p(double x) {
    const double u = 1.0 + x;
    if (!(u > 0.0 && u < INFINITY)) return calibrant_log(u);
    return calibrant_log(u) + (x - (u - 1.0)) / u;
}

/* A power of two has an integer for its logarithm. */
static inline double calibrant_log2(double x) {
    int exponent;
    double m;
    if (!(x > 0.0 && x < INFINITY)) return calibrant_log(x);
    m = frexp(x, &exponent);
    if (m < 0.6875) m *= 2.0, exponent -= 1;
    return exponent + calibrant_log(m) * 0x1.71547652b82fep+0;
}

static inline double calibrant_exp2(double x) {
    double n = floor(x + 0.5);
    if (!(x < 1024.0)) return x != x ? x : INFINITY;
    if (x < -1080.0) return 0.0;
    return ldexp(calibrant_exp((x - n) * 0x1.62e42fefa39efp-1), (int)n);
}

static inline double calibrant_expm1(double x) {
    const double u = calibrant_exp(x);
    if (u == 1.0 || x == 0.0) return x;
    if (u - 1.0 == -1.0 || !(u < INFINITY)) return u - 1.0;
    return (u - 1.0) * x / calibrant_log(u);
}

/* x^y for x >= 0: y log(x) in two pieces. Powers 0 and 1 are exact. */
static inline double calibrant_pow(double x, double y) {
    double s, tail, product, a, b, c, d;
    if (y == 1.0) return x;
    if (y == 0.0 || x == 1.0) return 1.0;
    if (!(x >= 0x1p-1022 && x < INFINITY) || !(fabs(y) < 0x1p60)) { /* 0, infinite, not a number, or tiny */
        return x > 0.0 && x < INFINITY ? calibrant_exp(y * calibrant_log(x)) : pow(x, y);
    }
    s = calibrant_log_of(x, &tail);
    a = s + tail;
    tail += s - a;
    product = a * y;
    if (fabs(product) > 800.0) return product > 0.0 ? INFINITY : 0.0;
    s = calibrant_double(calibrant_bits(a) & 0xfffffffff8000000u);
    b = a - s;
    c = calibrant_double(calibrant_bits(y) & 0xfffffffff8000000u);
    d = y - c;
    return calibrant_exp_of(product, (((s * c - product) + s * d) + b * c) + b * d + tail * y);
}

static inline double calibrant_cbrt(double x) {
    double y;
    if (!(x > 0.0 && x < INFINITY)) return x < 0.0 && x > -INFINITY ? -calibrant_exp(calibrant_log(-x) / 3.0) : x;
    y = calibrant_exp(calibrant_log(x) / 3.0);
    return y - (y * y * y - x) / (3.0 * y * y); /* a cube of a small integer has that integer for its root */
}

/* x = n pi / 2 + r, |r| <= pi / 4; exact where |n| < 2^20. */
static inline double calibrant_sine(double x, int quarter) {
    const double n = floor(x * 0x1.45f306dc9c883p-1 + 0.5);
    const double r = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69, m = r * r;
    double y;
    quarter += (int)((int64_t)n & 3);
    if (quarter & 1)
        y = 1.0 - m * (0.5 - m * (1.0 / 24.0 - m * (1.0 / 720.0 - m * (1.0 / 40320.0 - m * (1.0 / 3628800.0
            - m * (1.0 / 479001600.0 - m * (1.0 / 87178291200.0 - m * (1.0 / 20922789888000.0))))))));
    else
        y = r - r * m * (1.0 / 6.0 - m * (1.0 / 120.0 - m * (1.0 / 5040.0 - m * (1.0 / 362880.0 - m * (1.0 / 39916800.0
            - m * (1.0 / 6227020800.0 - m * (1.0 / 1307674368000.0 - m * (1.0 / 355687428096000.0))))))));
    return quarter & 2 ? -y : y;
}

static inline double calibrant_sin(double x) {
    return calibrant_sine(x, 0);
}

static inline double calibrant_cos(double x) {
    return calibrant_sine(x, 1);
}

static inline double calibrant_tan(double x) {
    return calibrant_sin(x) / calibrant_cos(x);
}

/* asin(x) = 8 atan(v): the tangent of half the angle, three times. */
static inline double calibrant_asin(double x) {
    double v, m;
    if (!(fabs(x) < 1.0)) return x == 1.0 ? 0x1.921fb54442d18p+0 : x == -1.0 ? -0x1.921fb54442d18p+0 : NAN;
    v = x / (1.0 + sqrt((1.0 - x) * (1.0 + x)));
    v = v / (1.0 + sqrt(1.0 + v * v));
    v = v / (1.0 + sqrt(1.0 + v * v));
    m = v * v;
    return 8.0 * (v - v * m * (1.0 / 3.0 - m * (1.0 / 5.0 - m * (1.0 / 7.0 - m * (1.0 / 9.0 - m * (1.0 / 11.0 - m * (1.0 / 13.0
        - m * (1.0 / 15.0 - m * (1.0 / 17.0 - m * (1.0 / 19.0 - m * (1.0 / 21.0)))))))))));
}

static inline double calibrant_tanh(double x) {
    double u;
    if (fabs(x) > 20.0) return x > 0.0 ? 1.0 : -1.0;
    u = calibrant_expm1(2.0 * x);
    return u / (u + 2.0);
}

#endif
