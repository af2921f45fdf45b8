"""A client that openapi-python-client makes of the OpenAPI document is typed, and works."""

import importlib
import json
import subprocess
import sys

import pytest

from calibrant.service.tokens import new_token

pytestmark = pytest.mark.slow

#: The generator knows no Parquet: it is bytes.
CONFIG = {
    "content_type_overrides": {"application/vnd.apache.parquet": "application/octet-stream"},
    "post_hooks": [],
    "literal_enums": True,
}


def generate(running, folder):
    """Return the package of a client, made with no warning."""
    (folder / "openapi.json").write_text(running.http.get("/openapi.json").text)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    made = subprocess.run(
        [
            sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none",
            "--path", "openapi.json", "--config", "config.json", "--output-path", "generated",
            "--fail-on-warning",
        ],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr


def test_a_generated_client_is_typed_and_works(running, tmp_path, monkeypatch, request):
    generate(running, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def of(operation, /, **arguments):
        module = importlib.import_module(f"generated.api.default.{operation}")
        return module.sync(client=client, **arguments)

    models = importlib.import_module("generated.models")
    token = new_token(running.service.store, "admin", now=0.0)
    running.service.tokens._read_at = -10.0
    generated = importlib.import_module("generated")
    client = generated.AuthenticatedClient(running.url, token=token).__enter__()
    request.addfinalizer(lambda: client.__exit__(None, None, None))

    settings = models.SilentScoreStream(silence=0, after="30d")
    made = of("put_stream", name="fraud", body=settings)
    assert isinstance(made, models.Created)
    rows = [models.ScoreRow(id=f"order {n}", score=0.1 * n) for n in range(5)]
    answers = of("post_predictions", name="fraud", body=rows)
    assert all(isinstance(each, models.PredictionAnswer) for each in answers)
    assert [each.answer for each in answers] == ["applied"] * 5
    outcome = of("post_outcomes", name="fraud", body=models.OutcomeRow(id="order 3", outcome=1))
    assert (type(outcome), outcome.answer) == (models.OutcomeAnswer, "applied")
    stored = of("get_prediction", name="fraud", id="order 3")
    assert isinstance(stored, models.StoredPrediction)
    assert stored.prediction.probability == answers[3].probability
    assert isinstance(of("get_stream", name="fraud"), models.Detail)
    assert of("get_scorecard", name="fraud").rounds == 0
    changed = of("patch_stream", name="fraud", body=models.StreamChanges(retention="365d"))
    assert changed.settings["retention"] == "365d"
    assert of("delete_predictions", name="fraud", id=["order 1", "nobody"]).unknown == ["nobody"]
    refused = of("post_predictions", name="fraud", body=models.ScoreRow(id="a", score=2.0))
    assert isinstance(refused, models.ProblemDocument)
    assert (refused.field, refused.status) == ("score", 422)
    assert of("delete_stream", name="fraud").name == "fraud"
    assert isinstance(of("get_stream", name="fraud"), models.ProblemDocument)
