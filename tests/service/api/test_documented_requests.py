"""The requests of docs/service.md work, and answer in the shape that is shown there."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "service.md"
ADDRESS = "http://127.0.0.1:8042"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not there")
def test_requests_of_the_page(running):
    blocks = re.findall(r"^```(sh|json)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    requests = [at for at, (_, text) in enumerate(blocks) if text.startswith("curl")]
    assert len(requests) == 4
    for at in requests:
        command = blocks[at][1].replace("curl", "curl -sS --fail-with-body", 1)
        done = subprocess.run(
            command.replace(ADDRESS, running.url), shell=True, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        answer = json.loads(done.stdout)
        language, shown = blocks[at + 1]
        if language == "json":
            told = json.loads(shown)
            assert [row.keys() for row in answer] == [row.keys() for row in told]
            assert [row["answer"] for row in answer] == [row["answer"] for row in told]
