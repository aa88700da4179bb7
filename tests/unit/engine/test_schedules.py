"""Schedules in a running engine: at their moment, and never again and again at the same."""

import pytest

from assay.core.view import Key, Need
from assay.engine.limits import HORIZON
from assay.errors import BadValue
from assay.model.commands import CompleteWorkflow, ContinueAsNew, RecordStep, StartChild
from assay.model.operations import (
    CreateNamespace,
    CreateSchedule,
    DeleteNamespace,
    DueKind,
    PauseSchedule,
    SubmitCommands,
    Terminate,
)
from assay.model.schedule import OverlapPolicy, Schedule
from assay.model.task import TaskKind
from assay.model.time import MICROS
from assay.store.port import Deadline, Look
from tests.unit.engine.bench import Bench

SECOND = MICROS
RUNS_OF_Q = Look(TaskKind.WORKFLOW, None, "q")


def scheduled(
    overlap: OverlapPolicy = OverlapPolicy.SKIP,
    cron: str = "* * * * * *",
    *,
    exclusive: bool = True,
) -> Bench:
    bench = Bench(exclusive=exclusive)
    bench.do(CreateNamespace("shop"))
    bench.do(CreateSchedule("shop", "tick", "report", cron, "UTC", None, "q", overlap))
    return bench


def planned(bench: Bench) -> Schedule:
    [row] = bench.store.load_now([Key(Need.SCHEDULE_NAMED, "tick", scope="shop")]).schedules
    return row


def sweep(bench: Bench) -> None:
    bench.engine.recover(bench.store.deadlines_now(bench.now + HORIZON))
    bench.run()


def wake_at(bench: Bench) -> int | None:
    return bench.engine.next_wake()


def test_it_wakes_the_engine_at_its_moment_and_then_for_the_next() -> None:
    bench = scheduled(OverlapPolicy.ALLOW_ALL)
    for n in range(1, 4):
        assert wake_at(bench) == bench.now - bench.now % SECOND + SECOND
        bench.now = wake_at(bench) or 0
        assert bench.run() == 1
        assert planned(bench).last_run_at == bench.now
        assert bench.stored(f"tick-{bench.now // SECOND}").type == "report", n


def test_a_namespace_that_is_gone_leaves_nothing_to_do_and_one_that_returns_is_found() -> None:
    bench = scheduled()
    bench.do(DeleteNamespace("shop"))
    bench.later(2)
    bench.run(most=3)
    assert wake_at(bench) is None
    sweep(bench)
    assert wake_at(bench) is None
    assert planned(bench).last_run_at is None
    bench.do(CreateNamespace("shop"))
    sweep(bench)
    assert planned(bench).last_run_at is not None
    assert wake_at(bench) == bench.now - bench.now % SECOND + SECOND


def test_a_schedule_whose_zone_is_no_longer_known_does_not_keep_the_engine_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = scheduled()

    def gone(name: str) -> None:
        raise BadValue(f"there is no time zone {name}")

    monkeypatch.setattr("assay.core.schedules.zone", gone)
    bench.later(2)
    bench.run(most=3)
    assert wake_at(bench) is None
    monkeypatch.undo()
    sweep(bench)
    assert planned(bench).last_run_at is not None


def test_a_paused_schedule_wakes_nobody() -> None:
    bench = scheduled()
    bench.do(PauseSchedule("shop", "tick"))
    assert wake_at(bench) is None
    bench.later(5)
    sweep(bench)
    assert planned(bench).last_run_at is None


def queued() -> Bench:
    """Its run goes on, and one start is remembered; the next instant is some seconds away."""
    bench = scheduled(OverlapPolicy.QUEUE, cron="*/2 * * * * *")
    for _ in range(2):
        bench.now = wake_at(bench) or 0
        bench.run()
    assert planned(bench).queued_start is not None
    return bench


def test_a_queued_start_nobody_remembers_is_found_by_the_sweep_although_an_instant_is_near() -> (
    None
):
    bench = queued()
    sweep(bench)
    assert planned(bench).queued_start is not None
    bench.engine.index.starts.clear()
    bench.do(Terminate(planned(bench).last_workflow_id or ""))
    bench.later(0.5)
    sweep(bench)
    assert planned(bench).queued_start is None
    assert bench.stored(planned(bench).last_workflow_id or "").is_open


def test_a_queued_start_is_made_with_the_end_it_waits_for_and_needs_no_sweep() -> None:
    bench = queued()
    bench.do(Terminate(planned(bench).last_workflow_id or ""))
    assert planned(bench).queued_start is None
    assert bench.stored(planned(bench).last_workflow_id or "").is_open
    assert not bench.engine.index.starts
    assert wake_at(bench) == planned(bench).next_run_at


