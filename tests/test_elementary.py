"""The kernels' elementary functions against sixty digits; they are the same bits everywhere."""

import hashlib
import math
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest

from calibrant._kernels import elementary

#: By function: where it is tried, how far off it may be in units of the last place, and its value
#: in decimals. The arguments are doubles, so the decimals know them exactly.
EXACT = {
    "exp": (-708.0, 709.0, 0.53, Decimal.exp),
    "log": (1e-300, 1e3, 0.75, Decimal.ln),
    "log1p": (-0.999, 2.0, 1.5, lambda x: (1 + x).ln()),
    "expm1": (-2.0, 2.0, 3.0, lambda x: x.exp() - 1),
    "exp2": (-1000.0, 1000.0, 1.5, lambda x: 2**x),
    "log2": (1e-3, 1e6, 2.5, lambda x: x.ln() / Decimal(2).ln()),
    "cbrt": (0.0, 1e6, 4.0, lambda x: (x.ln() / 3).exp()),
    "tanh": (-3.0, 3.0, 8.0, lambda x: 1 - 2 / ((2 * x).exp() + 1)),
}


def decimal(function, *arguments):
    with localcontext(prec=60):
        return function(*map(Decimal, arguments))


def units(value, exact):
    """How far a double is from a decimal, in units of its last place."""
    return float(abs(Decimal(value) - exact)) / math.ulp(value)


@pytest.mark.parametrize("name", EXACT)
def test_error_in_units_of_the_last_place(name):
    low, high, allowed, exact = EXACT[name]
    random = np.random.default_rng(len(name))
    own = getattr(elementary, name)
    for x in [*random.uniform(low, high, 1500), *random.uniform(-0.02, 0.02, 500) + (low >= 0)]:
        assert units(own(float(x)), decimal(exact, float(x))) <= allowed, x


@pytest.mark.parametrize("size", [1, 3, 14, 16])
@pytest.mark.parametrize("odd", [None, 708.5, -745.5, math.inf, -math.inf, 0.0])
def test_many_exps_are_the_same_bits_as_one(size, odd):
    random = np.random.default_rng(size)
    for _ in range(200):
        xs = [float(x) for x in random.normal(0.0, random.choice([0.01, 5.0, 200.0]), size)]
        if odd is not None:
            xs[random.integers(size)] = odd
        assert elementary.exps(xs) == [elementary.exp(x) for x in xs]


def test_powers():
    random = np.random.default_rng(1)
    for x, y in zip(random.uniform(0, 2, 1000), random.uniform(-20, 20, 1000), strict=True):
        value = elementary.pow(x, y)
        if 1e-30 < value < 1e30:
            assert units(value, decimal(lambda a, b: (b * a.ln()).exp(), x, y)) <= 1.0, (x, y)
    assert elementary.pow(0.3, 1.0) == 0.3
    assert elementary.pow(0.3, 0.0) == elementary.pow(0.0, 0.0) == elementary.pow(1.0, 1e9) == 1.0
    assert elementary.pow(0.0, 2.5) == 0.0
    assert elementary.pow(0.5, 3.0) == 0.125


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "asin"])
def test_of_angles(name):
    """The C library's are right to a unit in the last place; ours may be off by six."""
    random = np.random.default_rng(2)
    own, libm = getattr(elementary, name), getattr(math, name)
    for x in random.uniform(-1, 1, 2000) * (1.0 if name == "asin" else 30.0):
        assert abs(own(x) - libm(x)) <= 6 * math.ulp(max(abs(libm(x)), 1e-14)), x


def test_exact_values():
    assert [elementary.log2(2.0**k) for k in range(-1074, 1024)] == [*range(-1074, 1024)]
    assert [elementary.exp2(float(k)) for k in range(-1074, 1024)] == [
        2.0**k for k in range(-1074, 1024)
    ]
    assert [elementary.cbrt(float(k**3)) for k in range(2000)] == [*range(2000)]
    assert elementary.asin(1.0) == -elementary.asin(-1.0) == math.pi / 2
    assert elementary.exp(0.0) == elementary.cos(0.0) == 1.0
    assert elementary.log(1.0) == elementary.log1p(0.0) == elementary.sin(0.0) == 0.0


def test_the_ends_of_the_range():
    infinity = math.inf
    assert elementary.log(0.0) == elementary.log1p(-1.0) == -infinity
    assert elementary.log(infinity) == elementary.exp(710.0) == elementary.exp(infinity) == infinity
    assert elementary.exp(-746.0) == elementary.exp(-infinity) == 0.0
    assert elementary.exp(-745.0) == 5e-324
    assert elementary.log(5e-324) == math.log(5e-324)
    assert elementary.tanh(30.0) == -elementary.tanh(-30.0) == 1.0
    for name in ("log", "exp", "log1p", "expm1", "exp2", "log2", "cbrt", "tanh", "asin"):
        assert math.isnan(getattr(elementary, name)(math.nan))
    assert math.isnan(elementary.log(-1.0))
    assert math.isnan(elementary.asin(1.5))


@pytest.mark.parametrize("name", ["exp", "log"])
def test_never_decreases(name):
    """Where a table's row ends and the next begins, too."""
    edges = (
        (0.6875 + np.arange(1, 64) / 64 * 0.6875) if name == "log" else np.arange(-64, 64) / 46.2
    )
    own = getattr(elementary, name)
    for edge in edges.tolist():
        near = edge + np.arange(-50, 50) * math.ulp(edge) * 7
        values = [own(x) for x in near.tolist()]
        assert all(a <= b for a, b in pairwise(values)), edge


def test_the_same_bits_on_every_platform():
    """The digest was made once; a compiler or a processor that changes a bit changes it."""
    random = np.random.default_rng(3)
    bits = hashlib.sha256()
    for name in (*EXACT, "sin", "cos", "tan", "asin"):
        low, high = EXACT[name][:2] if name in EXACT else (-1.0, 1.0)
        own = getattr(elementary, name)
        bits.update(np.array([own(x) for x in random.uniform(low, high, 5000).tolist()]).tobytes())
    assert bits.hexdigest()[:16] == "00228b4f93beabb4"
