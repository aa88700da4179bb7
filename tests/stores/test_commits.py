"""What is committed comes back as it was; what is stale, taken or poisoned leaves no trace."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.core.view import Key, Need
from assay.model.activity import Activity
from assay.model.attempt import Attempt, Forgotten
from assay.model.decision import Change
from assay.model.events import Event
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus, TimerState
from assay.model.timer import Timer
from assay.store.port import Committed, Refused, Stale
from tests.stores.places import Instance, Place, run
from tests.stores.rows import (
    NOW,
    ODD_TEXTS,
    a_run,
    a_timer,
    a_worker,
    activities,
    an_activity,
    an_event,
    any_activity,
    any_event,
    any_run,
    any_timer,
    any_worker,
    attempt,
    attempts,
    changed,
    fields_of,
    gone,
    history,
    load,
    new,
    runs,
    timers,
    voided,
    write,
)

NUMBERS = itertools.count(1000)

any_rows = st.fixed_dictionaries(
    {
        "runs": st.tuples(any_run, any_run),
        "activities": st.tuples(any_activity, any_activity),
        "timers": st.tuples(any_timer, any_timer),
        "events": st.lists(any_event, max_size=3),
        "worker": any_worker,
    }
)


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rows=st.lists(any_rows, min_size=1, max_size=4))
def test_rows_of_every_kind_come_back_as_they_went(
    lasting_place: Place, rows: list[dict[str, Any]]
) -> None:
    async def work() -> None:
        async with lasting_place.opened() as instance:
            for row in rows:
                await goes_and_comes_back(instance, row)

    run(work())


def test_rows_of_every_kind_come_back_from_memory() -> None:
    place = Place("sqlite-memory", ":memory:")
    test_rows_of_every_kind_come_back_as_they_went(place)


async def goes_and_comes_back(instance: Instance, row: dict[str, Any]) -> None:
    """Insert one row of each kind, then change every field of it."""
    no = next(NUMBERS)
    events = [Event(run_no=no, seq=seq, **event) for seq, event in enumerate(row["events"], 1)]
    worker = a_worker(f"w-{no}", **row["worker"])
    first, second = (rows_of(row, no, version) for version in (0, 1))
    inserted = {name: [new(one)] for name, one in first.items()}
    await write(instance, **inserted, events=events, workers=[worker])
    assert await history(instance, no) == events
    assert await instance.store.worker_namespace(worker.id) == worker.namespace
    await holds(instance, no, first)
    await write(instance, **{name: [Change(first[name], second[name])] for name in first})
    await holds(instance, no, second)


def rows_of(row: dict[str, Any], no: int, version: int) -> dict[str, Any]:
    run_fields, activity, timer = (row[name][version] for name in ("runs", "activities", "timers"))
    part = {"no": no, "run_no": no, "seq": 1, "ver": version}
    return {
        "runs": Run(**{**run_fields, "no": no, "id": f"wf-{no}", "ver": version}),
        "activities": Activity(**{**activity, **part}),
        "timers": Timer(**{**timer, **part}),
    }


async def holds(instance: Instance, no: int, rows: dict[str, Any]) -> None:
    found = await runs(instance, no)
    assert found == {no: rows["runs"]}
    assert isinstance(found[no].timeout_secs, float | None)
    parts = await activities(instance, no)
    assert parts == {no: rows["activities"]}
    assert isinstance(parts[no].policy.start_to_close_secs, float)
    assert await timers(instance, no) == {no: rows["timers"]}


def test_payloads_come_back_letter_by_letter(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            events = [an_event(2, seq, text) for seq, text in enumerate(ODD_TEXTS, 1)]
            await write(instance, runs=[new(a_run(2))], events=events)
            assert [event.payload for event in await history(instance, 2)] == list(ODD_TEXTS)
            page = await instance.store.reading.events(
                "wf-2", cursor=None, limit=None, descending=False
            )
            assert [row.payload for row in page] == list(ODD_TEXTS)

    run(work())


def test_a_payload_may_be_large(place: Place) -> None:
    async def work() -> None:
        text = '"' + "0123456789abcde\\n" * 2**17 + '"'
        async with place.opened() as instance:
            await write(instance, runs=[new(a_run(2))], events=[an_event(2, 1, text)])
            assert (await history(instance, 2))[0].payload == text

    run(work())


def test_many_rows_of_each_kind_share_a_commit(place: Place) -> None:
    async def work() -> None:
        many = range(2, 302)
        async with place.opened() as instance:
            await write(
                instance,
                runs=[new(a_run(no)) for no in many],
                activities=[new(an_activity(no, no)) for no in many],
                timers=[new(a_timer(no, no)) for no in many],
                events=[an_event(no, 1) for no in many],
            )
            await write(
                instance,
                runs=[changed(a_run(no), last_seq=no) for no in reversed(many)],
                activities=[changed(an_activity(no, no), attempt=no) for no in many],
                timers=[gone(a_timer(no, no)) for no in many],
                events=[an_event(no, 2) for no in many],
            )
            found = await runs(instance, *many)
            assert [found[no].last_seq for no in many] == list(many)
            rows = await activities(instance, *many)
            assert [rows[no].attempt for no in many] == list(many)
            assert await timers(instance, *many) == {}
            assert len(await history(instance, 77)) == 2

    run(work())


# --- guards -------------------------------------------------------------------------------------

STALE: dict[str, dict[str, Any]] = {
    "run": {"runs": [changed(a_run(2, ver=1), last_seq=9)]},
    "run of an older version": {"runs": [changed(a_run(2, ver=-1), last_seq=9)]},
    "run that does not exist": {"runs": [changed(a_run(9), last_seq=9)]},
    "one run of many": {"runs": [changed(a_run(3)), changed(a_run(2, ver=1))]},
    "activity": {"activities": [changed(an_activity(2, 2, ver=1), attempt=9)]},
    "activity to be deleted": {"activities": [gone(an_activity(2, 2, ver=1))]},
    "timer": {"timers": [changed(a_timer(2, 2, ver=1), fire_at=9)]},
    "timer to be deleted": {"timers": [gone(a_timer(2, 2, ver=1))]},
    "event that was voided": {"voided": [voided(2, 1, 2, by=9)]},
    "event that does not exist": {"voided": [voided(2, 7, by=9)]},
    "id that is taken": {"runs": [new(a_run(4, id="wf-2"))]},
    "number that is taken": {"runs": [new(a_run(2, id="other"))]},
    "seq of an activity that is taken": {"activities": [new(an_activity(4, 2))]},
    "seq of an event that is taken": {"events": [an_event(2, 1)]},
    "attempt that has failed before": {"attempts": [Attempt(2, 2, 1, None, NOW, NOW, "again")]},
    "id that two runs of the batch want": {"runs": [new(a_run(4)), new(a_run(5, id="wf-4"))]},
}


def test_a_stale_batch_leaves_no_trace(place: Place) -> None:
    run(leave_no_trace(place, STALE, Stale))


POISON: dict[str, dict[str, Any]] = {
    "number out of range": {"runs": [new(a_run(4, created_at=2**63))]},
    "number far out of range": {"activities": [new(an_activity(4, 3, attempt=10**30))]},
    "nothing where something must be": {"runs": [new(a_run(4, type=None))]},
    "changed to nothing": {"activities": [changed(an_activity(2, 2), name=None)]},
}


def test_a_poisoned_batch_leaves_no_trace(place: Place) -> None:
    run(leave_no_trace(place, POISON, Refused))


UNSTORABLE = ("\0", "a\0b", "\ud800")


def test_a_text_postgres_cannot_hold_is_refused(shared_place: Place) -> None:
    events = {f"event {text!r}": {"events": [an_event(2, 3, text)]} for text in UNSTORABLE}
    ids = {f"id {text!r}": {"runs": [new(a_run(4, id=text))]} for text in UNSTORABLE}
    run(leave_no_trace(shared_place, {**events, **ids}, Refused))


async def leave_no_trace(
    place: Place, cases: Mapping[str, Mapping[str, Any]], outcome: type
) -> None:
    async with place.opened() as instance:
        await write(
            instance,
            runs=[new(a_run(2)), new(a_run(3))],
            activities=[new(an_activity(2, 2))],
            timers=[new(a_timer(2, 2))],
            events=[an_event(2, 1), an_event(2, 2)],
            attempts=[Attempt(2, 2, 1, None, NOW, NOW, "first")],
        )
        await write(instance, voided=[voided(2, 2, by=3)])
        before = await all_of(instance)
        for name, parts in cases.items():
            extra: dict[str, Any] = {part: list(rows) for part, rows in parts.items()}
            extra.setdefault("runs", []).append(new(a_run(8)))
            extra.setdefault("events", []).append(an_event(8, 1))
            extra.setdefault("attempts", []).append(Attempt(2, 2, 8, None, NOW, NOW, "no"))
            extra.setdefault("timers", []).append(new(a_timer(8, 8)))
            extra.setdefault("workers", []).append(a_worker("w-8"))
            assert isinstance(await attempt(instance, **extra), outcome), name
            assert await all_of(instance) == before, name
            assert await instance.store.worker_namespace("w-8") is None
            assert not await instance.store.settle(instance.no, instance.batches), name
            # What was neither stale nor poisoned can be written by itself.
            await write(instance, runs=[new(a_run(next(NUMBERS)))])


async def all_of(instance: Instance) -> list[object]:
    wanted = (Key(Need.RUN, 2), Key(Need.RUN, 3), Key(Need.RUN, 4), Key(Need.RUN, 8))
    whole = (Key(Need.WHOLE_RUN, 2), Key(Need.WHOLE_RUN, 8))
    loaded = await load(instance, *wanted, *whole)
    failed = await attempts(instance, 2)
    return [loaded.runs, loaded.activities, loaded.timers, loaded.whole_runs, failed]


any_attempt = fields_of(Attempt, without={"run_no", "activity_no", "attempt"})


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(any_attempt, min_size=1, max_size=4))
def test_failed_attempts_come_back_as_they_went(
    lasting_place: Place, rows: list[dict[str, Any]]
) -> None:
    async def work() -> None:
        async with lasting_place.opened() as instance:
            no = next(NUMBERS)
            kept = [
                Attempt(run_no=no, activity_no=no, attempt=at, **row)
                for at, row in enumerate(rows, 1)
            ]
            run_row = new(a_run(no))
            await write(instance, runs=[run_row], activities=[new(an_activity(no, no))])
            assert await attempts(instance, no) == []
            await write(instance, attempts=list(reversed(kept)))
            assert await attempts(instance, no) == kept

    run(work())


def test_attempts_go_with_their_run_and_when_their_activity_starts_anew(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            over = {"status": ActivityStatus.FAILED, "completed_at": NOW}
            parts = [an_activity(20, 2), an_activity(21, 2, 2, **over), an_activity(30, 3)]
            kept = [
                Attempt(part.run_no, part.no, at, "w", NOW, NOW + at, "no", None)
                for part in parts
                for at in (1, 2)
            ]
            await write(
                instance,
                runs=[new(a_run(2)), new(a_run(3))],
                activities=[new(part) for part in parts],
                attempts=kept,
            )
            await write(instance, forgotten=[Forgotten(2, 20), Forgotten(2, 99)])
            assert [await attempts(instance, part.no) for part in parts] == [
                [],
                kept[2:4],
                kept[4:],
            ]
            await write(instance, attempts=kept[:1])
            await write(instance, runs=[gone(a_run(2))], activities=[gone(parts[0])], purged=[2])
            found = [await attempts(instance, part.no) for part in parts]
            assert found == [None, None, kept[4:]]
            # Of what is gone nothing is left that a new activity could not have.
            await write(instance, activities=[new(parts[0])])
            assert await attempts(instance, 20) == []

    run(work())


def test_an_unchanged_row_still_guards(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            one = a_run(2)
            await write(instance, runs=[new(one)])
            await write(instance, runs=[changed(one)])
            assert await attempt(instance, runs=[changed(one)]) == Stale()

    run(work())


def test_a_seq_can_be_taken_over_in_the_commit_that_frees_it(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            old_activity, old_timer = an_activity(2, 2), a_timer(2, 2)
            await write(
                instance,
                runs=[new(a_run(2))],
                activities=[new(old_activity)],
                timers=[new(old_timer)],
            )
            await write(
                instance,
                activities=[gone(old_activity), new(an_activity(4, 2))],
                timers=[gone(old_timer), new(a_timer(4, 2))],
            )
            assert list(await activities(instance, 2, 4)) == [4]
            assert list(await timers(instance, 2, 4)) == [4]

    run(work())


def test_a_voided_event_stays_but_says_by_what(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            events = [an_event(2, seq) for seq in (1, 2, 3)]
            await write(instance, runs=[new(a_run(2))], events=events)
            await write(instance, voided=[voided(2, 2, 3, by=4)], events=[an_event(2, 4)])
            assert await history(instance, 2) == [
                events[0],
                replace(events[1], voided_by=4),
                replace(events[2], voided_by=4),
                an_event(2, 4),
            ]

    run(work())


def test_an_empty_decision_still_leaves_its_batch_row(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            assert await attempt(instance, at=NOW + 5) == Committed()
            assert await instance.store.settle(instance.no, instance.batches)
            assert await instance.store.clock_floor() == NOW + 5

    run(work())


def test_statuses_are_stored_by_their_names(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            statuses = dict(enumerate(RunStatus, 2))
            states = dict(enumerate(TimerState, 2))
            kinds = dict(enumerate(ActivityStatus, 2))
            await write(
                instance,
                runs=[new(a_run(no, status=status)) for no, status in statuses.items()],
                activities=[
                    new(an_activity(no, no, status=status)) for no, status in kinds.items()
                ],
                timers=[new(a_timer(no, no, state=state)) for no, state in states.items()],
            )
            assert {no: row.status for no, row in (await runs(instance, *statuses)).items()} == (
                statuses
            )
            assert {no: row.state for no, row in (await timers(instance, *states)).items()} == (
                states
            )
            found = await activities(instance, *kinds)
            assert {no: row.status for no, row in found.items()} == kinds

    run(work())
