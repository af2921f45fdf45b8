"""The lemmas under the paper's theorems, with their constants.

The paper leaves every constant open. Here each is followed through the proof: a docstring is a
chain of inequalities, and the function returns the last bound, so that a test can compare it with a
simulation.

Symbols: T, the horizon, at least 10^4; delta, the failure probability; iota = ln(T/delta), hence
iota >= 9.2 and iota >= ln T; s, the rounds of an epoch; q_t, the mean of outcome t; p*, the value
they stray from; c_t = |q_t - p*|. Of an interval J: P_t(J), its probability in round t; G, the sum
of P_t(J); n_J, its visits; C_J, the sum of c_t P_t(J); Delta, its width; d, its distance from p*.

`Freedman` below is Lemma `freedman` for a fixed lambda, which is Ville's inequality for the
supermartingale exp(lambda S - lambda^2 V). So it holds at all times at once, and so does
everything built on it: the certificates are for all n <= T together, not for one n.
"""

from __future__ import annotations

import math


def msmwc_regret(
    start: float, squares: float, experts: int, horizon: float, *, cap: float, correction: float
) -> float:
    """Bound the regret of MsMwC with m_t = 0 to one expert i.

    Losses |l| <= 1, of which four a round differ from 0, with squares that sum to at most 2; d
    experts; w_{1,i} = `start`, the first weight of i; h = `cap` <= 1/16 and c = `correction` >= 1,
    1/64 and 32 in the paper; lam = ln(d T), T >= 4, so lam >= 2.07; weights at least f = 1/(d T);
    V_i = `squares`, the sum of l_i^2; eta_i = min{h, sqrt(lam/V_i)} with V_i from the rounds
    before; a_i = c eta_i l_i^2. Bregman divergences D_t are those of sum_i w_i ln(w_i)/eta_{t,i},
    and u = (1 - 1/T) e_i + uniform/T, so u_j = f for j != i.

    1. *Mirror descent.* With x = eta (l + a), <w_t - u, l + a> is at most
       D_t(u, w_t) - D_t(u, w_{t+1}) + sum_j (w_j/eta_j)(e^(-x_j) - 1 + x_j).
    2. *Rates.* 1/eta_{t+1} - 1/eta_t <= eta_t l^2/(2 lam), by sqrt(X^2 + z) <= X + z/(2X).
    3. *Changing rates, j != i.* The term of j in D(u, w_{t+1}) is at most w_{t+1,j}, because
       u_j = f <= w_{t+1,j}. The multiplier that normalises lies between -max and -min of l + a,
       so w_{t+1,j} <= k w_{t,j} with k = exp(h (2 + c h)) <= 1.15. By 2, these terms cost at
       most sum_j w_j k eta_j l_j^2/(2 lam) <= 0.28 sum_j w_j eta_j l_j^2 a round.
    4. *Changing rate of i.* Its term is at most lam: convex in w, at most ln(1/f) at f and 1 at 1.
    5. *Second order.* exp(-z - c z^2) <= 1 - z - 0.28 z^2 for |z| <= h. So what 1 and 3 add is at
       most <w_t, a_t>, and sum_t <w_t - u, l_t> is at most
       D_1(u, w_1) + lam sum_t (1/eta_{t+1,i} - 1/eta_{t,i}) + sum_t <u, a_t>.
    6. *Its three parts.* At most ln(1/w_{1,i})/h; at most sqrt(lam V_i); at most
       c sum_t eta_{t,i} l_{t,i}^2 + c h <= 2.004 c sqrt(lam V_i) + c h, because
       eta_t <= 1.002 sqrt(lam/V_t).
    7. *From u to e_i.* At most 2/T a round.
    """
    lam = math.log(experts * horizon)
    return (
        math.log(1 / start) / cap
        + (1 + 2.004 * correction) * math.sqrt(lam * squares)
        + correction * cap
        + 2
    )


def freedman(variance: float, log_term: float) -> float:
    """Bound a martingale with steps of at most 1 and any variance V <= T.

    1. *Fixed lambda.* |S| <= lambda V + L/lambda for lambda <= 1, except with probability
       2 exp(-L).
    2. *Grid.* For all lambda = 2^-k, 0 <= k <= 1 + log2(T)/2, at once, if L holds their number.
    3. *Small V.* V <= L: lambda = 1 gives |S| <= 2 L.
    4. *Large V.* sqrt(L/V) lies in [1/sqrt(T), 1]; some lambda of the grid is between half of it
       and it, and gives |S| <= sqrt(L V) + 2 sqrt(L V).

    In the proofs L = ln(2 * grid * epochs * intervals * 3 families * 3/delta) <= 2 iota: the
    factors before 1/delta are together below T^2 for T >= 10^4 and at most T/2 intervals.
    """
    return 3 * math.sqrt(log_term * variance) + 2 * log_term


