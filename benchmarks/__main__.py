"""Run the benchmarks and rewrite the tables: ``python -m benchmarks [PART ...]``.

Without a name, all parts but those that take an hour.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))  # the plain-Python Zoom is the tests' slow twin

from rich.console import Console  # noqa: E402

from benchmarks import (  # noqa: E402
    certificates,
    choices,
    delay,
    error,
    groups,
    machine,
    multiclass,
    paper,
    recalibrate,
    scored,
    speed,
)

PARTS = {
    "speed": speed,
    "error": error,
    "choices": choices,
    "paper": paper,
    "recalibrate": recalibrate,
    "groups": groups,
    "multiclass": multiclass,
    "scored": scored,
    "delay": delay,
    "certificates": certificates,
}
LONG = {"certificates"}


def quote(name, texts, titles):
    """Put the tables with these titles into the README, between the marks of this part."""
    readme = HERE.parent / "README.md"
    chosen = "\n".join(
        text for text in texts if text.startswith(tuple(f"### {t}\n" for t in titles))
    )
    start, end = f"<!-- {name}: written by make bench -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    readme.write_text(pattern.sub(lambda _: f"{start}\n{chosen}{end}", readme.read_text()))


def main(names):
    console = Console(stderr=True)
    for name in names or [part for part in PARTS if part not in LONG]:
        with console.status(name) as status:
            texts = []
            for text in PARTS[name].tables(status.update):
                print(text, flush=True)
                texts.append(text)
        page = f"# {PARTS[name].TITLE}\n\nMeasured on {machine.describe()}, with `make bench`.\n\n"
        (HERE / f"{name}.md").write_text(page + "\n".join(texts))
        quote(name, texts, PARTS[name].IN_README)
        console.print(f"wrote benchmarks/{name}.md")


if __name__ == "__main__":
    main(sys.argv[1:])
