"""The certificates of the paper with explicit constants: one function a measure.

They are for `Refined` with ``constants="paper"`` and the same horizon and delta: if the means of
the outcomes stray from one value p* by at most C in total, then with probability 1 - delta the
error, summed over the epochs of the forecaster, is at most U(n, C) for all n <= T at once.

Symbols, besides those of `calibrant.certificates.lemmas`: epoch m has s = 2^m rounds; M =
log2(n + 1) bounds the number of epochs, because epoch m begins only if n > 2^m - 2; r, the radius
of an epoch; I <= 4 r, the length of its inner region, in N intervals; B, the intervals of a band
(the paper's K); C_m, the part of C in epoch m; X = (s I^2/iota)^(1/3).

Four steps serve every measure.

*Bands.* W = log2 T bounds the number of non-empty bands. One that begins (2^q - 1) r from the
inner region is empty unless (2^q - 1) r < 1; r >= sqrt(iota/T) >= 3/sqrt(T), so
2^q < 1 + sqrt(T)/3 <= sqrt(T)/2, which leaves log2(T)/2 values of q a side. In the angles of
PKLCal, r >= 2 pi sqrt(iota/T) and the domain has length pi: fewer.

*Radius.* |y_hat - p*| <= sqrt(iota/s_{m-1}) + C/s_{m-1} = r in every epoch, except with probability
2 M exp(-2 iota) <= delta/3 (Hoeffding; Lemma `corruption_analysis_Cal2_Approach1`). So p* lies at
least r inside the inner region, and an interval of a band that begins at distance D = 2^q r from p*
is at most D/B wide.

*Rounding up.* N <= 1 + X, and s I^2/N^2 <= iota X.

*Inner sum.* s I^2 <= s min(1, 4 r)^2 <= 64 iota + min(s, 128 C^2/s). The cube root of the second
part peaks at 2.25 C^(1/3) and falls by 2^(1/3) an epoch on both sides, so over the epochs
sum iota X <= 4 iota M + 21.9 iota^(2/3) C^(1/3) (Lemma `inner_error_Cal2_approach1`).

What is not proved: with ``horizon=None`` a forecaster takes T = 2 s for each epoch. For C = 0 the
same steps give ``l2``, ``pseudo_l2`` and ``pseudo_kl`` for it, with the horizon given here (its own
logarithms are smaller, and are only bounded from above; the radii fail with probability at most
delta/2 in total). For ``l1``, and for C > 0, that was not followed through.
"""

from __future__ import annotations

import math

from calibrant.certificates.form import Coefficients

#: Below this horizon the steps do not hold, and only the trivial bound is given.
SHORTEST = 10_000


def l1(T: float, delta: float) -> Coefficients:
    """Cal1 of `Refined` (Theorem `cal1_better`), B = ceil(((1 + C)^2/(iota T))^(1/3)).

    Let Y = (iota s^2 I)^(1/3), and D = 2^q r be a band's distance.

    1. *Inner intervals.* `interval_bias` and Cauchy-Schwarz: at most
       627 iota N + 137 sqrt(iota N s) + s I/N.
    2. *In Y.* sqrt(iota s X) = s I/X = Y and iota X <= iota + Y, so 1 is at most
       1254 iota + 137 sqrt(iota s) + 765 Y, and Y <= 1.79 sqrt(iota s) + 2 (iota C s)^(1/3).
    3. *Over the epochs.* s_M <= n + 1; the sums are geometric with factors 3.42 and 4.85: at most
       1254 iota M + 5,152 sqrt(iota (n + 1)) + 7,421 (iota C (n + 1))^(1/3).
    4. *A band.* `interval_bias` with n_J from `visits`, Cauchy-Schwarz over its B intervals and
       2 sqrt(ab) <= a + b: at most 31,600 iota B^2/D + 122 C_q/B, C_q being its part of C_m.
    5. *All bands.* sum 1/D <= 2/r a side: at most 126,400 iota B^2/r + 122 C_m/B.
    6. *Second part.* sum C_m/B <= (iota T C)^(1/3).
    7. *First part.* If (1 + C)^2 <= iota T, B = 1 and sum iota/r <= 2.42 sqrt(iota (n + 1)).
       Otherwise B^2 <= 4 ((1 + C)^2/(iota T))^(2/3), r >= C/s_{m-1} and C > 300, so
       sum iota B^2/r <= 4.2 (iota C T)^(1/3).
    8. *Total.* The first epoch costs at most 1. 1 + 1254 iota M + 311,100 sqrt(iota (n + 1))
       + 538,500 (iota C T)^(1/3).
    9. *Form.* a1 sqrt(n) + a2 (C T)^(1/3), a1 = 312,000 sqrt(iota), a2 = 540,000 iota^(1/3): where
       it is below n, n is above a1^2 and the lower-order terms fit into the rounding.
    10. *In n.* T is in step 9 because B was chosen with T. Only n >= min(T, a1^2) matter, below it
        passes n anyway; there (C T)^(1/3) <= max(1, T/a1^2)^(1/3) (C n)^(1/3).
    """
    iota = math.log(T / delta)
    if T < SHORTEST:
        return Coefficients(math.sqrt(T), 0.0, 0.0, 0.0)
    a1, a2 = 312_000 * math.sqrt(iota), 540_000 * math.cbrt(iota)
    return Coefficients(a1, 0.0, a2 * math.cbrt(max(1.0, T / a1**2)), 0.0)


