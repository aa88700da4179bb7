"""A worker that registers may bring the code that blocked runs of its queue wait for."""

import pytest
from msgspec.structs import replace

from assay.core.claim import is_run_claimable
from assay.errors import NonDeterminism, NotFound
from assay.model.operations import CreateNamespace, RegisterWorker, RejectCommands, Signal, Start
from assay.model.time import MICROS
from assay.model.worker import Worker
from tests.unit.core.desk import NOW, Desk, activity
from tests.unit.core.scenes import expire_times, ready


def worker(queue: str = "default", namespace: str = "main") -> RegisterWorker:
    return RegisterWorker(Worker("w-9", namespace, "me", queue, None, None, 1, 1, NOW, NOW))


def mismatched(times: int = 6) -> Desk:
    """A run that asked for something else again and again, and is kept back for half a minute."""
    desk = Desk()
    desk.do(CreateNamespace("shop"))
    desk.start()
    desk.step(activity(1))
    desk.do(Signal("wf", "go"))
    for _ in range(times):
        ready(desk)
        desk.claim()
        with pytest.raises(NonDeterminism):
            desk.submit(activity(1, "ship"))
    assert desk.at().ready_at == desk.now + 32 * MICROS
    return desk


def test_it_sets_going_what_its_queue_holds_back() -> None:
    desk = mismatched()
    desk.later(1)
    desk.do(worker())
    assert is_run_claimable(desk.at(), desk.now)
    assert desk.at().blocked is not None
    desk.claim()
    with pytest.raises(NonDeterminism):
        desk.submit(activity(1, "ship"))
    assert desk.at().ready_at == desk.now + 60 * MICROS
    ready(desk)
    desk.step(activity(1))
    assert (desk.at().blocked, desk.at().attempt) == (None, 0)


@pytest.mark.parametrize("other", [worker("elsewhere"), worker(namespace="shop")])
def test_another_queue_or_namespace_changes_nothing(other: RegisterWorker) -> None:
    desk = mismatched()
    before = desk.at()
    desk.do(other)
    assert desk.at() is before
    assert len(desk.workers) == 1


def test_an_unknown_namespace_is_refused_and_sets_nothing_going() -> None:
    desk = mismatched()
    before = desk.at()
    with pytest.raises(NotFound, match="not found: namespace nowhere"):
        desk.do(worker(namespace="nowhere"))
    assert desk.at() is before
    assert not desk.workers


def test_what_cannot_be_read_is_set_going_too_once_its_lease_is_over() -> None:
    desk = Desk()
    desk.start()
    for _ in range(4):
        ready(desk)
        desk.claim()
        desk.do(RejectCommands("wf", "w1", "command 0: no"))
        before = desk.at()
        desk.do(worker())
        assert desk.at() is before
        desk.expire()
    assert desk.at().ready_at == desk.now + 8 * MICROS
    desk.do(worker())
    assert desk.at().ready_at == desk.now


def test_claims_that_expired_are_waited_out() -> None:
    desk = Desk()
    desk.start()
    assert expire_times(desk, 5)[-1] == 4
    before = desk.at()
    desk.do(worker())
    assert desk.at() is before


def test_a_run_that_is_offered_keeps_its_age() -> None:
    desk = mismatched()
    until = desk.at().ready_at
    desk.later(40)
    desk.do(worker())
    assert desk.at().ready_at == until


def test_a_delay_is_no_block() -> None:
    desk = Desk()
    desk.do(Start("order", "wf", delay_secs=60))
    before = desk.at()
    desk.do(worker())
    assert desk.at() is before


def test_a_kept_row_that_knows_of_no_block_is_guarded_because_it_must_be_old() -> None:
    desk = mismatched()
    old = replace(desk.at(), blocked=None)
    desk.runs[old.no] = old

    def known_elsewhere(queue: str) -> tuple[int, ...]:
        return (old.no,)

    desk.blocked_runs = known_elsewhere  # type: ignore[method-assign] # another engine knows
    desk.do(worker())
    [change] = desk.decision.runs
    assert change.before is old
