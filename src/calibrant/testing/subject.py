"""How a class under test is built and played, and what the checks require of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from calibrant._checks import describe
from calibrant.testing.inputs import Array, Inputs

#: A method, its arguments, and its arguments by name.
Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def require(condition: object, message: str) -> None:
    """Raise AssertionError unless the condition holds, also under ``python -O``."""
    if not condition:
        raise AssertionError(message)


def require_same(predictions: Sequence[Any], message: str) -> None:
    """Raise AssertionError unless two predictions, or arrays of them, are equal to the last bit."""
    require(np.array_equal(predictions[0], predictions[1]), message)


@contextmanager
def refusal(what: str, answer: str | None = None) -> Iterator[None]:
    """Require that the body raises a ValueError that says something, and has this answer if any."""
    try:
        yield
    except ValueError as error:
        require(str(error), f"{what}: refused without a message")
        told = getattr(error, "answer", None)
        require(answer in (None, told), f"{what}: refused as {told!r}, not as {answer!r}")
    except Exception as error:
        raise AssertionError(f"{what}: raised {error!r} instead of a ValueError") from error
    else:
        raise AssertionError(f"{what}: not refused")


class Rounds:
    """Columns of scores, if any, and of outcomes, with the further arguments of each round."""

    def __init__(self, columns: tuple[Array, ...], inputs: Inputs) -> None:
        self.columns, self.inputs, self.calls = columns, inputs, inputs.calls
        self.outcomes = columns[-1]

    def __len__(self) -> int:
        return len(self.outcomes)

    def score(self, t: int) -> tuple[Any, ...]:
        """Return what `predict` gets in round t: a score, or nothing."""
        return tuple(column[t] for column in self.columns[:-1])

    def predict(self, player: Any, t: int, **id_: Any) -> Any:
        """Ask for the prediction of round t."""
        named = id_ if "id" in id_ else self.calls.name(t) | id_
        return self.calls.predict(player, *self.score(t), **named, **self.inputs.more(t))

    def update(self, player: Any, t: int, **id_: Any) -> Any:
        """Give the outcome of round t; return the answer."""
        named = id_ if "id" in id_ else self.calls.name(t) | id_
        return self.calls.update(player, self.outcomes[t], **named)

    def predict_many(self, player: Any, start: int, stop: int, **more: Any) -> Any:
        """Predict rounds in one call, each named by its number."""
        more = {"ids": list(range(start, stop)), **self.inputs.lists(start, stop), **more}
        return self.calls.predict_many(player, self.columns[0][start:stop], **more)

    def update_many(self, player: Any, rows: list[int], **more: Any) -> list[str]:
        """Give the outcomes of rounds in one call; return the answers."""
        known = [self.outcomes[t] for t in rows]
        answers: list[str] = self.calls.update_many(player, known, ids=rows, **more).tolist()
        return answers

    def play(
        self,
        player: Any,
        start: int = 0,
        stop: int | None = None,
        *,
        late: int = 1,
        ids: Callable[[int], dict[str, Any]] = lambda _: {},
    ) -> Array:
        """Play single rounds and return the predictions.

        The outcomes of each `late` rounds arrive together, the last one first.
        """
        predictions = []
        for t in range(start, len(self) if stop is None else stop):
            predictions.append(self.predict(player, t, **ids(t)))
            if (t + 1 - start) % late == 0:
                for known in range(t, t - late, -1):
                    self.update(player, known, **ids(known))
        return np.array(predictions)

    def play_late(self, player: Any, start: int, stop: int) -> Array:
        """Play rounds by id, each known within three."""
        return self.play(player, start, stop, late=3, ids=lambda t: {"id": t})

    def play_first(self, player: Any, stop: int) -> range:
        """Play the first rounds, the last few by id where there are ids; return those that wait."""
        start = max(0, stop - 8)
        self.run(player, 0, start)
        if not hasattr(player, "expire"):
            self.play(player, start, stop)
            return range(0)
        self.play_late(player, start, stop)
        return range(stop - (stop - start) % 3, stop)

    def run(self, player: Any, start: int = 0, stop: int | None = None, **more: Any) -> Array:
        """Play rounds in one call."""
        stop = len(self) if stop is None else stop
        columns = [each[start:stop] for each in self.columns]
        lists = self.inputs.lists(start, stop)
        predictions: Array = self.calls.run(player, *columns, **lists, **more)
        return predictions


class Subject:
    """A class under test, how to build it and what to give it."""

    def __init__(self, cls: Callable[..., Any], inputs: Inputs, arguments: dict[str, Any]) -> None:
        self.cls, self.inputs, self.arguments = cls, inputs, arguments
        self.settings = set(inspect.signature(cls).parameters)
        self.can_be_saved = hasattr(cls, "to_bytes")
        self.has_ids = hasattr(cls, "expire")
        self.calls = inputs.calls

    def can(self, verb: str) -> bool:
        """Return whether the class has this method."""
        return hasattr(self.cls, verb)

    def make(self, **settings: Any) -> Any:
        """Build one; settings that the class does not take are left out."""
        known = {name: value for name, value in settings.items() if name in self.settings}
        return self.cls(**{**self.arguments, **known})

    def stream(self, rounds: int, seed: int, kind: str | None = None) -> Rounds:
        """Return rounds of a kind, or of the first."""
        columns = self.inputs.stream(kind or self.inputs.kinds[0], rounds, seed)
        return Rounds(columns, self.inputs)

    def streams(self, rounds: int, seed: int) -> Iterator[tuple[str, Rounds]]:
        """Yield every kind, and rounds of it."""
        for kind in self.inputs.kinds:
            yield kind, self.stream(rounds, seed, kind)

    def state_of(self, player: Any) -> tuple[Any, ...]:
        """Return what can be seen of the state without a prediction."""
        counts = [getattr(player, name, None) for name in ("rounds", "learned", "pending")]
        return (*counts, player.to_bytes() if self.can_be_saved else None)

    def learned_state(self, player: Any) -> tuple[Any, ...]:
        """Return what can be seen of what was learned, whatever the ids were."""
        if self.can_be_saved and not self.calls.has_unnamed:
            player = type(player).from_bytes(player.to_bytes())
            player.forget_ids()
        return self.state_of(player)

    def run_checks(self, checks: Sequence[Callable[[Subject], None]]) -> None:
        """Run checks; the first that fails is named, with the class and why."""
        for check in checks:
            try:
                check(self)
            except Exception as error:
                found = error if isinstance(error, AssertionError) else f"it raised {error!r}"
                given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
                name = f"{getattr(self.cls, '__name__', self.cls)}({given})"
                raise AssertionError(
                    f"{name} breaks the contract, {check.__name__}: {found}"
                ) from error

    def require_refused(self, calls: Iterable[Call]) -> None:
        """Require that each call raises ValueError, and that nothing changes."""
        rounds = self.stream(60, 14)
        player, twin = self.make(), self.make()
        for each in (player, twin):
            rounds.run(each, 0, 30)
            if self.has_ids:
                rounds.predict(each, 30, id="waits")
            rounds.predict(each, 31)
        self.require_unchanged(player, calls)
        for each in (player, twin):
            rounds.update(each, 31)
            if self.has_ids:
                rounds.update(each, 30, id="waits")
        following = [rounds.run(each, 32) for each in (player, twin)]
        require_same(following, "what was refused changes the predictions that follow")

    def require_unchanged(self, player: Any, calls: Iterable[Call]) -> None:
        """Require that a player refuses each call, and that its state is as it was."""
        before = self.state_of(player)
        for method, given, named in calls:
            shown = [describe(value) for value in given]
            shown += [f"{name}={describe(value)}" for name, value in named.items()]
            what = f"{method}({', '.join(shown)})"
            with refusal(what):
                getattr(self.calls, method)(player, *given, **named)
            require(self.state_of(player) == before, f"{what} changes the state")
