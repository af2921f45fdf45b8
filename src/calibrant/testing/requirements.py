"""What the checks of every contract share: how they require, and how they report."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

Subject = TypeVar("Subject")


def run_checks(
    checks: Sequence[Callable[[Subject], None]], subject: Subject, name: Callable[[], str]
) -> None:
    """Run checks on one subject; the first that fails is named, with the subject and why."""
    for check in checks:
        try:
            check(subject)
        except Exception as error:
            found = error if isinstance(error, AssertionError) else f"it raised {error!r}"
            raise AssertionError(
                f"{name()} breaks the contract, {check.__name__}: {found}"
            ) from error


def require(condition: object, message: str) -> None:
    """Raise AssertionError unless the condition holds, also under ``python -O``."""
    if not condition:
        raise AssertionError(message)


@contextmanager
def refusal(what: str) -> Iterator[None]:
    """Require that the body raises a ValueError that says something."""
    try:
        yield
    except ValueError as error:
        require(str(error), f"{what}: refused without a message")
    except Exception as error:
        raise AssertionError(f"{what}: raised {error!r} instead of a ValueError") from error
    else:
        raise AssertionError(f"{what}: not refused")


def copies_of(saved: Any) -> list[tuple[str, Any]]:
    """Return copies of something that can be saved, and how each was made."""
    return [
        ("copy", copy.copy(saved)),
        ("deepcopy", copy.deepcopy(saved)),
        ("pickle", pickle.loads(pickle.dumps(saved))),
    ]


def require_damage_is_found(saved: Any, places: int | None = None) -> None:
    """Require that its bytes are refused if cut short or altered, anywhere or in some places."""
    cls, blob = type(saved), saved.to_bytes()
    for at in range(0, len(blob), 1 if places is None else 1 + len(blob) // places):
        with refusal(f"{at} of {len(blob)} bytes"):
            cls.from_bytes(blob[:at])
        altered = bytearray(blob)
        altered[at] ^= 1 << (at % 8)
        with refusal(f"byte {at} altered"):
            cls.from_bytes(bytes(altered))
    for what, foreign in (
        ("a longer blob", blob + b"\0"), ("a pickle", pickle.dumps(1)), ("a string", "calibrnt")
    ):  # fmt: skip
        with refusal(what):
            cls.from_bytes(foreign)
