"""Which events of a history still count: an operator's retry voids some (contract §8.11)."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from assay.core.retry_run import ABOUT_ACTIVITIES, AFTER_FAILURE
from assay.model.events import TERMINAL_EVENTS, EventType
from assay.sdk.records import EventRecord


class _Said(Struct):
    activity_seq: int = 0
    timer_seq: int | None = None
    failed_event_seq: int = 0


_PLAIN = (EventType.WORKFLOW_STARTED, EventType.WORKFLOW_COMPLETED)  # their payload is the user's
_decode = msgspec.json.Decoder(_Said).decode


def standing(events: Sequence[EventRecord]) -> list[EventRecord]:
    """The events that a worker would be given."""
    found: list[EventRecord] = []
    for event in events:
        if event["event_type"] == EventType.ACTIVITY_RETRY_REQUESTED:
            found = _without_voided(found, _said(event))
        found.append(event)
    return found


def _without_voided(events: Sequence[EventRecord], retry: _Said) -> list[EventRecord]:
    failed_seq = retry.failed_event_seq
    timers_gone = {
        _said(event).timer_seq
        for event in events
        if event["event_type"] == EventType.TIMER_SCHEDULED and event["seq"] > failed_seq
    }

    def is_void(event: EventRecord) -> bool:
        kind = event["event_type"]
        if kind in TERMINAL_EVENTS:
            return True
        if kind in ABOUT_ACTIVITIES:
            return _said(event).activity_seq >= retry.activity_seq
        if kind in AFTER_FAILURE:
            return event["seq"] > failed_seq
        if kind in (EventType.TIMER_SCHEDULED, EventType.TIMER_FIRED):
            return _said(event).timer_seq in timers_gone
        return False

    return [event for event in events if not is_void(event)]


def _said(event: EventRecord) -> _Said:
    if event["event_type"] in _PLAIN or event["payload"] is None:
        return _Said()
    return _decode(event["payload"])
