"""What clients look at: records with their payloads, histories, pages."""

from __future__ import annotations

from assay.model.states import ActivityStatus, RunStatus
from assay.store.views import ActivityView, HistoryRow, RunView
from tests.stores.places import Instance, Place, run
from tests.stores.rows import (
    NOW,
    a_run,
    an_activity,
    an_event,
    new,
    voided,
    write,
)


async def page(
    instance: Instance,
    id: str = "wf-2",
    *,
    cursor: int | None = None,
    limit: int | None = None,
    descending: bool = False,
) -> list[int]:
    rows = await instance.store.reading.events(
        id, cursor=cursor, limit=limit, descending=descending
    )
    return [row.seq for row in rows]


def test_a_run_is_shown_with_its_input_and_result(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            ended = a_run(2, status=RunStatus.COMPLETED, result_seq=3, completed_at=NOW)
            await write(
                instance,
                runs=[new(ended), new(a_run(3)), new(a_run(4))],
                events=[
                    an_event(2, 1, '{"in":1}'),
                    an_event(2, 3, '"out"'),
                    an_event(3, 1, None),
                ],
            )
            views = await instance.store.reading.run_views(["wf-3", "wf-2", "x", "\0", "wf-4"])
            assert views == [
                RunView(ended, '{"in":1}', '"out"'),
                RunView(a_run(3), None, None),
                RunView(a_run(4), None, None),
            ]
            assert await instance.store.reading.run_views([]) == []

    run(work())


def test_an_activity_is_shown_with_its_input_and_result(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            done = an_activity(6, 2, 2, status=ActivityStatus.COMPLETED, outcome_seq=4)
            late = an_activity(7, 2, 3, status=ActivityStatus.COMPLETED, late_outcome='"late"')
            failed = an_activity(8, 2, 4, status=ActivityStatus.FAILED, late_outcome='{"type":"X"}')
            await write(
                instance,
                runs=[new(a_run(2))],
                activities=[new(an_activity(5, 2, 1)), new(done), new(late), new(failed)],
                events=[
                    an_event(2, 2, '{"activity_id":5,"input":"[1, 2]"}'),
                    an_event(2, 4, '{"result": {"b":1, "a":1e400}}'),
                ],
            )
            views = await instance.store.reading.activity_views([5, 6, 7, 8, 99])
            assert views == [
                ActivityView(an_activity(5, 2, 1), "wf-2", "[1, 2]", None),
                ActivityView(done, "wf-2", "[1, 2]", '{"b":1, "a":1e400}'),
                ActivityView(late, "wf-2", "[1, 2]", '"late"'),
                ActivityView(failed, "wf-2", "[1, 2]", None),
            ]

    run(work())


def test_histories_leave_out_what_was_taken_back(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await write(
                instance,
                runs=[new(a_run(2)), new(a_run(3))],
                events=[an_event(3, 1)] + [an_event(2, seq) for seq in (1, 2, 3, 4)],
            )
            await write(instance, voided=[voided(2, 2, 3, by=4)])
            rows = await instance.store.reading.histories([3, 2, 99])
            assert [(row.run_no, row.seq) for row in rows] == [(2, 1), (2, 4), (3, 1)]
            first = an_event(2, 1)
            assert rows[0] == HistoryRow(2, 1, first.id, str(first.type), first.at, first.payload)

    run(work())


def test_pages_go_both_ways_and_show_everything(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            await write(
                instance,
                runs=[new(a_run(2)), new(a_run(3))],
                events=[an_event(2, seq) for seq in range(1, 8)] + [an_event(3, 1)],
            )
            await write(instance, voided=[voided(2, 2, 3, by=4)])
            assert await page(instance) == [1, 2, 3, 4, 5, 6, 7]
            assert await page(instance, limit=3) == [1, 2, 3]
            assert await page(instance, cursor=3, limit=3) == [4, 5, 6]
            assert await page(instance, cursor=6, limit=3) == [7]
            assert await page(instance, cursor=7) == []
            assert await page(instance, descending=True, limit=3) == [7, 6, 5]
            assert await page(instance, descending=True, cursor=3) == [2, 1]
            assert await page(instance, descending=True, cursor=1) == []
            assert await page(instance, limit=0) == []
            assert await page(instance, id="nobody") == []

    run(work())
