"""After the kills: the answers that clients received, compared with the store, row by row."""

from collections import Counter, defaultdict

from benchmarks.kills_clients import STREAMS
from calibrant.service.store import open_store
from calibrant.service.store.records import LoggedPredictions
from calibrant.service.stream.events import event_of
from calibrant.service.stream.key_watch import KeyChange
from calibrant.service.stream.stream import Stream

#: As many sentences of one kind are enough.
ENOUGH = 5


class Verdict:
    """Sentences on what is wrong, and counts of what was compared."""

    def __init__(self):
        self.wrong = []
        self.counts = Counter()
        self._kinds = Counter()

    def find(self, kind, sentence):
        self._kinds[kind] += 1
        if self._kinds[kind] <= ENOUGH:
            self.wrong.append(f"{kind}: {sentence}")


def judge(address, clients, world):
    """Compare every answer with the store, and the state with a replay from the first row."""
    verdict, store = Verdict(), open_store(str(address))
    for client in clients:
        for each in client.strange:
            verdict.find("a strange answer", each)
    try:
        for row in store.streams():
            predictions, outcomes = logged(store, row, verdict, world)
            check_predictions(verdict, row.name, predictions, clients)
            check_outcomes(verdict, row.name, predictions, outcomes, clients)
            check_state(verdict, store, row)
    finally:
        store.close()
    return verdict


def logged(store, stream, verdict, world):
    """Return the log by id; every id must be there once, and must have been sent."""
    predictions, outcomes = defaultdict(list), defaultdict(list)
    for batch in store.log(stream.number, 0):
        kind = type(batch)
        for row in map(kind._make, zip(*batch, strict=True)):
            (predictions if kind is LoggedPredictions else outcomes)[row.id].append(row)
    for id_, rows in [*predictions.items(), *outcomes.items()]:
        if len(rows) > 1:
            verdict.find("a row is there twice", f"{rows}")
        if (stream.name, id_) not in world.sent:
            verdict.find("a row that nobody sent", f"{rows}")
    verdict.counts["predictions stored"] += len(predictions)
    verdict.counts["outcomes stored"] += len(outcomes)
    first = {id_: rows[0] for id_, rows in predictions.items()}
    return first, {id_: rows[0].outcome for id_, rows in outcomes.items()}


def check_predictions(verdict, stream, stored, clients):
    """Every answer to an id is the stored one, and the id was new once only."""
    applied = Counter()
    for said in (each for client in clients for each in client.said if each.stream == stream):
        verdict.counts["answers to predictions"] += 1
        verdict.counts[f"predictions {said.answer}"] += 1
        row = stored.get(said.id)
        if row is None:
            verdict.find("an answered prediction is lost", f"{said}")
            continue
        if (row.probability, row.smooth, row.sequence) != said[3:6]:
            verdict.find("an id has two probabilities", f"{said} and {row}")
        if (said.answer == "conflict") != (row.score != said.score):
            verdict.find("a prediction has the wrong answer", f"{said} of {row}")
        applied[said.id] += said.answer == "applied"
    for id_, times in applied.items():
        if times > 1:
            verdict.find("a prediction was applied twice", f"{stream} {id_}")


def check_outcomes(verdict, stream, predictions, stored, clients):
    """Every answer to an outcome agrees with the stored one, or with silence."""
    silence, applied = STREAMS[stream].get("silence"), Counter()
    for told in (each for client in clients for each in client.told if each.stream == stream):
        verdict.counts["answers to outcomes"] += 1
        verdict.counts[f"outcomes {told.answer}"] += 1
        final = stored.get(told.id, silence)
        if told.answer == "unknown":
            fine = not told.is_known  # nobody had been answered when this was sent
        elif told.id not in predictions:
            fine = False
        elif told.answer == "applied":
            fine = stored.get(told.id) == told.outcome
            applied[told.id] += 1
        elif told.answer == "repeated":
            fine = final == told.outcome
        else:  # two outcomes of one id that arrive together hold each other up
            fine = told.answer == "conflict" and (told.is_contested or final == 1 - told.outcome)
        if not fine:
            verdict.find("an answered outcome is lost or wrong", f"{told}, stored {final}")
    for id_, times in applied.items():
        if times > 1:
            verdict.find("an outcome was applied twice", f"{stream} {id_}")


def check_state(verdict, store, row):
    """The state that the last server left is that of a replay from the first row, bit for bit."""
    stream, happened = Stream(row, 0.0), []
    try:
        for batch in store.log(row.number, 0):
            stream.replay(batch)
            happened += stream.engine.measure()
    except Exception as error:
        verdict.find("the log cannot be replayed", f"{error}")
        return
    snapshots = list(store.snapshots(row.number))
    if not snapshots or snapshots[0].sequence != stream.sequence:
        verdict.find("the last server left no state", f"{row.name} at {stream.sequence}")
    elif snapshots[0].blob != stream.engine.to_bytes():
        verdict.find("the state is not that of a replay", f"{row.name} at {stream.sequence}")
    else:
        verdict.counts["states equal to a replay"] += 1
    again = [event_of(row.name, 0.0, each) for each in happened if isinstance(each, KeyChange)]
    events = [each for each in store.events(0, row.name, 10**9) if each.kind.startswith("key.")]
    if [(each.kind, each.body) for each in events] != [(each.kind, each.body) for each in again]:
        verdict.find("what was told of keys is not what a replay tells", f"{row.name}")
    verdict.counts["keys that were off or back, told"] += len(events)
