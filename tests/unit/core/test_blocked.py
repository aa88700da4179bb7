"""Runs whose workflow tasks get nowhere: three expiries in a row, or a refused batch."""

import pytest

from assay.core.claim import is_run_claimable
from assay.errors import Conflict, NonDeterminism
from assay.model.commands import CompleteWorkflow
from assay.model.operations import (
    Cancel,
    RejectCommands,
    Signal,
)
from assay.model.states import RunStatus
from assay.model.time import MICROS
from tests.unit.core.desk import Desk, activity
from tests.unit.core.scenes import (
    expire_times,
    ready,
)

# Blocked: three expiries in a row, or a refused batch.


def test_three_expiries_block_and_the_back_off_grows_to_ten_minutes() -> None:
    desk = Desk()
    desk.start()
    assert expire_times(desk, 2) == [0, 0]
    assert desk.at().blocked is None
    assert expire_times(desk, 1) == [1]
    assert "claimed 3 times in a row" in (desk.at().blocked or "")
    assert expire_times(desk, 11) == [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]
    assert "claimed 14 times in a row" in (desk.at().blocked or "")


def test_an_accepted_batch_starts_the_count_anew() -> None:
    desk = Desk()
    desk.start()
    expire_times(desk, 5)
    ready(desk)
    desk.step()
    assert (desk.at().blocked, desk.at().attempt) == (None, 0)
    desk.do(Signal("wf", "go"))
    assert expire_times(desk, 2) == [0, 0]
    assert desk.at().blocked is None


def test_a_batch_that_cannot_be_read_shows_and_backs_off_up_to_a_minute() -> None:
    desk = Desk()
    desk.start()
    delays = []
    for _ in range(9):
        ready(desk)
        claim = desk.claim()
        desk.do(RejectCommands("wf", "w1", "commands[0]: seq is missing"))
        assert desk.at().claim_token == claim.token
        assert desk.at().ready_at is None
        desk.expire()
        delays.append(((desk.at().ready_at or 0) - desk.now) / MICROS)
    assert delays == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert desk.at().blocked == "commands[0]: seq is missing"


def test_a_batch_that_cannot_be_read_counts_under_the_claim_only() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    for reject in (
        RejectCommands("wf", "w2", "?"),
        RejectCommands("wf", "w1", "?", lease="c1"),
    ):
        with pytest.raises(Conflict):
            desk.do(reject)
    assert desk.at().blocked is None


def test_the_same_rejection_again_writes_nothing() -> None:
    desk = Desk()
    desk.start()
    desk.claim()
    desk.do(RejectCommands("wf", "w1", "?"))
    desk.do(RejectCommands("wf", "w1", "?"))
    assert desk.decision.is_empty


def blocked_desk() -> Desk:
    """A run that expired claims keep back for 16 seconds."""
    desk = Desk()
    desk.start()
    expire_times(desk, 7)
    assert desk.at().ready_at == desk.now + 16 * MICROS
    return desk


def test_news_does_not_shorten_the_back_off_a_cancel_request_does() -> None:
    desk = blocked_desk()
    until = desk.at().ready_at
    desk.later(1)
    desk.do(Signal("wf", "go"))
    assert desk.at().ready_at == until
    desk.do(Cancel("wf"))
    assert desk.at().ready_at == desk.now
    assert desk.at().blocked is not None


def test_the_last_holders_late_batch_ends_the_back_off_too() -> None:
    desk = blocked_desk()
    desk.later(1)
    desk.submit(activity())
    assert desk.at().blocked is None
    desk.later(1)
    desk.do(Signal("wf", "go"))
    assert is_run_claimable(desk.at(), desk.now)


def test_a_late_last_batch_may_end_a_blocked_run() -> None:
    desk = blocked_desk()
    desk.submit(CompleteWorkflow(None))
    assert (desk.at().status, desk.at().blocked) == (RunStatus.COMPLETED, None)


def refuse(desk: Desk) -> None:
    """Another name under a seq that history holds."""
    with pytest.raises(NonDeterminism):
        desk.submit(activity(name="other"))


def test_a_repeated_request_under_the_claim_is_held_up_by_no_back_off_either() -> None:
    desk = Desk()
    desk.start()
    desk.step(activity())
    desk.do(Cancel("wf"))
    for _ in range(3):
        ready(desk)
        desk.claim()
        refuse(desk)
    assert (desk.at().ready_at or 0) == desk.now + 4 * MICROS
    ready(desk)
    desk.claim()
    desk.do(Cancel("wf"))
    refuse(desk)
    assert is_run_claimable(desk.at(), desk.now)


@pytest.mark.parametrize("closes", [True, False])
def test_a_cancel_request_under_the_claim_is_held_up_by_no_back_off(closes: bool) -> None:
    desk = Desk()
    desk.start()
    for _ in range(3):
        desk.now = max(desk.now, desk.at().ready_at or 0)
        desk.claim()
        desk.do(RejectCommands("wf", "w1", "unreadable"))
        desk.expire()
    desk.claim()
    desk.do(RejectCommands("wf", "w1", "unreadable"))
    if closes:
        desk.do(Cancel("wf"))
        desk.expire()
    else:
        desk.expire()
        desk.do(Cancel("wf"))
    assert is_run_claimable(desk.at(), desk.now)
