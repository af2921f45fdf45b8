"""Run the benchmarks and rewrite the tables: ``python -m benchmarks [PART ...]``.

Without a name, all parts run except those that take an hour. ``figures`` draws the figures of the
README, ``screenshots`` takes pictures of the service's pages, ``tune`` measures the constants of
the tuned certificates again, ``search`` searches for stronger opponents, ``evolve`` evolves one,
``many_rows`` runs 10^8 rows through a fleet, ``numbers`` runs folders of streams of numbers,
``batches`` runs labels that arrive together, ``attack`` simulates a hostile user, ``before``
compares speed and error with another version, ``after_attack`` measures what an attack costs the
honest streams that follow it; each of the last nine shows its options with ``--help``.
"""

import re
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the plain-Python Zoom is the tests' slow reference

from rich.console import Console  # noqa: E402

from benchmarks import machine  # noqa: E402

PARTS = (
    "speed", "error", "events", "march", "attack_safe", "hostile-streams", "hostile-paper", "rates",
    "choices", "paper", "recalibrate", "ids", "groups", "fleet", "miscalibrated_keys", "compare",
    "sweep", "scored", "delay", "silence", "rare", "forged", "service", "hostile", "decisions",
    "truthful", "decide", "why_not", "certificates", "checks", "answers", "monitor", "monitor_late",
    "kills", "endurance", "pages",
)  # fmt: skip
PICTURES = ("figures", "screenshots")
#: What has options of its own.
COMMANDS = (
    "evolve", "tune", "search", "many_rows", "numbers", "classes", "attack", "before", "batches",
    "after_attack",
)  # fmt: skip
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


def module_of(name):
    """Return the module that measures a part."""
    of = {"hostile": "hostile_requests"}.get(name, name.replace("-", "_"))
    return import_module(f"benchmarks.{of}")


def main(names):
    if names[:1] and names[0] in COMMANDS:
        module_of(names[0]).main(names[1:])
        return
    console = Console(stderr=True)
    for name in names or ["figures", *(part for part in PARTS if part not in LONG)]:
        if name in PICTURES:
            with console.status(name) as status:
                for path in module_of(name).write(status.update):
                    console.print(f"wrote docs/figures/{path.name}")
            continue
        part = module_of(name)
        with console.status(name) as status:
            texts = []
            for text in part.tables(status.update):
                print(text, flush=True)
                texts.append(text)
        page = f"# {part.TITLE}\n\nMeasured on {machine.describe()}, with `make bench`.\n\n"
        (HERE / f"{name}.md").write_text(page + "\n".join(texts))
        for quoted, titles in getattr(part, "IN_DOCS", {}).items():
            quote(quoted, name, texts, titles)
        console.print(f"wrote benchmarks/{name}.md")


if __name__ == "__main__":
    main(sys.argv[1:])
