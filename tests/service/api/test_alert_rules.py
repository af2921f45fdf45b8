"""The alert rules for Prometheus: they can be read, name metrics that exist, and fire when due."""

import importlib.resources
import os
import re
import shutil
import subprocess

import pytest

#: Set where promtool must be there, so that the rules are not left untested unnoticed.
REQUIRED = "CALIBRANT_REQUIRE_PROMTOOL"
RULES = importlib.resources.files("calibrant.service") / "rules.yml"
#: A stream whose last outcome arrived at 1,000 s, one without any, and one that is new at 20 h.
CASES = """
rule_files: [rules.yml]
evaluation_interval: 10m
tests:
  - interval: 10m
    input_series:
      - {series: 'calibrant_miscalibrated{stream="a",of="calibrated"}', values: '0x5 1x200'}
      - {series: 'calibrant_miscalibrated{stream="a",of="raw"}', values: '1x200'}
      - {series: 'calibrant_last_outcome_at{stream="a"}', values: '1000x200'}
      - {series: 'calibrant_last_prediction_at{stream="a"}', values: '0+600x200'}
      - {series: 'calibrant_last_prediction_at{stream="never"}', values: '0+600x200'}
      - {series: 'calibrant_waiting{stream="a"}', values: '0+1x200'}
      - {series: 'calibrant_waiting{stream="never"}', values: '1x200'}
      - {series: 'calibrant_last_prediction_at{stream="new"}', values: '_x120 72000+600x80'}
      - {series: 'calibrant_waiting{stream="new"}', values: '_x120 1x80'}
      - {series: 'calibrant_capacity{stream="a"}', values: '100x200'}
      - {series: 'calibrant_store_failing', values: '0x20 1x200'}
      - {series: 'calibrant_webhooks_failing', values: '0x20 1x3 0x20 1x200'}
    promql_expr_test:
      - {expr: 'count(ALERTS{alertname="CalibrantMiscalibrated"}) or vector(0)', eval_time: 50m,
         exp_samples: [{labels: '{}', value: 0}]}
      - {expr: 'count(ALERTS{alertname="CalibrantMiscalibrated",alertstate="firing"})',
         eval_time: 70m, exp_samples: [{labels: '{}', value: 1}]}
      - {expr: 'count(ALERTS{alertname="CalibrantOutcomesSilent"}) or vector(0)', eval_time: 23h,
         exp_samples: [{labels: '{}', value: 0}]}
      - {expr: 'count(ALERTS{alertname="CalibrantOutcomesSilent",alertstate="firing"})',
         eval_time: 25h, exp_samples: [{labels: '{}', value: 2}]}
      - {expr: 'count(ALERTS{alertname="CalibrantPendingNearBound"}) or vector(0)', eval_time: 800m,
         exp_samples: [{labels: '{}', value: 0}]}
      - {expr: 'count(ALERTS{alertname="CalibrantPendingNearBound",alertstate="firing"})',
         eval_time: 840m, exp_samples: [{labels: '{}', value: 1}]}
      - {expr: 'count(ALERTS{alertname="CalibrantStoreFailing",alertstate="firing"})',
         eval_time: 5h, exp_samples: [{labels: '{}', value: 1}]}
      - {expr: 'count(ALERTS{alertname="CalibrantWebhookFailing",alertstate="firing"}) or
           vector(0)', eval_time: 400m, exp_samples: [{labels: '{}', value: 0}]}
      - {expr: 'count(ALERTS{alertname="CalibrantWebhookFailing",alertstate="firing"})',
         eval_time: 12h, exp_samples: [{labels: '{}', value: 1}]}
"""


def test_every_metric_that_a_rule_names_is_there(running):
    running.stream("s")
    running.predict({"id": "a", "score": 0.5})
    running.learn({"id": "a", "outcome": 1})
    shown = re.findall(r"^(calibrant_\w+)", running.http.get("/metrics").text, re.M)
    named = set(re.findall(r"calibrant_\w+", RULES.read_text()))
    assert len(named) >= 8
    assert named <= set(shown)


def test_promtool_says_that_they_fire_when_due(tmp_path):
    tool = shutil.which(os.environ.get("PROMTOOL", "promtool"))
    if tool is None:
        reason = "promtool, of Debian's package prometheus, is not there"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{reason}, and {REQUIRED} is set")
        pytest.skip(reason)
    (tmp_path / "rules.yml").write_text(RULES.read_text())
    (tmp_path / "cases.yml").write_text(CASES)
    for command in (["check", "rules", "rules.yml"], ["test", "rules", "cases.yml"]):
        done = subprocess.run(
            [tool, *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
