"""Options for a decision per row: costs, a budget, or a floor of precision or recall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from calibrant.cli.arguments import option
from calibrant.decide import Decider

if TYPE_CHECKING:
    from calibrant.cli.recalibrate import RecalibrateOptions

ACT = "Decisions, in a column `act`"
QUESTIONS = ("cost", "budget", "precision", "recall")
#: The options that only decisions have.
OPTIONS = (*QUESTIONS, "per", "explore")
ACT_COLUMN = "act"
#: The probability that each row had of being acted on, where some rows are explored.
PROPENSITY_COLUMN = "propensity"

Cost = Annotated[
    str | None,
    option("A:M", "Act where that is cheaper: acting costs A, a missed event M.", panel=ACT),
]
Budget = Annotated[
    str | None, option("SHARE", "Act on this share of the rows: 1%, or 0.01.", panel=ACT)
]
Per = Annotated[
    str | None,
    option(
        "ROWS|SPAN",
        "Keep --budget within every window of this many rows (10000) or this time (1d).",
        panel=ACT,
    ),
]
Precision = Annotated[
    str | None,
    option(
        "SHARE",
        "Act as often as possible with this share of true events among the acts.",
        panel=ACT,
    ),
]
Recall = Annotated[
    str | None,
    option(
        "SHARE", "Act as rarely as possible while catching this share of the events.", panel=ACT
    ),
]
Explore = Annotated[
    str | None,
    option("SHARE", "Also act on this share of the other rows; 2% with --recall.", panel=ACT),
]


def asked(options: RecalibrateOptions) -> str | None:
    """Return the name of the option that decides, None if none is given; refuse several."""
    given = [name for name in QUESTIONS if getattr(options, name) is not None]
    if len(given) > 1:
        raise ValueError(f"--{given[0]} and --{given[1]} cannot be combined: give one of them")
    for name, needs in (("per", "budget"), ("explore", None)):
        if getattr(options, name) is not None and (not given or needs not in (None, given[0])):
            others = f"--{', --'.join(QUESTIONS[:-1])} or --{QUESTIONS[-1]}"
            raise ValueError(f"--{name} needs {others if needs is None else '--' + needs}")
    return given[0] if given else None


def decider_of(options: RecalibrateOptions) -> Decider | None:
    """Return the decider, None if no option asks for decisions."""
    name = asked(options)
    if name is None:
        return None
    if options.state is not None:
        raise ValueError(
            f"--{name} cannot be combined with --state: in Python, save a decider with Decider.save"
        )
    if options.key is not None and options.id is not None:
        raise ValueError(
            f"--{name} cannot be combined with both --key and --id: "
            "in Python, decide on Fleet.smooth"
        )
    names = ("seed", "silence", "after", "hold")
    more: dict[str, Any] = {each: getattr(options, each) for each in names}
    if options.explore is not None or name == "recall":
        more["explore"] = share_of("--explore", options.explore or "2%")
    if name == "cost":
        acting, missing = costs_of(options.cost or "")
        return Decider(cost_of_acting=acting, cost_of_missing=missing, **more)
    more[name] = share_of(f"--{name}", getattr(options, name))
    if options.per is not None:
        more["per"] = int(options.per) if options.per.isdigit() else options.per
        if isinstance(more["per"], str) and options.time is None:
            raise ValueError(f"--per {options.per} needs --time")
    return Decider(**more)


def share_of(name: str, text: str) -> float:
    """Return a share, given as a fraction or in percent."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        share = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        raise ValueError(f"{name} must be a share such as 1% or 0.01, got {text!r}") from None
    if not 0.0 < share < 1.0:
        raise ValueError(f"{name} must be between 0 and 1 or between 0% and 100%, got {text!r}")
    return share


def costs_of(text: str) -> tuple[float, float]:
    """Return the cost of acting and the cost of a missed event."""
    try:
        acting, missing = (float(part) for part in text.split(":"))
    except ValueError:
        raise ValueError(
            "--cost must be the cost of acting and that of a missed event, such as 1:20, "
            f"got {text!r}"
        ) from None
    return acting, missing
