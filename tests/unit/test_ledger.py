"""The audit after a kill finds what it is there to find."""

from __future__ import annotations

import pytest

from tests.support.http import Json
from tests.support.ledger import Ledger
from tests.support.runs import Event

RUN = "run"


def ledger() -> Ledger:
    """Signals 1 and 2 acknowledged, 3 tried; activity 1 scheduled and completed."""
    book = Ledger("queue")
    book.started.add(RUN)
    book.signals_tried[RUN] = {1, 2, 3}
    book.signals_told[RUN] = {1, 2}
    book.scheduled[RUN] = book.completed[RUN] = {1}
    return book


def history(*happened: tuple[str, Json]) -> list[Event]:
    whole = [("WorkflowStarted", None), *happened]
    return [Event(seq, kind, payload, 0.0) for seq, (kind, payload) in enumerate(whole, 1)]


def signal(n: int) -> tuple[str, Json]:
    return "SignalReceived", {"signal": "go", "payload": n}


SCHEDULED = ("ActivityScheduled", {"activity_seq": 1})
COMPLETED = ("ActivityCompleted", {"activity_seq": 1})


def test_all_that_was_acknowledged_is_enough() -> None:
    ledger()._check(RUN, history(signal(2), SCHEDULED, signal(1), COMPLETED))


def test_what_was_tried_may_have_happened() -> None:
    ledger()._check(RUN, history(signal(1), signal(2), signal(3), SCHEDULED, COMPLETED))


@pytest.mark.parametrize(
    "happened",
    [
        (signal(1), SCHEDULED, COMPLETED),
        (signal(1), signal(2), SCHEDULED),
        (signal(1), signal(2), COMPLETED),
        (signal(1), signal(2), signal(2), SCHEDULED, COMPLETED),
        (signal(1), signal(2), signal(4), SCHEDULED, COMPLETED),
        (signal(1), signal(2), SCHEDULED, COMPLETED, COMPLETED),
        (signal(1), signal(2), SCHEDULED, SCHEDULED, COMPLETED),
        (signal(1), signal(2), SCHEDULED, COMPLETED, ("WorkflowStarted", None)),
    ],
    ids=["signal", "completion", "scheduling", "double", "invented", "twice", "again", "start"],
)
def test_what_is_lost_doubled_or_invented_is_found(happened: tuple[tuple[str, Json], ...]) -> None:
    with pytest.raises(AssertionError):
        ledger()._check(RUN, history(*happened))
