"""Table 1 of the paper as a list of claims, each with the worlds in which it is measured.

A claim is the order of growth of one error of one forecaster along one axis: the number of rounds
T, the deviation C, or the number of segments K. Powers of logarithms are those of the theorems;
if a theorem leaves a choice, the smaller power is used, which is the stronger claim. Every row
has nulls: fixed grids of several sizes, which know T and do not adapt; the best of them in
hindsight has to be beaten. Zoom, which is not from the paper, is held to the paper's rates. The
paper is Liu, Luo & Ratliff, *Adaptive Calibration in Non-Stationary Environments*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from calibrant import _specs

Axis = Literal["T", "C", "K"]
IID, WORST = "i.i.d.", "C of order T"

#: The height of the most hostile drift.
HEIGHT = 0.4
ON_AVERAGE = 2 / math.pi  # of the height of a sine
A_ROUND = HEIGHT * ON_AVERAGE  # the deviation added by a round of such a drift


class World(NamedTuple):
    """Streams of one kind, for every size on an axis."""

    name: str
    template: str  # of a spec

    def stream(self, x: int, rounds: int) -> str:
        """Return the spec of the stream of size x with this number of rounds."""
        return self.template.format(
            x=x, share=min(1.0, x / A_ROUND / rounds), height=min(HEIGHT, x / ON_AVERAGE / rounds)
        )


@dataclass(frozen=True)
class Row:
    """One claim of the table and how it is measured.

    Examples
    --------
    >>> from calibrant.experiments import ROWS
    >>> row = ROWS[0]
    >>> row.error, row.theorem, row.axis, row.exponent
    ('Cal1', 'simple_block_Cal1', 'T', 0.5)
    """

    error: str  # Cal1, Cal2, PCal2 or PKLCal
    theorem: str  # its label in the paper
    claim: str  # the formula
    forecaster: str  # a spec
    axis: Axis
    exponent: float  # claimed, in the axis
    log_power: float  # claimed, in the axis
    situation: str  # in words
    worlds: tuple[World, ...]
    #: How the time of a round grows along the axis, according to the paper.
    cost_exponent: float

    @property
    def nulls(self) -> tuple[str, ...]:
        """The specs of the fixed grids that the forecaster has to beat."""
        return LOG_GRIDS if self.error == "PKLCal" else GRIDS

    @property
    def beyond_null(self) -> bool:
        """Whether the claim is more than the rate that a fixed grid has in any world."""
        return self.situation != WORST

    @property
    def measure(self) -> str:
        """The error as tasks name it."""
        return self.error.lower()

    @property
    def kind(self) -> str:
        """The name of the forecaster, without its parameters."""
        return _specs.name_of(self.forecaster)

    @property
    def constants(self) -> str:
        """``"paper"`` for an algorithm as printed, ``"tuned"`` for its default, ``"zoom"``."""
        return constants_of(self.forecaster)


def constants_of(forecaster: str) -> str:
    """Return the constants of a forecaster by its spec, as `Row.constants` has them."""
    kind = _specs.name_of(forecaster)
    if kind == "zoom":
        return kind
    written = _specs.parse("forecaster", forecaster).parameters.get("constants")
    return "paper" if written == "paper" or kind.startswith("epoch") else "tuned"


#: A mean drawn uniformly, once for each seed: the prior of the lower bounds.
ANY_MEAN = World("any mean", "piecewise:segments=1")
STEADY = (World("mean 0.5", "iid:mean=0.5"), World("mean 0.1", "iid:mean=0.1"), ANY_MEAN)
# Of deviation 0.25 T and 0.2 T.
HOSTILE = (
    World("drift", f"drift:amplitude={HEIGHT},periods=2"),
    World("burst", "corrupted:budget=T/5,shape=burst"),
)
# Their deviation is not known beforehand.
ADVERSARIES = (World("greedy", "greedy:norm=l2"), World("contrarian", "contrarian"))
# The worst for Cal2 and similar errors is a drift of maximal height in as few rounds as C allows;
# for Cal1 it is one over all rounds, as low as C requires.
DEVIATING = (
    World("short drift", f"drift:amplitude={HEIGHT},periods=2,share={{share:.9g}}"),
    World("long drift", "drift:amplitude={height:.9g},periods=2"),
    World("burst", "corrupted:budget={x},shape=burst"),
)
SEGMENTED = (World("segments", "piecewise:segments={x}"),)

THIRD = 1 / 3


class _Time(NamedTuple):
    """The powers by which the time of a round grows."""

    steady: float  # in T, with C = 0
    hostile: float  # in T, with C of order T
    in_c: float
    in_k: float = 0.0


class _Theorem(NamedTuple):
    """What a theorem claims for outcomes of any kind."""

    error: str
    label: str
    claim: str
    forecaster: str
    steady_logs: float  # the power of log T with C = 0, or K = 1
    hostile_logs: float  # the power of log T in what C costs
    time: _Time


#: The nulls: T^(1/3) equal points are best for the worst world, sqrt(T) for a stationary one.
#: Foster and Hart predict 0 and 1 too, where PKLCal is infinite; Swap has equal steps of the angle.
GRIDS = tuple(f"foster-hart:{size}" for size in ("horizon=T", "gaps=T^0.4", "gaps=T^0.5"))
LOG_GRIDS = tuple(
    f"swap:loss=log,{size}" for size in ("horizon=T", "intervals=T^0.4", "intervals=T^0.5")
)
# Interval has min{sqrt(T), (T^2/C)^(1/3)} intervals, and a round uses all of them. `Refined`
# has (1 + C)^(1/3), which Swap squares.
_EQUAL = _Time(0.5, THIRD, -THIRD, 0.5)
_KNOWN1, _KNOWN2 = "sqrt(T) + (T C)^(1/3)", "(1 + C)^(1/3)"
KNOWN = (
    _Theorem(
        "Cal1", "CalL1_knownC", _KNOWN1, "interval:deviation=C", 1.0, 2 / 3, _EQUAL
    ),
    _Theorem(
        "Cal1", "cal1_better", _KNOWN1, "refined:measure=l1",
        0.5, THIRD, _Time(0.0, THIRD, THIRD),
    ),
    _Theorem(
        "Cal2", "cal2_approach1", _KNOWN2, "refined:measure=l2",
        3.0, 8 / 3, _Time(0.0, THIRD, THIRD),
    ),
    *(
        _Theorem(
            error, label, _KNOWN2, "refined:measure=pseudo_l2",
            3.0, 2.0, _Time(0.0, 2 / 3, 2 / 3),
        )
        for error, label in (("PCal2", "PCal2_bound"), ("Cal2", "Cal2_bound_implied_by_PCal2"))
    ),
    _Theorem(
        "PKLCal", "PKLCal_bound_knownC", _KNOWN2, "refined:measure=pseudo_kl",
        3.0, 7 / 3, _Time(0.0, 2 / 3, 2 / 3),
    ),
)  # fmt: skip

_NONE1, _NONE2 = "min{sqrt(T) + (T C)^(1/3), sqrt(K T)}", "min{(1 + C)^(1/3), K}"
# With C = 0 there is one segment, and the bound in K is the smaller one: a1 sqrt(K T log T), and
# a1 K. So an unknown C costs half a power of log T for Cal1 and nothing for the others.
UNKNOWN = (
    # The label names what covers the row. For equal intervals there is only the line of Table 1:
# their certificate does not have the form that `combine_piecewise_cal1` requires.
    _Theorem(
        "Cal1", "Table 1, CalL1_knownC", _NONE1, "restarting:measure=l1,base=interval",
        1.0, 2 / 3, _EQUAL,
    ),
    _Theorem(
        "Cal1", "combine_piecewise_cal1, cal1_better", _NONE1, "restarting:measure=l1",
        1.0, THIRD, _Time(0.0, THIRD, THIRD, 0.5),
    ),
    _Theorem(
        "Cal2", "combine_piecewise_cal2, cal2_approach1", _NONE2, "restarting:measure=l2",
        3.0, 8 / 3, _Time(0.0, THIRD, THIRD, 1.0),
    ),
    _Theorem(
        "Cal2", "combine_piecewise_cal2, Cal2_bound_implied_by_PCal2", _NONE2,
        "restarting:measure=l2,base=swap", 3.0, 2.0, _Time(0.0, 2 / 3, 2 / 3, 2.0),
    ),
    _Theorem(
        "PKLCal", "combine_piecewise_PKL, PKLCal_bound_knownC", _NONE2,
        "restarting:measure=pseudo_kl", 3.0, 7 / 3, _Time(0.0, 2 / 3, 2 / 3, 2.0),
    ),
)  # fmt: skip

# Zoom's own theorems have sqrt(T) C^(1/6) for Cal1; in T and in K they have these.
_A_BISECTION = _Time(0.0, 0.0, 0.0)
ZOOM = (
    _Theorem("Cal1", "Zoom's 1, 2 and 3", _NONE1, "zoom", 2.0, 2 / 3, _A_BISECTION),
    _Theorem("Cal2", "Zoom's 1, 2 and 3", _NONE2, "zoom", 4.0, 4 / 3, _A_BISECTION),
)


STATIONARY = (
    Row("Cal1", "simple_block_Cal1", "sqrt(T)", "epoch", "T", 0.5, 0.5, IID, STEADY, 0.0),
    Row("Cal2", "simple_block_Cal2", "log^2 T", "epoch", "T", 0.0, 2.0, IID, STEADY, 0.0),
    Row("PKLCal", "simple_block_PKL", "log^2 T", "epoch-kl", "T", 0.0, 2.0, IID, STEADY, 0.0),
)


def _any_outcomes(theorem: _Theorem, constants: str) -> Iterator[Row]:
    """Return the rows of a theorem: stationary, hostile, in C and, if C is unknown, in K."""
    error, label, claim, base, steady_logs, hostile_logs, time = theorem
    spec = base
    if base != "zoom":
        spec += (",deviation=C" if _specs.name_of(base) == "refined" else "") + ",horizon=T"
    if constants == "paper":
        spec += ",constants=paper"
    l1 = error == "Cal1"
    unknown = theorem in UNKNOWN + ZOOM
    # With printed constants the error changes so slowly that one hostile world is enough.
    hostile = HOSTILE + (ADVERSARIES if unknown and constants != "paper" else ())
    deviating = DEVIATING if constants != "paper" else DEVIATING[:1]

    def row(
        axis: Axis, exponent: float, logs: float, situation: str, worlds: tuple[World, ...],
        cost: float,
    ) -> Row:  # fmt: skip
        return Row(error, label, claim, spec, axis, exponent, logs, situation, worlds, cost)

    yield row("T", 0.5 if l1 else 0.0, steady_logs, IID, STEADY, time.steady)
    yield row("T", 2 / 3 if l1 else THIRD, hostile_logs, WORST, hostile, time.hostile)
    yield row("C", THIRD, 0.0, "T fixed", deviating, time.in_c)
    if unknown:
        yield row("K", 0.5 if l1 else 1.0, 0.0, "T fixed", SEGMENTED, time.in_k)


#: Every claim that is measured.
ROWS: tuple[Row, ...] = (
    *STATIONARY,
    *(
        row
        for constants in ("tuned", "paper")
        for theorem in KNOWN + UNKNOWN
        for row in _any_outcomes(theorem, constants)
    ),
    *(row for theorem in ZOOM for row in _any_outcomes(theorem, "zoom")),
)
