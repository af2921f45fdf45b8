"""Metrics for Prometheus: counts and states by stream, never by id or key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from calibrant.service.api.requests import asked, service_of
from calibrant.service.service import Service
from calibrant.service.stream import models

router = APIRouter()

#: Metrics of a stream's summary: field, name, whether it only grows, description.
BY_STREAM = {
    "predictions": (True, "Predictions made"),
    "outcomes": (True, "Outcomes received"),
    "settled": (True, "Predictions whose outcome is final"),
    "expired": (True, "Predictions that expired because too many were pending"),
    "waiting": (False, "Predictions pending an outcome or a deadline"),
    "capacity": (False, "Predictions that may be pending"),
    "keys": (False, "Keys of a keyed stream"),
    "last_prediction_at": (False, "Time of the last prediction, in seconds since 1970"),
    "last_outcome_at": (False, "Time of the last outcome, in seconds since 1970"),
}


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def get_metrics(request: Request) -> Response:
    """Metrics in the text format of Prometheus."""
    service = service_of(request)
    registry = CollectorRegistry()
    registry.register(Collected(service, await asked(service, service.summaries)))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class Collected:
    """What was found at one moment."""

    def __init__(self, service: Service, streams: list[models.Summary]) -> None:
        self.service, self.streams = service, [dict[str, Any](each) for each in streams]

    def collect(self) -> Iterable[Any]:
        """Return the metrics."""
        for name, (grows, text) in BY_STREAM.items():
            family = CounterMetricFamily if grows else GaugeMetricFamily
            metric = family(f"calibrant_{name}", text, labels=["stream"])
            for stream in self.streams:
                if stream[name] is not None:
                    metric.add_metric([stream["name"]], stream[name])
            yield metric
        yield self._by_side("calibrant_evidence", "Evidence against calibration; 1 is an alarm",
                            "evidence")  # fmt: skip
        yield self._by_side("calibrant_error", "Binned calibration error of all rows", "error")
        yield self._by_side("calibrant_miscalibrated_keys",
                            "Miscalibrated keys, where keys are monitored",
                            "miscalibrated_keys")  # fmt: skip
        state = GaugeMetricFamily(
            "calibrant_miscalibrated",
            "Whether an episode lasts or a key is miscalibrated",
            labels=["stream", "of"],
        )
        for stream in self.streams:
            for of, found in (("calibrated", "state"), ("raw", "raw")):
                verdict = stream["verdict"][found]
                if verdict is not None:
                    state.add_metric([stream["name"], of], float(verdict == "miscalibrated"))
        yield state
        owner = self.service.owner
        yield GaugeMetricFamily(
            "calibrant_store_failing", "Whether the last group could not be stored",
            value=float(owner.trouble is not None),
        )  # fmt: skip
        yield CounterMetricFamily("calibrant_groups", "Groups committed", value=owner.groups)
        yield GaugeMetricFamily(
            "calibrant_clock_ahead_seconds",
            "Seconds by which the system clock is ahead of the steady clock of the service",
            value=self.service.clock.jump(),
        )
        receivers = self.service.courier.receivers
        yield CounterMetricFamily(
            "calibrant_webhook_messages", "Messages that webhooks have received",
            value=sum(each.delivered for each in receivers),
        )  # fmt: skip
        yield GaugeMetricFamily(
            "calibrant_webhooks_failing", "Webhooks whose last message was not received",
            value=sum(each.trouble is not None for each in receivers),
        )  # fmt: skip
        yield GaugeMetricFamily(
            "calibrant_listeners",
            "Clients that follow the events",
            value=len(self.service.listeners),
        )

    def _by_side(self, name: str, text: str, field: str) -> GaugeMetricFamily:
        metric = GaugeMetricFamily(name, text, labels=["stream", "of"])
        for stream in self.streams:
            for of, value in (stream[field] or {}).items():
                if value is not None:
                    metric.add_metric([stream["name"], of], value)
        return metric
