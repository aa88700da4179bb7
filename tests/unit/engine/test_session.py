"""One session: what is on its way to it, what room is left, and which request goes home when."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from assay.engine.session import Ended, Session
from assay.engine.wants import Grant
from assay.errors import EngineStopped
from assay.model.activity import Activity
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus
from assay.model.task import Claim, TaskKind
from assay.store.port import Look

W, A = TaskKind
LOOK = Look(W, None, "q")
RUN = Run(1, "wf", "run-wf", "main", "order", RunStatus.RUNNING, 0, 0, 0)
ACTIVITY = Activity(1, 1, 1, "pay", ActivityStatus.RUNNING, RetryPolicy(), 0, 0, 0)
SOON_SECS = 5.0


def task(token: int, kind: TaskKind = W, *, spends: bool = True) -> Grant:
    grant = Grant(Claim(kind, token, token, "w1"), RUN if kind is W else ACTIVITY)
    grant.spends = spends
    return grant


def on_a_loop(story: Callable[[Session], Awaitable[None]]) -> Callable[[], None]:
    def test() -> None:
        async def tell() -> None:
            async with asyncio.timeout(SOON_SECS):
                await story(Session("w1"))

        asyncio.run(tell())

    test.__doc__, test.__name__ = story.__doc__, getattr(story, "__name__", "")
    return test


def holding(session: Session, secs: float = 60) -> "asyncio.Task[None]":
    return asyncio.get_running_loop().create_task(session.hold(secs))


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


# -- room ----------------------------------------------------------------------------------------


@on_a_loop
async def test_what_is_gone_before_it_arrives_takes_up_no_room(session: Session) -> None:
    lost, kept = task(1, A), task(2, A)
    session.give(lost)
    session.give(kept)
    parcel = session.take()
    session.lose(parcel, lost)
    assert session.room(A, 5, 0) == 4
    session.put_back(parcel)
    assert session.take().grants == [kept]


@on_a_loop
async def test_room_is_the_offer_less_what_is_on_its_way(session: Session) -> None:
    assert session.room(W, 5, 0) == 5
    session.give(task(1))
    session.give(task(2))
    session.give(task(3, A))
    assert (session.room(W, 5, 0), session.room(A, 5, 0)) == (3, 4)
    assert session.room(W, 5, 1) == 4
    session.take()
    assert session.room(W, 5, 1) == 4, "taken along, but not seen yet"
    assert session.room(W, 5, 2) == 5
    assert session.room(W, 0, 2) == 0
    assert session.room(W, 1, 0) == -1


@on_a_loop
async def test_free_news_take_no_room(session: Session) -> None:
    session.give(task(1, spends=False))
    assert session.room(W, 2, 0) == 2


@on_a_loop
async def test_what_was_seen_elsewhere_is_no_room(session: Session) -> None:
    assert session.room(W, 2, 100) == 2
    session.give(task(1))
    assert session.room(W, 2, 100) == 1
    assert session.room(W, 2, 101) == 2


@on_a_loop
async def test_counted_anew_what_was_lost_is_not_on_its_way(session: Session) -> None:
    for token in (1, 2, 3):
        session.give(task(token))
    session.take()
    session.give(task(4))
    session.give(task(5, spends=False))
    session.count_anew(W, 1)
    assert session.room(W, 5, 1) == 4
    session.count_anew(A, 7)
    assert session.room(A, 5, 7) == 5


# -- what is on its way --------------------------------------------------------------------------


@on_a_loop
async def test_all_of_it_is_taken_home_at_once_and_once(session: Session) -> None:
    session.give(task(1))
    session.tell(Ended("wf", None))
    session.give(task(2))
    parcel = session.take()
    assert [grant.claim.token for grant in parcel.grants] == [1, 2]
    assert parcel.endings == [Ended("wf", None)]
    again = session.take()
    assert (again.grants, again.endings) == ([], [])


@on_a_loop
async def test_what_was_not_written_comes_before_what_came_since(session: Session) -> None:
    session.give(task(1))
    session.tell(Ended("a", None))
    parcel = session.take()
    session.give(task(2))
    session.tell(Ended("b", None))
    session.put_back(parcel)
    parcel = session.take()
    assert [grant.claim.token for grant in parcel.grants] == [1, 2]
    assert [ended.id for ended in parcel.endings] == ["a", "b"]


@on_a_loop
async def test_it_knows_what_is_here(session: Session) -> None:
    session.give(task(1))
    assert (session.has_token(1), session.has_token(2)) == (True, False)
    session.take()
    assert not session.has_token(1)


@on_a_loop
async def test_an_end_that_was_told_is_awaited_no_longer(session: Session) -> None:
    session.awaited["wf"] = lambda: None
    session.tell(Ended("wf", None))
    assert session.awaited == {}


@on_a_loop
async def test_it_takes_a_kind_on_one_queue(session: Session) -> None:
    want = session.want_on(LOOK)
    assert session.want_on(LOOK) is want
    assert (want.several, want.held, want.worker_id) == (True, True, "w1")
    other = session.want_on(Look(W, None, "other"))
    attempts = session.want_on(Look(A, None, "q"))
    assert session.wants == {W: other, A: attempts}
    want.answer(task(1))
    want.answer(None)
    want.answer(EngineStopped())
    assert [grant.claim.token for grant in session.take().grants] == [1]


# -- requests that are held ----------------------------------------------------------------------


@on_a_loop
async def test_with_something_here_nobody_is_held(session: Session) -> None:
    session.give(task(1))
    await session.hold(60)
    session.take()
    session.tell(Ended("wf", None))
    await session.hold(60)


@on_a_loop
async def test_nothing_comes_and_the_time_is_up(session: Session) -> None:
    await session.hold(0.01)
    await session.hold(0)


@on_a_loop
async def test_one_request_goes_home_with_all_of_it(session: Session) -> None:
    first, second = holding(session), holding(session)
    await turns()
    session.give(task(1))
    session.give(task(2))
    await turns()
    assert (first.done(), second.done()) == (True, False)
    session.take()
    session.tell(Ended("wf", None))
    await turns()
    assert second.done()


@on_a_loop
async def test_it_waits_a_turn_for_the_request_whose_commit_it_was(session: Session) -> None:
    waiting = holding(session)
    await turns()
    session.give(task(1))
    assert session.take().grants
    await turns()
    assert not waiting.done()
    waiting.cancel()


@on_a_loop
async def test_what_was_put_back_wakes_the_next(session: Session) -> None:
    session.give(task(1))
    parcel = session.take()
    waiting = holding(session)
    await turns()
    session.put_back(parcel)
    await turns()
    assert waiting.done()


@on_a_loop
async def test_who_hangs_up_when_it_was_to_go_home_leaves_it_to_another(session: Session) -> None:
    first, second = holding(session), holding(session)
    await turns()
    session.give(task(1))
    asyncio.get_running_loop().call_soon(first.cancel)  # after the wake, before the request runs
    await turns(5)
    assert first.cancelled()
    assert second.done()


@on_a_loop
async def test_all_are_let_go(session: Session) -> None:
    waiting = [holding(session) for _ in range(3)]
    await turns()
    session.let_go()
    await asyncio.gather(*waiting)


@on_a_loop
async def test_who_has_gone_is_not_woken(session: Session) -> None:
    gone = holding(session)
    await turns()
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    waiting = holding(session)
    await turns()
    session.give(task(1))
    await turns()
    assert waiting.done()
