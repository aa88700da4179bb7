"""Scenes that several tests begin with: a blocked run, work under way, a run that gave up."""

from assay.core.claim import is_run_claimable
from assay.model.commands import Command, FailWorkflow
from assay.model.operations import CompleteActivity, FailActivity, Retried, Retry
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.time import MICROS
from tests.unit.core.desk import Desk, activity

ONCE = RetryPolicy(max_attempts=1)
RETRY = Retry("wf", "ann", "healed")


def ready(desk: Desk) -> Run:
    """The run, seen when it can be claimed again."""
    desk.now = max(desk.now, desk.at().ready_at or 0)
    assert is_run_claimable(desk.at(), desk.now)
    return desk.at()


def expire_times(desk: Desk, times: int, worker: str = "w1") -> list[float]:
    """Claims that are never answered, and how long the run is kept back after each, in seconds."""
    delays = []
    for _ in range(times):
        ready(desk)
        desk.claim(worker=worker)
        desk.expire()
        delays.append(((desk.at().ready_at or 0) - desk.now) / MICROS)
    return delays


def running(policy: RetryPolicy | None = None) -> Desk:
    """A run with one activity, claimed by w1."""
    desk = Desk()
    desk.start()
    desk.step(activity(1, policy=policy))
    desk.work()
    return desk


def report(desk: Desk, how: str) -> None:
    no = desk.activity().no
    desk.do(CompleteActivity(no, "[7]") if how == "complete" else FailActivity(no, "broke"))


def begun(*commands: Command) -> Desk:
    desk = Desk()
    desk.start()
    desk.step(*commands)
    return desk


def fail(desk: Desk, seq: int = 1) -> None:
    """The activity fails for good."""
    desk.work(seq)
    desk.do(FailActivity(desk.activity(seq).no, "broke"))


def complete(desk: Desk, seq: int = 1, result: str = "[7]") -> None:
    desk.work(seq)
    desk.do(CompleteActivity(desk.activity(seq).no, result))


def give_up(desk: Desk) -> None:
    """The handler does not catch the failure."""
    desk.step(FailWorkflow("broke"))
    desk.later(100)


def retry(desk: Desk) -> Retried:
    outcome = desk.do(RETRY)
    assert isinstance(outcome, Retried)
    return outcome


def once(seq: int = 1) -> Command:
    return activity(seq, policy=ONCE)
