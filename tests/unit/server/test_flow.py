"""An answer without an end: kept alive, ended by a stop or a hang-up, cut off if not taken."""

from __future__ import annotations

import asyncio
import logging

import pytest

from assay.engine import stream as engine_stream
from assay.model.operations import Start
from assay.server import flow
from assay.server.app import App
from assay.server.settings import Settings
from tests.support.sse import Ear, listen, open_ear
from tests.unit.server.served import Served, told

HOST = "127.0.0.1"
LONG = "x" * 1_000  # frames of about 4 KB
MANY = 2_000


async def ear(served: Served, query: str = "", cursor: int | None = None) -> Ear:
    return await open_ear(HOST, served.port, query, cursor=cursor)


async def deaf(served: Served, cursor: int | None = None) -> Ear:
    """One who reads the head, and from then on nothing."""
    listening = await listen(HOST, served.port, cursor=cursor, small_buffer=True)
    assert isinstance(listening, Ear)
    listening._writer.transport.pause_reading()  # type: ignore[attr-defined] # every transport can
    return listening


async def start(served: Served, count: int) -> None:
    runs = (Start(LONG, None, "main", None, LONG) for _ in range(count))
    await asyncio.gather(*map(served.runner.perform, runs))


def app_of(served: Served) -> App:
    return served.server._app


async def until_nobody_listens(served: Served) -> None:
    stream = app_of(served).door.stream
    while stream._listeners or stream._tail:
        await asyncio.sleep(0.01)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "STALLED_SECS", 0.2)
    monkeypatch.setattr(flow, "PARTING_SECS", 0.1)
    monkeypatch.setattr(engine_stream, "PATIENCE_SECS", 0.5)
    monkeypatch.setattr(engine_stream, "FRAMES_KEPT", 1_000)


def test_a_comment_comes_every_so_often() -> None:
    async def story(served: Served) -> None:
        loop = asyncio.get_running_loop()
        async with await ear(served, "workflow_id=rare") as listening:
            await listening.comment()  # the first is there at once
            began = loop.time()
            for _ in range(3):
                await start(served, 1)  # others hear something; that changes nothing
                await listening.comment()
            assert 0.25 < loop.time() - began < 3

    told(story, Settings(keep_alive_secs=0.1))()


def test_the_contract_names_the_time_between_comments() -> None:
    assert Settings().keep_alive_secs == 15


def test_who_hangs_up_leaves_nothing_behind() -> None:
    async def story(served: Served) -> None:
        ears = [await ear(served) for _ in range(5)]
        await start(served, 1)
        for listening in ears:
            await listening.next()
            listening.hang_up()
        await until_nobody_listens(served)
        assert not app_of(served).door.held

    told(story)()


def test_a_stop_ends_every_stream_properly() -> None:
    async def story(served: Served) -> None:
        ears = [await ear(served) for _ in range(5)]
        await start(served, 3)
        for listening in ears:
            await listening.take(3)
        served.server.should_exit = True
        assert await asyncio.gather(*(listening.rest() for listening in ears)) == [[]] * 5
        for listening in ears:
            listening.hang_up()

    told(story)()


@pytest.mark.usefixtures("impatient")
def test_a_stop_does_not_wait_for_who_takes_nothing() -> None:
    async def story(served: Served) -> None:
        await start(served, MANY)
        hanging = [await deaf(served, cursor) for cursor in (None, 0)]
        await start(served, 10)
        served.server.should_exit = True
        async with asyncio.timeout(3):
            while served.server.started and served.server.server_state.tasks:
                await asyncio.sleep(0.01)
        for listening in hanging:
            listening.hang_up()

    told(story)()


@pytest.mark.usefixtures("impatient")
def test_who_takes_nothing_is_cut_off_and_others_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Once from the middle of what was missed, once from the present."""

    async def story(served: Served) -> None:
        async with await ear(served) as listening:
            heard = asyncio.create_task(listening.take(2 * MANY + 1))
            await start(served, MANY)
            hanging = [await deaf(served, 0), await deaf(served)]
            await start(served, MANY)
            while len(app_of(served).door.held) > 1:
                await asyncio.sleep(0.01)
            await start(served, 1)
            assert [each.id for each in await heard] == list(range(1, 2 * MANY + 2))
            for cut in hanging:
                cut._writer.transport.resume_reading()  # type: ignore[attr-defined] # as above
                with pytest.raises(AssertionError, match="the connection was cut"):
                    await cut.rest()
                cut.hang_up()

    with caplog.at_level(logging.WARNING):
        told(story)()
    assert not caplog.records


def test_slow_is_not_deaf() -> None:
    """A reader that is always a little late gets everything."""

    async def story(served: Served) -> None:
        listening = await listen(HOST, served.port, cursor=0, small_buffer=True)
        assert isinstance(listening, Ear)
        async with listening:
            await start(served, 500)
            for number in range(1, 501):
                assert (await listening.next()).id == number
                await asyncio.sleep(0)

    told(story)()
