"""What is ready, in which order, and what is due when."""

from __future__ import annotations

from typing import Any

from assay.model.operations import DueKind
from assay.model.schedule import OverlapPolicy
from assay.model.states import ActivityStatus, RunStatus, TimerState
from assay.model.task import TaskKind
from assay.store.port import Awaiting, Deadline, Look, Ready
from tests.stores.places import Instance, Place, run
from tests.stores.rows import (
    NOW,
    a_run,
    a_schedule,
    a_timer,
    a_worker,
    an_activity,
    changed,
    new,
    write,
)

WORKFLOW, ACTIVITY = TaskKind.WORKFLOW, TaskKind.ACTIVITY
RUNNING: dict[str, Any] = {"status": ActivityStatus.RUNNING, "claim_token": 1, "claimed_by": "w"}


async def ready(instance: Instance, *looks: Look, limit: int = 100) -> list[list[int]]:
    found = await instance.store.ready(looks, limit)
    return [[task.no for task in tasks] for tasks in found]


def test_the_longest_ready_come_first_up_to_the_limit(place: Place) -> None:
    async def work() -> None:
        ages = {2: 30, 3: 10, 4: 20, 5: 10}
        async with place.opened() as instance:
            await write(
                instance,
                runs=[new(a_run(no, ready_at=NOW + age)) for no, age in ages.items()],
                activities=[
                    new(an_activity(no, no, ready_at=NOW - age)) for no, age in ages.items()
                ],
            )
            looks = (Look(WORKFLOW, None, "default"), Look(ACTIVITY, None, "default"))
            assert await ready(instance, *looks) == [[3, 5, 4, 2], [2, 4, 3, 5]]
            assert await ready(instance, *looks, limit=2) == [[3, 5], [2, 4]]
            (tasks,) = await instance.store.ready(looks[:1], 1)
            assert tasks == [Ready(3, NOW + 10, "main", "default")]

    run(work())


