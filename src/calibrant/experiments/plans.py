"""The plan of a sweep: which cells it has, whether they can be played, and where they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from calibrant._checks import check_choice
from calibrant.experiments.cells import MEASURES, Cell
from calibrant.experiments.results import Identifier, Identity
from calibrant.forecasters import named as forecasters
from calibrant.streams import named as streams


def identified(
    cells: Iterable[Cell], measures: Sequence[str] | Callable[[Cell], Sequence[str]]
) -> dict[Identity, Cell]:
    """Return the cells by what they are, each once; refuse specs that mean nothing."""
    identify = Identifier()
    wanted: dict[Identity, Cell] = {}
    if not callable(measures):
        check_measures(measures)
    for cell in cells:
        if not isinstance(cell, Cell):
            raise ValueError(f"cells must be Cells, got {cell!r}")
        chosen = check_measures(measures(cell)) if callable(measures) else measures
        wanted.setdefault(identify(cell, chosen), cell)
    if not wanted:
        raise ValueError("cells must not be empty: there is nothing to play")
    return wanted


def check_measures(measures: Sequence[str]) -> Sequence[str]:
    """Return the names of measures, or say which is none."""
    for name in measures:
        check_choice("measures", name, MEASURES)
    if not measures:
        raise ValueError("measures must not be empty")
    return measures


def check_makeable(cells: Iterable[Cell]) -> None:
    """Refuse a forecaster or a stream that cannot be made, before anything is played."""
    games = dict.fromkeys((cell.stream, cell.rounds, cell.forecaster) for cell in cells)
    rounds_of: dict[str, list[int]] = {}
    for stream, rounds, _ in games:
        rounds_of.setdefault(stream, []).append(rounds)
    deviations = {}
    for stream, all_rounds in rounds_of.items():
        # What a family allows grows with its rounds: the shortest stream decides, and is cheap.
        deviations[stream] = streams.find(stream, rounds=min(all_rounds)).deviation
        most = streams.length(stream)
        if most is not None and max(all_rounds) > most:
            raise ValueError(f"stream {stream!r} has {most} rounds, not {max(all_rounds)}")
    for stream, rounds, forecaster in games:
        forecasters.make(forecaster, rounds=rounds, deviation=deviations[stream])


def check_same_plan(
    finished: Iterable[Identity], wanted: dict[Identity, Cell], folder: Path
) -> None:
    """Refuse a folder with cells of another plan: results are of one plan, whole."""
    strange = [identity for identity in finished if identity not in wanted]
    if strange:
        raise ValueError(
            f"{folder} holds {len(strange)} finished cells of another plan, for instance "
            f"{said(strange[0])}{difference(strange[0], wanted)}; "
            "choose another folder, remove this one, or ask for these cells too"
        )


def said(identity: Identity) -> str:
    """Return a cell as a message names it."""
    return (
        f"{identity.forecaster} {identity.forecaster_parameters} on {identity.stream} "
        f"{identity.stream_parameters}, {identity.rounds:,} rounds, seed {identity.seed}"
    )


def difference(identity: Identity, wanted: Iterable[Identity]) -> str:
    """Say why a cell is not in a plan, where only one thing differs."""
    for other in wanted:
        names = [
            name
            for name, mine, its in zip(Identity._fields, identity, other, strict=True)
            if mine != its
        ]
        if names in (["calibrant"], ["numpy"], ["measures"]):
            name = names[0]
            return f" ({name} {getattr(identity, name)}, now {getattr(other, name)})"
        if names == ["stream_parameters"] and identity.stream == other.stream == "file":
            return " (the file has changed)"
    return ""