def l2(T: float, delta: float) -> Coefficients:
    """Cal2 of `Refined` (Theorem `cal2_approach1`), B = ceil(((1 + C)/iota)^(1/3)).

    1. *Intervals.* `interval_square` over N + W B intervals:
       40,000 iota (N + W B) + 2 sum n_J Delta_J^2.
    2. *Inner intervals.* sum n_J Delta_J^2 <= s I^2/N^2 <= iota X.
    3. *Bands.* By `visits` and Delta <= D/B, n_J Delta_J^2 <= 3 C_J D/B^2 + 14,400 iota/B^2, and
       D <= 1: at most 3 C_m/B^2 + 14,400 iota W in all.
    4. *Epoch.* 40,000 iota (1 + X + W B) + 2 iota X + 6 C_m/B^2 + 28,800 iota W.
    5. *B.* iota B <= 2 iota + iota^(2/3) C^(1/3), and sum C_m/B^2 <= iota^(2/3) C^(1/3).
    6. *Over the epochs*, with the inner sum, and at most 1 for the first: U = a1 + a2 C^(1/3),
       a1 = 1 + iota M (200,100 + 108,800 W), a2 = iota^(2/3) (877,000 + 40,000 W M).

    Nearly all of it is MsMwC's correction of 32 and cap of 1/64.
    """
    iota, W = math.log(T / delta), math.log2(T)
    if T < SHORTEST:
        return Coefficients(T, 0.0, 0.0, 0.0)
    scale = math.cbrt(iota) ** 2
    return Coefficients(1.0, iota * (200_100 + 108_800 * W), 877_000 * scale, 40_000 * W * scale)


def pseudo_l2(T: float, delta: float) -> Coefficients:
    """PCal2 of `Refined` (Theorem `PCal2_bound`), B = ceil((1 + C)^(1/3)/iota).

    Let Z be the points, |Z| <= N + W B + 1, rho = `squared_regret` <= 1.33 iota, and
    Gamma = sum P_t(s)(a_{s,t} - p*)^2 over the rounds of an epoch (Lemma `bound_occupancy_PCal2`).

    1. *Regret to p*.* Gamma <= |Z| rho + 2 |sum v_t (q_t - p*)| + 2 |sum v_t (y_t - q_t)| with
       v_t = sum_s P_t(s)(a_{s,t} - p*) and sum v_t^2 <= Gamma.
    2. *Deviation.* 2 |sum v_t (q_t - p*)| <= 2 sqrt(C_m Gamma) <= Gamma/4 + 4 C_m.
    3. *Noise.* Freedman with lambda = 1/8 and L = ln(4 M/delta) <= iota:
       2 |sum v_t (y_t - q_t)| <= Gamma/4 + 16 iota.
    4. *Solve.* Gamma <= 2 |Z| rho + 8 C_m + 32 iota.
    5. *Rounding* costs Delta^2/4, and Delta <= |a - p*|/B outside the inner region: PCal2 of the
       epoch <= |Z| rho + s I^2/(4 N^2) + Gamma/(4 B^2)
       <= iota X/4 + 1.5 |Z| rho + 2 C_m/B^2 + 8 iota.
    6. *Epoch.* 1.5 rho <= 2 iota: at most 2.25 iota X + 12 iota + 2 iota W B + 2 C_m/B^2.
    7. *B.* iota B <= iota + 1 + C^(1/3), and sum C_m/B^2 <= iota^2 C^(1/3).
    8. *Over the epochs*, with the inner sum, and at most 1 for the first: U = a1 + a2 C^(1/3),
       a1 = 1 + iota M (21 + 2.22 W), a2 = 2 iota^2 + 49.3 iota^(2/3) + 2 W M.
    """
    iota, W = math.log(T / delta), math.log2(T)
    if T < SHORTEST:
        return Coefficients(T, 0.0, 0.0, 0.0)
    scale = math.cbrt(iota) ** 2
    return Coefficients(1.0, iota * (21 + 2.22 * W), 2 * iota**2 + 49.3 * scale, 2 * W)


