"""Tasks reach who waits: from the window, from the store, or in the very commit that makes them."""

import pytest

from assay.engine import batch as batches
from assay.engine import windows
from assay.engine.limits import SWEEP_EVERY
from assay.model.commands import ScheduleActivity
from assay.model.operations import FailActivity, Signal, Start, SubmitCommands
from assay.model.retry import RetryPolicy
from assay.model.task import TaskKind
from assay.model.time import MICROS
from assay.store.port import Look
from tests.unit.engine import bench as benches
from tests.unit.engine.bench import RUNS, WORK, Bench


def activity(seq: int = 1, policy: RetryPolicy | None = None) -> ScheduleActivity:
    return ScheduleActivity(seq, "pay", "default", None, policy or RetryPolicy())


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> int:
    """Windows of three tasks."""
    for module in (batches, windows, benches):
        monkeypatch.setattr(module, "WINDOW_TASKS", 3)
    return 3


def restarted(bench: Bench) -> Bench:
    """A new engine on the same store, which has nothing at hand."""
    again = Bench(bench.store)
    again.now = bench.now
    return again


def test_a_run_goes_to_who_waits_in_the_commit_that_makes_it() -> None:
    bench = Bench()
    waiting = bench.poll(held=True)
    assert waiting.waits
    commits = len(bench.commits)
    bench.start("wf")
    assert waiting.run.id == "wf"
    assert len(bench.commits) == commits + 1


def test_an_activity_goes_to_who_waits_in_the_commit_that_makes_it() -> None:
    bench = Bench()
    waiting = bench.poll(WORK, held=True)
    bench.start("wf")
    bench.poll()
    commits = len(bench.commits)
    bench.do(SubmitCommands("wf", "w1", (activity(),)))
    assert waiting.activity.name == "pay"
    assert len(bench.commits) == commits + 1


def test_who_asks_for_what_is_there_now_gets_nothing_if_nothing_is() -> None:
    bench = Bench()
    assert bench.poll().grant is None
    bench.start("wf")
    assert bench.poll(WORK).grant is None
    assert bench.poll().run.id == "wf"
    assert bench.poll().grant is None


def test_the_longest_ready_goes_first_and_the_first_to_wait_is_served_first() -> None:
    bench = Bench()
    bench.start("a", "b", "c")
    polls = [bench.want() for _ in range(4)]
    bench.run()
    assert [poll.run.id for poll in polls[:3]] == ["a", "b", "c"]
    assert polls[3].waits
    bench.start("d")
    assert polls[3].run.id == "d"


def test_a_run_held_by_somebody_is_handed_to_nobody_else() -> None:
    bench = Bench()
    bench.start("wf")
    bench.poll()
    bench.do(Signal("wf", "go"))
    assert bench.poll(worker="w2").grant is None
    waiting = bench.poll(worker="w2", held=True)
    bench.do(SubmitCommands("wf", "w1", ()))
    assert waiting.run.claimed_by == "w2"


def test_a_worker_bound_to_a_namespace_gets_tasks_of_it_only() -> None:
    bench = Bench()
    bench.start("wf")
    elsewhere = bench.poll(Look(TaskKind.WORKFLOW, "other", "default"))
    assert elsewhere.grant is None
    other_queue = bench.poll(Look(TaskKind.WORKFLOW, None, "other"))
    assert other_queue.grant is None
    assert bench.poll(Look(TaskKind.WORKFLOW, "main", "default")).run.id == "wf"
    assert bench.poll().grant is None


def test_who_waits_longest_gets_it_whichever_way_he_looks_at_the_queue() -> None:
    bound = Look(TaskKind.WORKFLOW, "main", "default")
    for looks in ((bound, RUNS), (RUNS, bound)):
        bench = Bench()
        first, second = (bench.poll(look, held=True) for look in looks)
        bench.start("wf")
        assert not first.waits
        assert second.waits