def test_a_queued_start_follows_its_run_through_successors_without_a_sweep() -> None:
    bench = queued()
    for _ in range(3):
        run = bench.poll(RUNS_OF_Q).run
        assert planned(bench).queued_start is not None
        bench.do(SubmitCommands(run.id, "w1", (ContinueAsNew(None, ()),)))
    run = bench.poll(RUNS_OF_Q).run
    bench.do(SubmitCommands(run.id, "w1", (CompleteWorkflow(None),)))
    assert planned(bench).queued_start is None


def test_a_queued_start_is_known_after_a_restart() -> None:
    bench = queued()
    bench.engine.forget_all()
    assert not bench.engine.index.starts
    bench.engine.recover([], bench.store.waiting_starts_now())
    bench.do(Terminate(planned(bench).last_workflow_id or ""))
    assert planned(bench).queued_start is None


@pytest.mark.parametrize("busy", [False, True], ids=["idle", "while it is put off"])
def test_a_queued_start_is_made_when_another_instance_tells_of_the_end(busy: bool) -> None:
    here = scheduled(OverlapPolicy.QUEUE, cron="*/2 * * * * *", exclusive=False)
    there = Bench(here.store, exclusive=False)
    here.now = wake_at(here) or 0
    here.run()
    here.now = there.now = wake_at(here) or 0
    step = here.to_commit() if busy else None
    here.run()
    run = planned(here).last_workflow_id or ""
    if step is not None:
        # It is in, and the end that it waits for too, before this instance hears so itself.
        outcome = here.store.commit_now(step.batch)
        there.do(Terminate(run))
        assert here.engine.ended_elsewhere(there.engine.committed_ends)
        here.drive(here.engine.committed(outcome))
    else:
        there.do(Terminate(run))
        assert here.engine.ended_elsewhere(there.engine.committed_ends)
    assert planned(here).queued_start is not None
    here.run()
    assert planned(here).queued_start is None


def test_ends_that_nobody_waits_for_are_forgotten_at_once() -> None:
    bench = scheduled(OverlapPolicy.QUEUE)
    bench.start("wf")
    bench.do(Terminate("wf"))
    assert not bench.engine.ended_elsewhere([1, 2, 3])
    assert bench.engine.begin(bench.now) is None


def test_a_queued_start_in_a_namespace_that_is_gone_keeps_nobody_busy() -> None:
    bench = queued()
    bench.do(DeleteNamespace("shop"))
    bench.do(Terminate(planned(bench).last_workflow_id or ""))
    assert planned(bench).queued_start is not None
    assert bench.run(most=3) == 0
    bench.do(CreateNamespace("shop"))
    sweep(bench)
    assert planned(bench).queued_start is None


@pytest.mark.parametrize("order", [1, -1])
def test_of_several_moments_of_one_row_the_earliest_counts(order: int) -> None:
    bench = Bench()
    found = [Deadline(at, DueKind.SCHEDULE, 7) for at in (100, 200)]
    bench.engine.recover(found[::order])
    assert wake_at(bench) == 100


def test_a_queued_start_follows_its_run_through_successors() -> None:
    bench = queued()
    for _ in range(2):
        run = bench.poll(RUNS_OF_Q).run
        bench.do(SubmitCommands(run.id, "w1", (ContinueAsNew(None, ()),)))
        bench.later(0.1)
        sweep(bench)
        assert planned(bench).queued_start is not None
    run = bench.poll(RUNS_OF_Q).run
    bench.do(SubmitCommands(run.id, "w1", (CompleteWorkflow(None),)))
    sweep(bench)
    assert planned(bench).queued_start is None


# Batches that read much: however much it is, it comes in a few loads


def test_hundreds_of_failed_attempts_in_one_batch_are_looked_up_at_once() -> None:
    bench = Bench()
    first, second = (
        tuple(RecordStep(seq, "s", attempt, None, "broke", False, 60.0) for seq in range(1, 301))
        for attempt in (1, 2)
    )
    bench.step("wf", *first)
    bench.later(61)
    bench.engine.recover(bench.store.deadlines_now(bench.now))
    bench.run()
    assert bench.poll().run.id == "wf"
    bench.loads.clear()
    bench.do(SubmitCommands("wf", "w1", second))
    assert len(bench.loads) < 5


def test_hundreds_of_children_asked_for_again_are_looked_up_at_once() -> None:
    bench = Bench()
    children = tuple(StartChild("step", f"c-{n}", "nobody", None) for n in range(300))
    bench.step("wf", *children)
    for n in range(300):
        bench.submit(Terminate(f"c-{n}"))
    bench.run()
    assert bench.poll().run.id == "wf"
    bench.loads.clear()
    bench.do(SubmitCommands("wf", "w1", children))
    assert len(bench.loads) < 5