def interval_bias(visits: float, width: float, iota: float) -> float:
    """Bound the residual |r_J| of an interval J of `Interval` (Lemma `abs_cal_error_byHu`).

    1. *Gain.* No outcome pays the experts on average, so the total gain of (J, +1) and of (J, -1)
       is at most its regret: |sum P(J)(u - y)| <= 64 ln d + 2.5 + 65.2 sqrt(lam G), with V <= G.
       lam = ln(2 |Pi| T) <= 2 iota, so it is at most 128.3 iota + 92.3 sqrt(iota G).
    2. *Draws.* sum (1{J} - P(J))(y - u) has variance at most G: `freedman` with L = 2 iota gives
       4 iota + 4.25 sqrt(iota G).
    3. *Count.* |n_J - G| <= 4 iota + 4.25 sqrt(iota G) <= 13.1 iota + G/2, so
       G <= 2 n_J + 26.2 iota and n_J <= 1.5 G + 13.1 iota.
    4. *Sum of 1 and 2.* |sum 1{J}(y - u)| <= 132.3 iota + 96.55 sqrt(iota G)
       <= 137 sqrt(iota n_J) + 627 iota, by 3.
    5. *Point.* The interval predicts its upper end, at most Delta from u.
    """
    return 137 * math.sqrt(iota * visits) + 627 * iota + visits * width


def visits(distance: float, deviation: float, iota: float) -> float:
    """Bound the visits n_J of an interval J away from p* (Lemma `visit_number_control`).

    1. *Pull.* With sigma the side of p* on which J lies, sum P(J) sigma (u - q_t) >= d G - C_J.
    2. *Gain and noise.* The same sum with y_t for q_t is at most 128.3 iota + 92.3 sqrt(iota G)
       (step 1 of `interval_bias`), and they differ by at most 4 iota + 4.25 sqrt(iota G).
    3. *Solve.* d G <= C_J + 132.3 iota + 96.55 sqrt(iota G)
       <= C_J + 132.3 iota + d G/2 + 4661 iota/d, so G <= 2 C_J/d + 9587 iota/d^2 for d <= 1.
    4. *Count.* n_J <= 1.5 G + 13.1 iota <= 3 C_J/d + 14,394 iota/d^2.
    """
    return 3 * deviation / distance + 14_400 * iota / distance**2


def interval_square(visits: float, width: float, iota: float) -> float:
    """Bound what an interval J of `Interval` adds to Cal2, r_J^2/n_J.

    1. *Few visits.* |r_J| <= n_J, so n_J <= 40,000 iota gives r^2/n <= 40,000 iota.
    2. *Many.* Then 627 iota <= 3.2 sqrt(iota n_J), and `interval_bias` is at most
       140.2 sqrt(iota n_J) + n_J Delta; (a + b)^2 <= 2 a^2 + 2 b^2 gives
       r^2/n <= 39,313 iota + 2 n_J Delta^2.
    """
    return 40_000 * iota + 2 * visits * width**2


def squared_regret(rounds: float) -> float:
    """Bound the regret of one instance of Swap with the squared loss, in T rounds.

    a += (g/max(G, 1))(y - a), with g = P_t(s) and G their sum so far.

    1. *While G <= 1* the loss is at most sum g <= 1.
    2. *After that*, g [(a - y)^2 - (k - y)^2]
       = G_{t-1} (a_t - k)^2 - G_t (a_{t+1} - k)^2 + (g^2/G_t)(a - y)^2.
    3. *Sum.* The first two telescope from at most 1. sum g/G_t <= 1 + ln T: the first term is at
       most 1, the others at most ln(G_t/G_{t-1}).
    """
    return 3 + math.log(rounds)


def log_regret(rounds: float) -> float:
    """Bound the regret of one instance of Swap with the log loss, in T rounds.

    a = (1 + sum g y)/(2 + sum g) is the mean of the density proportional to exp(-losses so far).

    1. *Concavity.* exp(-g loss(a, y)) is concave in a for g <= 1, so the total loss is at most
       -ln of the integral of exp(-sum g loss(b, y)) over b in [0, 1].
    2. *Neighbourhood.* b = (1 - e) k + e x, x in [0, 1]: a share e of all b, each with
       exp(-sum g loss(b, y)) >= (1 - e)^G exp(-sum g loss(k, y)).
    3. *Choose* e = 1/(G + 1): regret <= ln(G + 1) + G ln(1 + 1/G) <= ln(T + 1) + 1.
    """
    return 1 + math.log(rounds + 1)
