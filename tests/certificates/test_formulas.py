"""The certificates as functions: monotone, ordered, and refusing nonsense."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.certificates import CERTIFIED_MEASURES, certificate, coefficients, restart_delta
from calibrant.certificates.form import trivial
from calibrant.certificates.proofs import PROOFS, SHORTEST

measures = st.sampled_from(CERTIFIED_MEASURES)
constants = st.sampled_from(["tuned", "paper"])
lengths = st.integers(1, 10**15)
deviations = st.floats(0, 1e12)
levels = st.floats(1e-30, 1.0)


@given(measures, constants, lengths, lengths, deviations, deviations, levels, levels)
def test_more_rounds_more_deviation_and_less_risk_explain_more(m, kind, n, n2, C, C2, d, d2):
    low = certificate(m, min(n, n2), deviation=min(C, C2), delta=max(d, d2), constants=kind)
    high = certificate(m, max(n, n2), deviation=max(C, C2), delta=min(d, d2), constants=kind)
    assert 0 <= low <= high * (1 + 1e-12)


@given(measures, constants, lengths, lengths, deviations)
def test_two_stretches_explain_at_least_as_much_as_one(measure, kind, n, n2, C):
    def explained(rounds):
        return certificate(measure, rounds, deviation=C, constants=kind)

    assert explained(n + n2) <= (explained(n) + explained(n2)) * (1 + 1e-12)


@given(measures, st.integers(1, 2**62), st.floats(0, 1e15), levels, st.data())
def test_what_is_proved_is_above_what_was_measured(measure, T, C, delta, data):
    n = data.draw(st.integers(1, T))
    proved = certificate(measure, n, deviation=C, delta=delta, constants="paper", horizon=T)
    measured = certificate(measure, n, deviation=C, delta=delta)
    # A small world can be explained by its size alone, which the measured form does not know.
    assert proved >= measured or proved == pytest.approx(trivial(measure, n, T))


@given(measures, st.integers(1, 2**62), st.floats(0, 1e15), st.data())
def test_a_certificate_is_its_coefficients(measure, T, C, data):
    n = data.draw(st.integers(1, T))
    for kind in ("tuned", "paper"):
        c0, c1, d0, d1 = coefficients(measure, constants=kind, horizon=T)
        M, root = math.log2(n + 1), C ** (1 / 3)
        form = c0 + c1 * M + (d0 + d1 * M) * root
        if measure == "l1":
            assert c1 == d1 == 0
            form = c0 * math.sqrt(n) + d0 * (C * n) ** (1 / 3)
        if kind == "paper":
            form = min(form, n * math.log(T + 1) if measure == "pseudo_kl" else n)
        assert certificate(measure, n, deviation=C, constants=kind, horizon=T) == pytest.approx(
            form
        )


@given(measures, st.integers(1, SHORTEST - 1), st.floats(0, 1e6), st.data())
def test_short_horizons_get_the_trivial_bound(measure, T, C, data):
    n = data.draw(st.integers(1, T))
    proved = certificate(measure, n, deviation=C, constants="paper", horizon=T)
    assert proved == pytest.approx(trivial(measure, n, T))


@given(st.integers(SHORTEST, 2**62), st.floats(0, 2**62), levels, st.data())
def test_l1_in_rounds_is_above_l1_in_the_horizon(T, C, delta, data):
    """Step 9 of the proof has (C T)^(1/3); step 10 may only raise it."""
    n = data.draw(st.integers(1, T))
    iota = math.log(T / delta)
    step_9 = 312_000 * math.sqrt(iota * n) + 540_000 * (iota * C * T) ** (1 / 3)
    assert min(n, PROOFS["l1"](T, delta).bound("l1", n, C)) >= min(n, step_9) * (1 - 1e-12)


def test_without_a_horizon_every_stream_is_covered():
    for measure in CERTIFIED_MEASURES:
        assert coefficients(measure, constants="paper") == coefficients(
            measure, constants="paper", horizon=2**62
        )


def test_pseudo_l2_is_proved_to_be_less_than_trivial_at_real_lengths():
    U = certificate("pseudo_l2", 10**6, constants="paper", horizon=10**6)
    assert 10_000 < U < 30_000


def test_restart_delta_of_the_paper():
    for T in (1, 8, 56, 57, 10**6, 2**40):
        assert restart_delta(0.1, T) == pytest.approx(
            0.1 / (10 * T**2 * math.ceil(math.log(8 + T, 8) - 1e-12))
        )


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"measure": "l3"}, "measure must be one of 'l1'"),
        ({"delta": 0.0}, "delta must be above 0"),
        ({"delta": 1.5}, "delta must be a number in"),
        ({"delta": math.nan}, "delta must be a number in"),
        ({"constants": "best"}, "constants must be one of 'tuned', 'paper'"),
        ({"horizon": 0}, "horizon must be an integer in"),
        ({"horizon": 2.5}, "horizon must be an integer in"),
        ({"rounds": 0}, "rounds must be an integer in"),
        ({"rounds": 101, "horizon": 100}, "rounds must be an integer in"),
        ({"deviation": -1.0}, "deviation must be a number in"),
        ({"deviation": math.nan}, "deviation must be a number in"),
    ],
)
def test_bad_arguments(arguments, word):
    with pytest.raises(ValueError, match=word):
        certificate(**{"measure": "l2", "rounds": 10, **arguments})
    if not {"rounds", "deviation"} & set(arguments):
        with pytest.raises(ValueError, match=word):
            coefficients(**{"measure": "l2", **arguments})


def test_restart_delta_refuses():
    with pytest.raises(ValueError, match="delta must be"):
        restart_delta(0.0, 10)
    with pytest.raises(ValueError, match="horizon must be"):
        restart_delta(0.1, 0)
