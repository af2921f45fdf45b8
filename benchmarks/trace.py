"""Which functions a file of five rows visits, and which a request to the service.

``python -m benchmarks.trace`` prints the functions of each module, and the totals, for a file with
groups and a report, for one with deadlines and without, and for rows that are posted to a service
in this process. Not counted are the code of modules and
classes, which runs on import, methods that dataclasses and named tuples generate, and
comprehensions, which newer Pythons run inside the function that holds them.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import json
import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import calibrant
from calibrant.cli import app
from calibrant.service.api.app import create_app
from calibrant.service.service import Service
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.owner import Owner, deliver

ROWS = """\
s,y,t,a,d,g
0.9,1,1,2.5,3,north
0.8,0,2,3.5,4,south
0.3,0,3,3.5,5,north
0.6,1,4,,6,south
0.7,1,5,5.5,7,north
"""
REPORT = "recalibrate rows.csv --score s --outcome y --time t --available a --by g --report r.html"
SILENCE = "recalibrate rows.csv --score s --outcome y --time t --available a --due d --silence 0"
#: What is posted to the service: rows of the stream in its documentation, whose outcomes wait for
#: a deadline.
STREAM = {"silence": 0, "after": "30d"}
PREDICTIONS = [{"id": "order 17", "score": 0.83}, {"id": "order 18", "score": 0.12}]
OUTCOME = {"id": "order 17", "outcome": 1}
PACKAGE = str(Path(calibrant.__file__).parent) + os.sep
#: Where rounds are played: who keeps them, the rules that predict and learn them, and what these
#: rules are saved as. The rest reads tables, measures, watches, draws and prints.
MACHINERY = ("_kernels.", "fleet.", "forecasters.", "recalibrate.", "rounds.")


def visited(command: str) -> dict[str, list[str]]:
    """Return the functions that a command visits, by module."""
    codes: set[CodeType] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("rows.csv").write_text(ROWS)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            sys.setprofile(look)
            try:
                app(command.split(), standalone_mode=False)
            finally:
                sys.setprofile(None)
    return by_module(codes)


def by_module(codes: set[CodeType]) -> dict[str, list[str]]:
    """Return the functions of this package, by module."""
    found = defaultdict(list)
    for code in codes:
        # Generated methods have no file; code of modules and classes lacks the flag.
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.endswith("comp>")
        if is_function and code.co_filename.startswith(PACKAGE):
            module = code.co_filename.removeprefix(PACKAGE).removesuffix(".py").replace(os.sep, ".")
            found[module].append(code.co_qualname)
    return dict(found)


class Requests:
    """A service in this process, and which functions its answers to requests visit.

    What the owner's thread does after it has handed over an answer, such as snapshots and the news
    for listeners, is background work and not counted.
    """

    def __init__(self, folder: str, settings: dict[str, object]) -> None:
        self.codes: set[CodeType] = set()
        self.is_counting, self.after_answer = False, threading.local()
        threading.setprofile(self.look)  # before the owner's thread starts
        self.service = Service(SqliteStore(Path(folder) / "store.db"))
        self.service.start()
        threading.setprofile(None)
        self.app = create_app(self.service)
        self.visited("PUT", "", settings)
        rows = [{"id": f"before {number}", "score": 0.5} for number in range(3)]
        self.visited("POST", "/predictions", rows)
        self.visited("POST", "/outcomes", {"id": "before 0", "outcome": 1})

    def look(self, frame: FrameType, event: str, _: object) -> None:
        """Note the functions that are called while a request is answered."""
        if event == "return" and frame.f_code is deliver.__code__:
            self.after_answer.it_is = True
        elif event == "call":
            if frame.f_code is Owner._take.__code__:
                self.after_answer.it_is = False
            if self.is_counting and not getattr(self.after_answer, "it_is", False):
                self.codes.add(frame.f_code)

    def visited(self, method: str, path: str, body: object) -> dict[str, list[str]]:
        """Return the functions that the answer to a request visits, by module."""
        self.codes.clear()
        status = asyncio.run(self._ask(method, f"/v1/streams/fraud{path}", body))
        assert status < 300, status
        return by_module(self.codes)

    async def _ask(self, method: str, path: str, body: object) -> int:
        content, sent = json.dumps(body).encode(), []
        messages = [{"type": "http.request", "body": content, "more_body": False}]

        async def receive() -> dict[str, object]:
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        headers = {"host": "localhost", "content-type": "application/json"}
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": b"", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
            "scheme": "http", "http_version": "1.1",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        self.is_counting = True
        sys.setprofile(self.look)
        try:
            await self.app(scope, receive, send)
        finally:
            sys.setprofile(None)
            self.is_counting = False
        return sent[0]["status"]


@contextlib.contextmanager
def requests(settings: dict[str, object]) -> Iterator[Requests]:
    """Give a service with a stream of these settings."""
    with tempfile.TemporaryDirectory() as folder:
        found = Requests(folder, settings)
        try:
            yield found
        finally:
            found.service.stop()


def machinery(found: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return those of the modules that play rounds."""
    return {name: each for name, each in found.items() if name.startswith(MACHINERY)}


def counted(found: dict[str, list[str]]) -> str:
    """Return how many functions these are, and in how many modules."""
    return f"{sum(map(len, found.values()))} functions in {len(found)} modules"


def main() -> None:
    """Print what a row visits."""
    for command in (REPORT, SILENCE):
        show(f"calibrant {command}", visited(command))
    for settings, when in (
        (STREAM, "before its deadline"),
        ({}, "learned at once, measured after the answer"),
    ):
        with requests(settings) as service:
            found = service.visited("POST", "/predictions", PREDICTIONS)
            show(f"POST predictions to a stream {settings}", found)
            found = service.visited("POST", "/outcomes", OUTCOME)
            show(f"POST an outcome, {when}", found)


def show(title: str, found: dict[str, list[str]]) -> None:
    """Print the functions of each module, and the totals."""
    print(f"\n{title}")
    for module, functions in sorted(found.items()):
        print(f"{module} ({len(functions)}): {', '.join(sorted(functions))}")
    print(f"{counted(found)}, of which {counted(machinery(found))} play rounds")


if __name__ == "__main__":
    main()
