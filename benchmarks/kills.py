"""SIGKILL at random moments while clients write: every answered row must be in the store, once.

``python -m benchmarks kills`` kills 200 times on SQLite and 50 times one of three processes on
PostgreSQL; then it breaks the service on purpose, which must be detected.
"""

import random
import socket
import statistics
import tempfile
import time
from collections import namedtuple
from pathlib import Path

import httpx

from benchmarks.kills_clients import STREAMS, Client, World
from benchmarks.kills_postgres import database
from benchmarks.kills_server import FAULTS, Server
from benchmarks.kills_verdict import judge
from benchmarks.tables import table
from calibrant.service.store.postgres import PostgresStore

TITLE = "Kills"
CLIENTS = 8
KILLS, KILLS_SHARED, KILLS_WITH_FAULT = 200, 50, 15
#: Seconds: the longest wait for a first answer, and the longest life after it.
PATIENCE, LIFE = 90.0, 0.5
#: How many kills come before the server answers: while it starts and replays.
EARLY = 0.15
#: How many kills of several servers are of one that owns a stream, at least.
OWNERS = 0.6

Siege = namedtuple("Siege", "kills seconds gaps stops verdict clients")


class NoAnswerError(Exception):
    """Nobody answers any more."""


def siege(store, servers, kills, seed=0, progress=lambda _: None, owners=None, strike=None):
    """Kill servers on one store while clients write; return what came of it.

    `owners` says the address of the server that owns each stream, if there are several. `strike`
    does something else than to kill one.
    """
    chance, world, began = random.Random(seed), World(), time.monotonic()
    clients = [Client(number, world, [each.url for each in servers], seed)
               for number in range(CLIENTS)]  # fmt: skip
    gaps, stops, trouble, done = [], [], None, 0
    try:
        for server in servers:
            server.start()
        make_streams(servers)
        for client in clients:
            client.start()
        wait_for_answer(world, time.monotonic())
        for done in range(1, kills + 1):
            gaps += (strike or kill_one)(chance, world, servers, owners)
            progress(f"kill {done} of {kills}, {world.answers:,} rows answered")
        wait_for_answer(world, time.monotonic())
    except NoAnswerError as error:
        trouble = f"{error} after {done} kills; it said: {servers[0].last_words()}"
    finally:
        world.ends.set()
        for client in clients:
            if client.is_alive():
                client.join()
        stops = [server.stop() for server in servers if server.is_alive]
    verdict = judge(store, clients, world)
    if trouble is not None:
        verdict.find("a server does not come back", trouble)
    return Siege(done, time.monotonic() - began, gaps, stops, verdict, clients)


def kill_one(chance, world, servers, owners):
    """Kill one server at a random moment and start it anew; one that owns a stream more often.

    Return for how long nobody answered for its streams, if that was waited for.
    """
    is_early = chance.random() < EARLY
    if not is_early:
        wait_for_answer(world, time.monotonic())
    time.sleep(chance.uniform(0.0, LIFE))
    victim, owns = chance.choice(servers), dict.fromkeys(STREAMS, servers[0].url)
    if owners is not None:
        owns = owners()
    if chance.random() < OWNERS:
        preferred = owns.get(chance.choice(list(STREAMS)))
        victim = next((each for each in servers if each.url == preferred), victim)
    killed = time.monotonic()
    victim.kill()
    down = time.monotonic()
    victim.start()
    lost = [stream for stream in STREAMS if owns.get(stream) == victim.url]
    if is_early or not lost:
        return []
    return [wait_for_answer(world, down, lost) - killed]


def cut_connections(chance, world, servers, _):
    """End connections to the database: most of them at once, in the middle of whatever they do."""
    import psycopg  # noqa: PLC0415 - an extra of its own

    wait_for_answer(world, time.monotonic())
    time.sleep(chance.uniform(0.0, LIFE))
    with psycopg.connect(servers[0].store, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend' AND random() < 0.8"
        )
    cut = time.monotonic()
    return [wait_for_answer(world, cut) - cut]