def pseudo_kl(T: float, delta: float) -> Coefficients:
    """PKLCal of `Refined` (Theorem `PKLCal_bound_knownC`), in the angles theta.

    B~ = ceil(((1 + C)/ln^2 T)^(1/3)), B = max{2, B~}, eta = 1/(T + 1), h = ln(T + 1), h1 = h + 1,
    which is `log_regret`. Let Gamma = sum P_t(s) KL(p*, a_{s,t}) over the rounds of an epoch.

    1. *Radius.* KL(y_hat, q_bar) <= ln(4 M/delta)/s_{m-1} <= iota/s_{m-1} in every epoch, except
       with probability delta/2, so |theta(y_hat) - theta(p*)|^2 <= 2 pi^2 iota/s_{m-1}
       + 4 pi^2 C/s_{m-1} <= r^2 (Lemma `concentration_optp_PKL`).
    2. *Rounding* costs tan^2(Delta/2) <= (4/pi^2) Delta^2 <= 0.41 Delta^2, as Delta <= pi/2.
    3. *Four terms* (Lemma `bound_occupancy_PKL`). Gamma is at most 2 eta s <= 2, plus the regret
       |Z| h1, plus 2 h C_m, plus the noise: Freedman with lambda = 1/(8 h1) <= 1/(2 h), variance
       4 h1 (2 eta s + Gamma) + 4 h^2 C_m and L <= iota gives
       Gamma/2 + eta s + h C_m/2 + 8 h1 iota.
    4. *Solve.* Gamma <= 6 + 2 |Z| h1 + 5 h C_m + 16 h1 iota.
    5. *Epoch.* Outside the inner region Delta^2 <= pi^2 KL(p*, a)/B~^2: PKLCal of the epoch
       <= |Z| h1 + 0.41 s I^2/N^2 + 4.05 Gamma/B~^2
       <= 0.41 iota X + 9.1 |Z| h1 + 24.3 + 20.3 h C_m/B~^2 + 64.8 h1 iota.
    6. *Sizes.* |Z| <= X + 5 + W B; X <= 10.82 (1 + (C/iota)^(1/3)), from
       r^2 = 8 pi^2 (iota + C)/s; B <= 2.25 + C^(1/3)/(ln T)^(2/3);
       sum C_m/B~^2 <= C^(1/3) h^(4/3).
    7. *Over the epochs*, and at most 2 for the first: U = H + a1 + a2 C^(1/3), with H = h for the
       largest error of one round, a1 = 2 + M [64.8 h1 iota + h1 (144 + 20.5 W) + 4.5 iota + 25],
       a2 = M [4.5 iota^(2/3) + 98.5 h1/(ln T)^(1/3) + 9.1 h1 W/(ln T)^(2/3)] + 20.3 h^(7/3); in the
       second term iota >= ln T, so that a2 does not fall when delta does.
    """
    iota, W, h = math.log(T / delta), math.log2(T), math.log(T + 1)
    if T < SHORTEST:
        return Coefficients(T * h, 0.0, 0.0, 0.0)
    h1, root = h + 1, math.cbrt(math.log(T))
    return Coefficients(
        h + 2,
        64.8 * h1 * iota + h1 * (144 + 20.5 * W) + 4.5 * iota + 25,
        20.3 * h ** (7 / 3),
        4.5 * math.cbrt(iota) ** 2 + 98.5 * h1 / root + 9.1 * h1 * W / root**2,
    )