def test_a_delayed_attempt_is_handed_over_when_its_time_has_come() -> None:
    bench = Bench()
    bench.step("wf", activity())
    first = bench.poll(WORK)
    waiting = bench.poll(WORK, held=True)
    bench.do(FailActivity(first.activity.no, "broke"))
    assert waiting.waits
    assert bench.engine.next_wake() == bench.now + 1_000_000
    bench.later(1)
    bench.run()
    assert waiting.activity.attempt == 2


def test_a_new_engine_finds_what_is_ready_in_the_store() -> None:
    bench = Bench()
    bench.start("a", "b")
    again = restarted(bench)
    assert [again.poll().run.id for _ in range(2)] == ["a", "b"]
    assert again.poll().grant is None


@pytest.mark.parametrize(
    "tick",
    [
        0.001,
        0,
    ],
)
def test_a_queue_larger_than_its_window_is_served_to_its_end_in_order(
    small_windows: int, tick: float
) -> None:
    bench = Bench()
    ids = [f"wf-{n}" for n in range(4 * small_windows)]
    for id in ids:
        bench.start(id)
        bench.later(0.001)
    again = restarted(bench)
    for id in ids:
        assert again.poll().run.id == id
        again.later(tick)
    assert again.poll().grant is None


def test_the_store_is_not_asked_again_while_the_window_knows_all() -> None:
    bench = Bench()
    bench.start("wf")
    bench.poll()
    bench.poll()
    asked = len(bench.loads)
    for _ in range(5):
        bench.later(1)
        assert bench.poll().grant is None
    assert len(bench.loads) == asked


def test_waiting_for_many_delayed_tasks_is_no_work(small_windows: int) -> None:
    bench = Bench()
    slow = RetryPolicy(initial_interval_secs=60)
    bench.step("wf", *[activity(seq, slow) for seq in range(1, small_windows + 2)])
    for _ in range(small_windows + 1):
        bench.later(0.001)
        bench.do(FailActivity(bench.poll(WORK).activity.no, "broke"))
    again = restarted(bench)
    waiting = again.want(WORK)
    for _ in range(3):
        again.later(0.001)
        again.run()
    assert waiting.waits
    assert not again.engine.has_work
    assert len(again.loads) < 3


def test_one_poll_on_a_deep_queue_loads_no_more_than_it_can_take() -> None:
    bench = Bench()
    bench.start(*[f"wf-{n}" for n in range(100)])
    again = restarted(bench)
    assert again.poll().run.id == "wf-0"
    assert max(len(step.keys) for step in again.loads) < 10


def test_whoever_is_told_that_there_is_nothing_is_told_so_by_the_rows() -> None:
    one = Bench(exclusive=False)
    two = Bench(one.store, exclusive=False)
    assert two.poll().grant is None
    one.start("wf")
    assert two.poll().run.id == "wf"


def test_for_held_polls_a_shared_store_is_looked_at_again_after_a_while() -> None:
    one = Bench(exclusive=False)
    two = Bench(one.store, exclusive=False)
    assert two.poll().grant is None
    one.start("wf")
    waiting = two.poll(held=True)
    assert waiting.waits
    two.later(SWEEP_EVERY / MICROS)
    two.engine.hint(None)
    two.run()
    assert waiting.run.id == "wf"


def test_a_hint_of_another_engine_is_followed_at_once() -> None:
    one = Bench(exclusive=False)
    two = Bench(one.store, exclusive=False)
    waiting, elsewhere = two.poll(held=True), two.poll(WORK, held=True)
    one.start("wf")
    two.later(0.001)
    assert two.run() == 0
    two.engine.hint(one.engine.committed_looks)
    two.run()
    assert waiting.run.id == "wf"
    assert elsewhere.waits
    one.do(Start("order", "wf-2", queue="other"))
    two.engine.hint(None)
    two.run()
    assert elsewhere.waits


def test_who_comes_during_a_commit_is_answered_by_the_next_batch() -> None:
    bench = Bench()
    bench.start("a", "b")
    first = bench.want()
    step = bench.to_commit()
    second = bench.want(worker="w2", held=False)
    bench.drive(step)
    bench.run()
    assert first.run.id == "a"
    assert second.run.id == "b"