def wait_for_answer(world, since, streams=STREAMS):
    """Wait until requests that were sent after a moment are answered; return when the last was."""
    while any(world.latest[stream][0] <= since for stream in streams):
        if time.monotonic() - since > PATIENCE:
            raise NoAnswerError(f"no answer for {PATIENCE:g} seconds")
        time.sleep(0.005)
    return max(world.latest[stream][1] for stream in streams)


def make_streams(servers):
    """Wait for a server, and make the streams."""
    end = time.monotonic() + PATIENCE
    with httpx.Client(timeout=20) as http:
        for name, settings in STREAMS.items():
            while True:
                try:
                    answer = http.put(f"{servers[0].url}/v1/streams/{name}", json=settings)
                    if answer.status_code in (200, 201):
                        break
                except httpx.HTTPError:
                    pass
                if time.monotonic() > end:
                    raise NoAnswerError(f"no stream could be made in {PATIENCE:g} seconds")
                time.sleep(0.05)


def free_port():
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def siege_sqlite(kills, seed=0, fault=None, progress=lambda _: None):
    """Kill one server on an SQLite store."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        return siege(store, [Server(store, free_port(), folder, fault)], kills, seed, progress)


def siege_postgresql(kills, seed=0, processes=3, progress=lambda _: None, strike=None):
    """Kill servers on a PostgreSQL store, which share the streams; or strike in another way."""
    with tempfile.TemporaryDirectory() as folder, database() as store:
        servers = [Server(store, free_port(), folder) for _ in range(processes)]
        reader = PostgresStore(store)
        try:
            return siege(
                store, servers, kills, seed, progress,
                lambda: {each.name: each.url for each in reader.held()}, strike,
            )  # fmt: skip
        finally:
            reader.close()


def report(name, result):
    """Return the tables of one siege, and what was found wrong."""
    counts, gaps = result.verdict.counts, sorted(result.gaps) or [0.0]
    answered = counts["answers to predictions"] + counts["answers to outcomes"]
    yield table(
        f"{name}: {result.kills} kills",
        ["", "measured"],
        [
            ["clients", CLIENTS],
            ["seconds", f"{result.seconds:.0f}"],
            ["rows answered", f"{answered:,}"],
            ["kills of an owner that were timed", len(result.gaps)],
            ["requests without an answer", f"{sum(c.unanswered for c in result.clients):,}"],
            ["requests answered with 503", f"{sum(c.refused for c in result.clients):,}"],
            [
                "seconds from a kill of an owner to an answer for its streams, median",
                f"{statistics.median(gaps):.2f}",
            ],
            [
                "seconds from a kill of an owner to an answer for its streams, longest",
                f"{gaps[-1]:.2f}",
            ],
            ["seconds to stop by SIGTERM, longest", f"{max(result.stops, default=0.0):.2f}"],
            *([each, f"{counts[each]:,}"] for each in sorted(counts)),
            ["**found wrong**", f"**{len(result.verdict.wrong)}**"],
        ],
    )
    if result.verdict.wrong:
        yield "".join(f"- {sentence}\n" for sentence in result.verdict.wrong)


def tables(progress):
    """Return the tables of this module, one after the other."""
    yield from report("SQLite, one process", siege_sqlite(KILLS, progress=progress))
    yield from report(
        "PostgreSQL, three processes", siege_postgresql(KILLS_SHARED, progress=progress)
    )
    rows = []
    for fault in FAULTS:
        broken = siege_sqlite(KILLS_WITH_FAULT, fault=fault, progress=progress)
        found = sorted({sentence.partition(":")[0] for sentence in broken.verdict.wrong})
        rows.append([fault, "; ".join(found) or "NOTHING"])
    yield table(
        f"Broken on purpose, {KILLS_WITH_FAULT} kills each", ["fault", "what is found"], rows
    )
