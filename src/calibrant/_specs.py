"""Names with parameters, as a user writes them: ``foster-hart:gaps=46``.

A spec is a name, or a name and a list of parameters, ``name:key=value,key=value``. A value is read
as the type that the maker of the thing declares. In place of a number it may be a formula of
what is known once the thing is used: T, the number of rounds, or C, the deviation of the stream.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from calibrant._checks import check_choice, describe

NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
FORMULA = re.compile(rf"(?:({NUMBER})\*)?([TC])(?:\^({NUMBER}))?(?:/({NUMBER}))?")
MEANINGS = {"T": "the number of rounds", "C": "the deviation of the stream"}


class Spec(NamedTuple):
    """A name and what was written behind it, still as text."""

    name: str
    parameters: dict[str, str]


@dataclass(frozen=True)
class Formula:
    """A number that follows from T or C: [FACTOR*]T[^POWER][/DIVISOR]."""

    text: str

    def value(self, known: Mapping[str, float | None]) -> float:
        """Return the number, or say that its symbol is not known here."""
        match = FORMULA.fullmatch(self.text)
        assert match is not None
        factor, symbol, power, divisor = match.groups()
        base = known.get(symbol)
        if base is None:
            raise ValueError(
                f"{self.text!r} needs {symbol}, {MEANINGS[symbol]}, which is not known here"
            )
        return float(float(factor or 1) * base ** float(power or 1) / float(divisor or 1))


Value = int | float | str | bool | list[float] | Formula
Made = TypeVar("Made")


def parse(what: str, text: object) -> Spec:
    """Split a spec into name and parameters, or say how one is written."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError(
            f"{what} must be a name, or name:key=value,key=value, got {describe(text)}"
        )
    name, colon, rest = text.strip().partition(":")
    parameters: dict[str, str] = {}
    for piece in rest.split(",") if colon else ():
        key, equals, value = (part.strip() for part in piece.partition("="))
        if not (key and equals and value):
            raise ValueError(f"{what} {text!r} must be name:key=value,key=value, got {piece!r}")
        if key in parameters:
            raise ValueError(f"{what} {text!r} has {key!r} twice")
        parameters[key] = value
    return Spec(name, parameters)


def name_of(spec: str) -> str:
    """Return the name in a spec, whatever follows it."""
    return spec.partition(":")[0]


def write(name: str, values: Mapping[str, Any]) -> str:
    """Return the spec of a name with values, as `plain` gives them."""
    if name == "file":  # written file:PATH#COLUMN, since a path may hold any character
        return f"file:{values['path']}" + (f"#{values['column']}" if values["column"] else "")
    pairs = ",".join(f"{key}={_written(value)}" for key, value in values.items())
    return f"{name}:{pairs}" if pairs else name


def _written(value: Any) -> str:
    if isinstance(value, list):
        return "/".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def choose(
    what: str,
    spec: Spec,
    makers: Mapping[str, Sequence[Callable[..., Made]]],
    without: Sequence[str],
) -> tuple[Callable[..., Made], dict[str, Value]]:
    """Return the first maker of that name which takes these parameters, and their values."""
    check_choice(what, spec.name, tuple(makers))
    offers = [offered(maker, tuple(without)) for maker in makers[spec.name]]
    for maker, kinds in zip(makers[spec.name], offers, strict=True):
        if spec.parameters.keys() <= kinds.keys():
            values = {
                key: read_value(f"{what} {spec.name!r}: {key}", text, kinds[key])
                for key, text in sorted(spec.parameters.items())
            }
            return maker, values
    unknown = [key for key in spec.parameters if not any(key in kinds for kinds in offers)]
    sets = " or ".join(", ".join(kinds) for kinds in offers if kinds) or "no parameters"
    problem = (
        f"has no parameter {unknown[0]!r}"
        if unknown
        else f"does not take {', '.join(spec.parameters)} together"
    )
    raise ValueError(f"{what} {spec.name!r} {problem}; it takes {sets}")


@cache
def offered(maker: Callable[..., Any], without: tuple[str, ...]) -> dict[str, type]:
    """Return the parameters that can be written in a spec, each with the type of its value."""
    hints = get_type_hints(maker.__init__ if inspect.isclass(maker) else maker)
    kinds = {
        name: kind_of(hints[name]) for name in inspect.signature(maker).parameters if name in hints
    }
    return {name: kind for name, kind in kinds.items() if kind is not None and name not in without}


def kind_of(hint: Any) -> type | None:
    """Return the type that a value is read as, or None if a spec cannot hold such a value."""
    if get_origin(hint) in (Union, UnionType):
        # Of one or several integers, a spec can hold one.
        rest = [each for each in get_args(hint) if each not in (NoneType, Sequence[int])]
        return kind_of(rest[0]) if len(rest) == 1 else None
    if hint == Sequence[float]:
        return list
    return hint if hint in (int, float, str, bool) else None


def read_value(name: str, text: str, kind: type) -> Value:
    """Return what was written as the type that is wanted, or say what is allowed."""
    try:
        if kind is str:
            return text
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
        if kind is list:
            return [float(part) for part in text.split("/")]
        if FORMULA.fullmatch(text):
            return Formula(text)
        return int(float(text)) if kind is int and float(text).is_integer() else kind(text)
    except (ValueError, KeyError, OverflowError):
        allowed = {
            int: "an integer, or a formula of T or C such as T/10 or T^0.5",
            float: "a number, or a formula of T or C such as T/10 or T^0.5",
            bool: "true or false",
            list: "numbers with / between them, such as 0.2/0.8",
        }[kind]
        raise ValueError(f"{name} must be {allowed}, got {text!r}") from None


def settle(
    maker: Callable[..., Any], values: Mapping[str, Value], known: Mapping[str, float | None]
) -> dict[str, Any]:
    """Return the values with every formula evaluated, rounded where an integer is wanted."""
    kinds, settled = offered(maker, ()), dict[str, Any](values)
    for key, value in values.items():
        if isinstance(value, Formula):
            number = value.value(known)
            settled[key] = round(number) if kinds[key] is int else number
    return settled


def plain(values: Mapping[str, Value]) -> dict[str, Any]:
    """Return values as JSON can hold them: a formula as its text."""
    return {
        key: value.text if isinstance(value, Formula) else value for key, value in values.items()
    }