def test_queues_kinds_and_namespaces_are_kept_apart(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await write(
                instance,
                runs=[
                    new(a_run(2, ready_at=1)),
                    new(a_run(3, ready_at=2, namespace="other")),
                    new(a_run(4, ready_at=3, queue="mail")),
                    new(a_run(5, ready_at=4, queue="mail", namespace="other")),
                ],
                activities=[
                    new(an_activity(6, 2, ready_at=1, queue="mail")),
                    new(an_activity(7, 3, ready_at=1, namespace="other")),
                ],
            )
            looks = (
                Look(ACTIVITY, None, "mail"),
                Look(WORKFLOW, "other", "mail"),
                Look(WORKFLOW, None, "default"),
                Look(WORKFLOW, "main", "default"),
                Look(WORKFLOW, "main", "nobody's"),
                Look(ACTIVITY, "other", "default"),
                Look(ACTIVITY, "other", "mail"),
            )
            assert await ready(instance, *looks) == [[6], [5], [2, 3], [2], [], [7], []]

    run(work())


def test_what_is_claimed_or_has_no_news_is_not_ready(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await write(
                instance,
                runs=[
                    new(a_run(2, ready_at=None)),
                    new(a_run(3, ready_at=1, claim_token=1, claim_until=NOW)),
                    new(a_run(4, ready_at=1, claim_token=1, claim_until=None)),
                ],
                activities=[new(an_activity(5, 2, **RUNNING)), new(an_activity(6, 3, ready_at=1))],
            )
            looks = (Look(WORKFLOW, None, "default"), Look(ACTIVITY, None, "default"))
            assert await ready(instance, *looks) == [[4], [6]]
            await write(instance, runs=[changed(a_run(2), ready_at=2)])
            assert await ready(instance, *looks) == [[4, 2], [6]]

    run(work())


def test_what_a_worker_keeps_is_named_with_it(place: Place) -> None:
    async def work() -> None:
        mine: dict[str, Any] = {"claimed_by": "w1", "kept_token": 7}
        async with place.opened() as instance:
            await write(
                instance,
                runs=[
                    new(a_run(2, ready_at=2)),
                    new(a_run(3, ready_at=1, **mine)),
                    new(a_run(4, ready_at=3, claim_token=7, claim_until=NOW, **mine)),
                    new(a_run(5, ready_at=None, **mine)),
                    new(a_run(6, ready_at=4, namespace="other", **mine)),
                    new(a_run(7, ready_at=5, queue="mail", **mine)),
                    new(a_run(8, ready_at=6, claimed_by="w1")),
                ],
            )
            (tasks,) = await instance.store.ready([Look(WORKFLOW, "main", "default")], 9)
            assert tasks == [
                Ready(3, 1, "main", "default", "w1"),
                Ready(2, 2, "main", "default"),
                Ready(4, 3, "main", "default", "w1", held=True),
                Ready(8, 6, "main", "default"),
            ]
            assert await ready(instance, Look(WORKFLOW, None, "default")) == [[3, 2, 4, 6, 8]]
            assert await ready(instance, Look(WORKFLOW, "other", "default")) == [[6]]

    run(work())


def test_what_is_kept_takes_no_place_from_what_is_not(place: Place) -> None:
    """Of either as many as are asked for; of what is kept none beyond the others."""

    async def work() -> None:
        mine: dict[str, Any] = {"claimed_by": "w1", "kept_token": 7}
        async with place.opened() as instance:
            await write(
                instance,
                runs=[
                    *(new(a_run(no, ready_at=no, **mine)) for no in (2, 3, 4, 5)),
                    *(new(a_run(no, ready_at=no)) for no in (6, 7, 8)),
                    new(a_run(9, ready_at=9, **mine)),
                ],
            )
            look = Look(WORKFLOW, None, "default")
            assert await ready(instance, look, limit=2) == [[2, 3, 6, 7]]
            assert await ready(instance, look, limit=3) == [[2, 3, 4, 6, 7, 8]]
            assert await ready(instance, look, limit=4) == [[2, 3, 4, 5, 6, 7, 8]]
            assert await ready(instance, look, limit=5) == [[2, 3, 4, 5, 6, 7, 8, 9]]
            assert await ready(instance, look, look, limit=1) == [[2, 6]] * 2

    run(work())


def test_open_timers_are_due_at_their_times(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await write(
                instance,
                timers=[
                    new(a_timer(2, 2, fire_at=NOW + 2)),
                    new(a_timer(3, 3, fire_at=NOW + 1)),
                    new(a_timer(4, 4, fire_at=NOW + 3)),
                    new(a_timer(5, 5, fire_at=NOW, state=TimerState.FIRED)),
                    new(a_timer(6, 6, fire_at=NOW, state=TimerState.SILENCED)),
                ],
            )
            assert await instance.store.deadlines(NOW + 2) == [
                Deadline(NOW + 1, DueKind.TIMER, 3),
                Deadline(NOW + 2, DueKind.TIMER, 2),
            ]
            assert await instance.store.deadlines(NOW) == []

    run(work())


def test_a_run_whose_time_is_nearly_over_is_due_for_what_comes_first(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            over: dict[str, Any] = {"timeout_at": NOW + 5, "timeout_secs": 9.0}
            held: dict[str, Any] = {"claim_token": 1, "claimed_by": "w"}
            await write(
                instance,
                runs=[
                    new(a_run(2, **over)),
                    new(a_run(3, claim_until=NOW + 9, **held, **over)),
                    new(a_run(4, claim_until=NOW + 3, **held, **over)),
                    new(a_run(5, cascade="null", updated_at=NOW - 7, **over)),
                    new(
                        a_run(
                            6, cascade="null", updated_at=NOW - 7, claim_until=NOW, **held, **over
                        )
                    ),
                    new(a_run(7, status=RunStatus.FAILED, completed_at=NOW, **over)),
                ],
            )
            due = await instance.store.deadlines(NOW + 5)
            assert sorted((each.no, each.at - NOW, each.kind) for each in due) == [
                (2, 5, DueKind.RUN),
                (3, 5, DueKind.RUN),
                (4, 3, DueKind.RUN),
                (5, -7, DueKind.RUN),
                (6, -7, DueKind.RUN),
            ]
            assert await instance.store.deadlines(NOW + 4) == []

    run(work())


def test_open_claims_and_unfinished_cascades_are_deadlines(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await write(
                instance,
                runs=[
                    new(a_run(2)),
                    new(a_run(3, claim_token=1, claim_until=NOW + 3)),
                    new(a_run(4, status=RunStatus.CANCELLED, cascade="null", updated_at=NOW + 4)),
                    new(a_run(5, status=RunStatus.FAILED, completed_at=NOW)),
                ],
                activities=[
                    new(an_activity(6, 2, 1)),
                    new(an_activity(7, 2, 2, claim_until=NOW + 7, **RUNNING)),
                    new(an_activity(8, 5, 1, claim_until=NOW + 8, **RUNNING)),
                ],
            )
            claims = await instance.store.claims()
            assert sorted((each.at, each.kind, each.no) for each in claims) == [
                (NOW + 3, DueKind.RUN, 3),
                (NOW + 4, DueKind.RUN, 4),
                (NOW + 7, DueKind.ACTIVITY, 7),
                (NOW + 8, DueKind.ACTIVITY, 8),
            ]

    run(work())


def test_starts_that_wait_name_the_run_they_wait_for(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            waiting: dict[str, Any] = {"overlap": OverlapPolicy.QUEUE, "queued_start": NOW}
            await write(
                instance,
                runs=[new(a_run(2)), new(a_run(3, status=RunStatus.FAILED, completed_at=NOW))],
                schedules=[
                    new(a_schedule(4, last_run_no=2, **waiting)),
                    new(a_schedule(5, last_run_no=2, **waiting | {"queued_start": NOW - 1})),
                    new(a_schedule(6, last_run_no=3, **waiting)),
                    new(a_schedule(7, last_run_no=2, paused=True, **waiting)),
                    new(a_schedule(8, last_run_no=2)),
                ],
            )
            found = await instance.store.waiting_starts()
            assert found == [Awaiting(2, 5), Awaiting(2, 4), Awaiting(3, 6)]

    run(work())


def test_the_clocks_floor_is_the_latest_moment_committed(lasting_place: Place) -> None:
    async def work() -> None:
        async with lasting_place.opened() as instance:
            assert await instance.store.clock_floor() == 0
            await write(instance, at=NOW + 9, runs=[new(a_run(2))])
            await write(instance, at=NOW + 5, runs=[new(a_run(3))])
            assert not await instance.store.settle(instance.no, 99)
        async with lasting_place.opened() as instance:
            assert await instance.store.clock_floor() == NOW + 9

    run(work())


def test_old_batch_rows_are_forgotten_but_not_the_latest(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            for no in range(2, 12):
                await write(instance, at=NOW + no, runs=[new(a_run(no))])
            await instance.store.prune_batches(instance.no, 8)
            assert await instance.store.clock_floor() == NOW + 11
            for no in (8, 9, 10):
                assert await instance.store.settle(instance.no, no)
            assert not await instance.store.settle(instance.no, 7)

    run(work())


def test_workers_are_seen_and_time_only_goes_on(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            store = instance.store
            await write(instance, workers=[a_worker("a"), a_worker("b", namespace="other")])
            await store.note_seen({"b": NOW + 2, "a": NOW + 1, "nobody": NOW})
            await store.note_seen({"b": NOW - 5})
            assert await store.worker_namespace("a") == "main"
            assert await store.worker_namespace("b") == "other"
            assert await store.worker_namespace("nobody") is None

    run(work())


def test_an_open_store_is_alive(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            assert await instance.store.is_alive()

    run(work())