def l1_interval(T: float, delta: float) -> Coefficients:
    """Cal1 of `Interval` on N equal intervals (Theorem `CalL1_knownC`).

    N = ceil(min{sqrt(T/(iota ln T)), (T^2/(iota (1 + C) ln T))^(1/3)}). Let L = ln T, and k count
    the intervals from p* outwards: d_J = k/N, for the intervals that do not touch that of p*.

    1. *Point.* n_J Delta_J sums to n/N <= T/N <= sqrt(iota L T) + (iota L (1 + C) T)^(1/3).
    2. *Near.* `interval_bias` without its last term, on the three intervals around p*:
       137 sqrt(3 iota n) + 627 iota each.
    3. *Far, noise.* By `visits`, sqrt(iota n_J) <= sqrt(3 iota C_J N/k) + 120 iota N/k. The second
       part sums to 137 * 240 iota N (1 + ln N), and 1 + ln N <= L/2.
    4. *Far, deviation.* The first, by Cauchy-Schwarz and sum C_J <= C, to
       137 sqrt(3 iota C * 2 N (1 + ln N)) <= 238 sqrt(iota L C N).
    5. *N.* iota N <= iota + sqrt(iota T/L), and C N <= C + (C^2 T^2/(iota L))^(1/3), so 4 is at
       most 238 sqrt(iota L C) + 238 (iota L C T)^(1/3); the first is no more than the second,
       because C <= T and iota L <= T. Where iota L > T nothing is claimed.
    6. *Total.* 16,440 (iota L + sqrt(iota L T)) + 627 iota (N + 3) + 238 sqrt(iota T)
       + sqrt(iota L T) + (iota L T)^(1/3) + 477 (iota L C T)^(1/3), which is at most
       A sqrt(T) + E (C T)^(1/3), A = 36,000 sqrt(iota L), E = 477 (iota L)^(1/3).
    7. *In n.* N was chosen with T, and the bound does not fall with n as sqrt(n). Only n above
       A sqrt(T) matter; there A sqrt(T) <= sqrt(A) T^(1/4) sqrt(n) and
       T <= n max(1, sqrt(T)/A).

    Step 7 is why Theorem `combine_piecewise_cal1` does not cover this base in K: it asks for a
    certificate of order sqrt(n), with no more than logarithms of T before it.
    """
    iota, L = math.log(T / delta), math.log(T)
    if T < SHORTEST or iota * L > T:
        return Coefficients(math.sqrt(T), 0.0, 0.0, 0.0)
    A, E = 36_000 * math.sqrt(iota * L), 477 * math.cbrt(iota * L)
    ratio = max(1.0, math.sqrt(T) / A)
    return Coefficients(A * math.sqrt(ratio), 0.0, E * math.cbrt(ratio), 0.0)


def l2_swap(T: float, delta: float) -> Coefficients:
    """Cal2 of `Refined` for pseudo_l2 (Corollary `Cal2_bound_implied_by_PCal2`).

    Of a point: G, the sum of P_t; R, the sum of P_t (y - p); n and r, the same of the rounds that
    drew it.

    1. *Draws.* |r - R| and |n - G| are at most 4.25 sqrt(iota G) + 4 iota (`freedman`, L = 2 iota;
       `pseudo_l2` leaves delta/6 for both, and the factors before 1/delta stay below T^2).
    2. *Few.* n <= 40 iota: r^2/n <= n <= 40 iota.
    3. *Many.* As in `interval_bias`, G <= 2 n + 26.2 iota <= 2.66 n. Then
       r^2 <= 2 R^2 + 72.4 iota G + 64 iota^2, and r^2/n <= 5.4 R^2/G + 195 iota.
    4. *Epoch.* Cal2 <= 5.4 PCal2 + 195 iota |Z|, |Z| <= X + 2 + W B.
    5. *Over the epochs*, with the inner sum and iota B <= 1.11 iota + C^(1/3): the second part is
       at most 195 [iota M (6 + 1.11 W) + 21.9 iota^(2/3) C^(1/3) + W M C^(1/3)].
    """
    iota, W = math.log(T / delta), math.log2(T)
    if T < SHORTEST:
        return Coefficients(T, 0.0, 0.0, 0.0)
    c0, c1, d0, d1 = (5.4 * number for number in pseudo_l2(T, delta))
    return Coefficients(
        c0,
        c1 + 195 * iota * (6 + 1.11 * W),
        d0 + 195 * 21.9 * math.cbrt(iota) ** 2,
        d1 + 195 * W,
    )


PROOFS = {
    "l1": l1,
    "l2": l2,
    "pseudo_l2": pseudo_l2,
    "pseudo_kl": pseudo_kl,
    "l1-interval": l1_interval,
    "l2-swap": l2_swap,
}
