"""Run the benchmarks and rewrite the tables: ``python -m benchmarks [PART ...]``.

Without a name, all parts run except those that take an hour. ``figures`` draws the figures of the
README, ``screenshots`` takes pictures of the service's pages, ``tune`` measures the constants of
the tuned certificates again, ``search`` searches for stronger opponents, ``evolve`` evolves one,
``many_rows`` runs 10^8 rows through a fleet, ``numbers`` runs folders of streams of numbers,
``batches`` runs labels that arrive together, ``attack`` simulates a hostile user, ``before``
compares speed and error with another version; each of the last eight shows its options with
``--help``.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the plain-Python Zoom is the tests' slow reference

from rich.console import Console  # noqa: E402

from benchmarks import (  # noqa: E402
    answers,
    attack,
    attack_safe,
    batches,
    before,
    certificates,
    checks,
    choices,
    classes,
    compare,
    decide,
    decisions,
    delay,
    endurance,
    error,
    events,
    evolve,
    figures,
    fleet,
    forged,
    groups,
    hostile_paper,
    hostile_requests,
    hostile_streams,
    ids,
    kills,
    machine,
    many_rows,
    march,
    miscalibrated_keys,
    monitor,
    monitor_late,
    numbers,
    pages,
    paper,
    rare,
    rates,
    recalibrate,
    scored,
    screenshots,
    search,
    service,
    silence,
    speed,
    sweep,
    truthful,
    tune,
    why_not,
)

PARTS = {
    "speed": speed,
    "error": error,
    "events": events,
    "march": march,
    "attack_safe": attack_safe,
    "hostile-streams": hostile_streams,
    "hostile-paper": hostile_paper,
    "rates": rates,
    "choices": choices,
    "paper": paper,
    "recalibrate": recalibrate,
    "ids": ids,
    "groups": groups,
    "fleet": fleet,
    "miscalibrated_keys": miscalibrated_keys,
    "compare": compare,
    "sweep": sweep,
    "scored": scored,
    "delay": delay,
    "silence": silence,
    "rare": rare,
    "forged": forged,
    "service": service,
    "hostile": hostile_requests,
    "decisions": decisions,
    "truthful": truthful,
    "decide": decide,
    "why_not": why_not,
    "certificates": certificates,
    "checks": checks,
    "answers": answers,
    "monitor": monitor,
    "monitor_late": monitor_late,
    "kills": kills,
    "endurance": endurance,
    "pages": pages,
}
PICTURES = {"figures": figures, "screenshots": screenshots}
#: What has options of its own.
COMMANDS = {
    "evolve": evolve, "tune": tune, "search": search, "many_rows": many_rows, "numbers": numbers,
    "classes": classes, "attack": attack, "before": before, "batches": batches,
}  # fmt: skip
LONG = {"certificates", "checks", "endurance", "fleet", "kills", "monitor", "monitor_late", "pages"}


def quote(page, name, texts, titles):
    """Put the tables with these titles into a page, between the marks of this part."""
    path = HERE.parent / page
    chosen = "\n".join(
        text for text in texts if text.startswith(tuple(f"### {t}\n" for t in titles))
    )
    start, end = f"<!-- {name}: written by make bench -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    path.write_text(pattern.sub(lambda _: f"{start}\n{chosen}{end}", path.read_text()))


def main(names):
    if names[:1] and names[0] in COMMANDS:
        COMMANDS[names[0]].main(names[1:])
        return
    console = Console(stderr=True)
    for name in names or ["figures", *(part for part in PARTS if part not in LONG)]:
        if name in PICTURES:
            with console.status(name) as status:
                for path in PICTURES[name].write(status.update):
                    console.print(f"wrote docs/figures/{path.name}")
            continue
        with console.status(name) as status:
            texts = []
            for text in PARTS[name].tables(status.update):
                print(text, flush=True)
                texts.append(text)
        page = f"# {PARTS[name].TITLE}\n\nMeasured on {machine.describe()}, with `make bench`.\n\n"
        (HERE / f"{name}.md").write_text(page + "\n".join(texts))
        for quoted, titles in getattr(PARTS[name], "IN_DOCS", {}).items():
            quote(quoted, name, texts, titles)
        console.print(f"wrote benchmarks/{name}.md")


if __name__ == "__main__":
    main(sys.argv[1:])
