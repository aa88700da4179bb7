"""Who listens to the stream gets each frame once, in order; who is too slow is cut off."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import hypothesis
import pytest
from hypothesis import strategies as st

from assay.engine import stream as module
from assay.engine.stream import Behind, Interest, Listener, Page, Stream
from assay.errors import Gone, StoreUnavailable
from assay.model.frame import Frame
from assay.store.port import Store
from assay.store.stream import Bounds, FrameRow, frames_text

ALL = Interest()
SECS = 10.0


class Kept:
    """A stored stream in a list; reading may take a turn of the loop, or fail."""

    def __init__(self) -> None:
        self.rows: list[FrameRow] = []
        self.bounds_now = Bounds(0, 0)
        self.reads = 0
        self.pauses: random.Random | None = None
        self.failures = 0
        self.told_while_nothing_was_read = 0
        self.listener: Callable[[], None] | None = None

    @property
    def stream(self) -> Kept:
        return self

    def tell(self, *frames: Frame) -> None:
        last = self.bounds_now.newest + len(frames)
        self.rows.append(FrameRow(last, len(frames), 1_000_000, frames_text(frames)))
        self.bounds_now = Bounds(self.bounds_now.pruned, last)
        if self.listener is not None:
            self.listener()

    def tell_some(self, count: int) -> None:
        for _ in range(count):
            self.tell(a_frame())

    def forget(self, up_to: int) -> None:
        self.rows = [row for row in self.rows if row.last > up_to]
        self.bounds_now = Bounds(up_to, self.bounds_now.newest)

    async def page(self, after: int, most: int) -> Sequence[FrameRow]:
        self.reads += 1
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("gone for a moment")
        found = [row for row in self.rows if row.last > after]
        page = [row for row in found if row.last <= found[0].last + most]
        if not page and self.told_while_nothing_was_read:
            self.told_while_nothing_was_read -= 1
            self.tell_some(1)
        await self._pause()
        return page

    async def bounds(self) -> Bounds:
        bounds = self.bounds_now
        await self._pause()
        return bounds

    async def number_all(self) -> None:
        pass

    async def prune(self, older_than: int, keep: int) -> int:
        return 0

    def on_news(self, listener: Callable[[], None] | None) -> None:
        self.listener = listener

    async def _pause(self) -> None:
        if self.pauses is not None:
            for _ in range(self.pauses.choice([0, 0, 1, 3])):
                await asyncio.sleep(0)


def a_frame(name: str = "wf", kind: str = "signal_received", namespace: str = "main") -> Frame:
    return Frame(kind, namespace, name, {})


def write(number: int, at: int, frame: Frame) -> bytes:
    assert at == 1_000_000
    return f"{number} ".encode()


def numbers(text: bytes) -> list[int]:
    return [int(word) for word in text.split()]


async def hear(listener: Listener, count: int) -> list[int]:
    """The next so many numbers, at least."""
    heard: list[int] = []
    until = asyncio.get_running_loop().time() + SECS
    while len(heard) < count:
        text = await listener.read(until)
        assert text, "the time is up"
        heard += numbers(text)
    return heard


async def hears_nothing(listener: Listener) -> bool:
    return await listener.read(asyncio.get_running_loop().time() + 0.02) == b""


Story = Callable[[Kept, Stream], Awaitable[None]]


def play(story: Story) -> None:
    async def told() -> None:
        kept = Kept()
        await story(kept, Stream(cast("Store", kept), write))

    asyncio.run(asyncio.wait_for(told(), 2 * SECS))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for but what is waited on."""
    monkeypatch.setattr(module, "STREAM_PACE_SECS", 0)
    monkeypatch.setattr(module, "STREAM_RETRY_SECS", 0.01)


# -- from where on -------------------------------------------------------------------------------


def test_without_a_cursor_only_what_comes_is_heard() -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        kept.tell_some(3)
        listener = await stream.listen(ALL, None)
        kept.tell_some(1)  # after the answer has begun, before anybody reads
        with listener:
            assert await hear(listener, 1) == [4]
            kept.tell_some(2)
            assert await hear(listener, 2) == [5, 6]
            assert await hears_nothing(listener)

    play(story)


@pytest.mark.parametrize("cursor", [-7, 0, 1, 4, 5])
def test_with_a_cursor_all_that_is_kept_comes_first(cursor: int) -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        kept.tell(a_frame(), a_frame(), a_frame())
        kept.tell_some(2)
        with await stream.listen(ALL, cursor) as listener:
            kept.tell_some(1)
            expected = list(range(max(cursor, 0) + 1, 7))
            assert await hear(listener, len(expected)) == expected
            kept.tell_some(1)
            assert await hear(listener, 1) == [7]

    play(story)


def test_a_cursor_outside_of_what_is_kept_is_refused() -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        with pytest.raises(Gone, match="no event has had an id as high as 1 yet"):
            await stream.listen(ALL, 1)
        kept.tell_some(5)
        kept.forget(3)
        for cursor in (-1, 0, 2):
            with pytest.raises(Gone, match=f"events after {cursor} are not kept any more"):
                await stream.listen(ALL, cursor)
        with await stream.listen(ALL, 3) as listener:
            assert await hear(listener, 2) == [4, 5]
        kept.forget(5)
        with pytest.raises(Gone):
            await stream.listen(ALL, 4)
        with await stream.listen(ALL, 5) as listener:
            assert await hears_nothing(listener)

    play(story)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(st.integers(0, 2**32))
def test_whoever_listens_from_wherever_hears_each_once(seed: int) -> None:
    """Listeners come and go, some slow, while frames are told; reading is overtaken by writing."""
    dice = random.Random(seed)
    names = [f"wf-{number}" for number in range(3)]

    async def story(kept: Kept, stream: Stream) -> None:
        kept.pauses = dice
        told: list[str] = []

        def tell() -> None:
            chosen = dice.choices(names, k=dice.randint(1, 4))
            told.extend(chosen)
            kept.tell(*(a_frame(name) for name in chosen))

        async def listen() -> None:
            cursor = dice.choice([None, dice.randint(0, len(told))])
            name = dice.choice([None, *names])
            listener = await stream.listen(Interest(workflow_id=name), cursor)
            after, heard = listener._after, list[int]()
            assert cursor in (None, after)
            with listener:
                for _ in range(dice.randint(1, 30)):
                    heard += numbers(await listener.read(0))
                    await asyncio.sleep(0)
                seen = listener._after
            all_of_them = range(after + 1, seen + 1)
            assert heard == [at for at in all_of_them if name in (None, told[at - 1])]

        listeners = []
        for _ in range(40):
            tell()
            if dice.random() < 0.3:
                listeners.append(asyncio.create_task(listen()))
            await asyncio.sleep(0)
        await asyncio.gather(*listeners)

    play(story)


# -- one reader for all --------------------------------------------------------------------------


def test_the_store_is_read_once_for_all_and_not_when_nobody_listens() -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        kept.tell_some(2)
        await asyncio.sleep(0)
        assert kept.reads == 0
        listeners = [await stream.listen(ALL, None) for _ in range(20)]
        for listener in listeners:
            listener.__enter__()
        await asyncio.gather(*map(hears_nothing, listeners))
        before = kept.reads
        for number in range(3, 8):
            kept.tell_some(1)
            heard = await asyncio.gather(*(hear(listener, 1) for listener in listeners))
            assert heard == [[number]] * 20
            await asyncio.sleep(0)
        assert kept.reads - before <= 2 * 5
        for listener in listeners:
            listener.__exit__(None, None, None)
        assert kept.listener is None
        before = kept.reads
        kept.tell_some(1)
        await asyncio.sleep(0.01)
        assert kept.reads == before
        with await stream.listen(ALL, 7) as listener:
            assert await hear(listener, 1) == [8]

    play(story)


def test_what_is_told_while_the_store_is_being_read_is_not_slept_over() -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        with await stream.listen(ALL, None) as listener:
            assert await hears_nothing(listener)
            kept.told_while_nothing_was_read = 3
            kept.tell_some(1)
            assert await hear(listener, 4) == [1, 2, 3, 4]

    play(story)


def test_what_two_want_alike_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    monkeypatch.setattr(module, "TEXTS_PER_PAGE", 2)

    def note(number: int, at: int, frame: Frame) -> bytes:
        written.append(number)
        return write(number, at, frame)

    frames = [a_frame(f"wf-{at}") for at in range(4)]
    page = Page([FrameRow(4, 4, 1_000_000, frames_text(frames))], note)
    for _ in range(2):
        for interest in (ALL, *(Interest(workflow_id=f"wf-{at}") for at in range(4))):
            page.text(interest, 0)
    assert sorted(written) == [1, 2, 3, 4]
    assert len(page._texts) == 2


def test_the_time_is_up_though_others_hear_much() -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        kept.tell_some(2000)
        for cursor in (None, 0):
            name = f"from {cursor}"
            with (
                await stream.listen(Interest(workflow_id=name), cursor) as listener,
                await stream.listen(ALL, None) as other,
            ):
                waiting = asyncio.create_task(hears_nothing(listener))
                while not waiting.done():
                    kept.tell_some(1)
                    await hear(other, 1)
                assert waiting.result()
                kept.tell(a_frame(name))
                assert await hear(listener, 1) == [kept.bounds_now.newest]

    play(story)


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
some_words = st.sampled_from(["a", 'a"', "\\", "ä", "main", "signal_received", "\u2028", "</"])


@hypothesis.given(
    st.lists(st.tuples(some_words, some_words, some_words), max_size=8),
    st.builds(
        Interest,
        st.none() | some_words | words,
        st.none() | some_words | words,
        st.frozensets(some_words, max_size=2),
    ),
    st.integers(0, 9),
)
def test_a_page_holds_for_each_what_is_wanted(
    said: list[tuple[str, str, str]], interest: Interest, after: int
) -> None:
    frames = [a_frame(*each) for each in said]
    rows = [FrameRow(at, 1, 1_000_000, frames_text([frame])) for at, frame in enumerate(frames, 1)]
    if not rows:
        return
    wanted = [
        number
        for number, frame in enumerate(frames, 1)
        if number > after
        and interest.namespace in (None, frame.namespace)
        and interest.workflow_id in (None, frame.workflow_id)
        and (not interest.kinds or frame.kind in interest.kinds)
    ]
    assert numbers(Page(rows, write).text(interest, after)) == wanted


# -- who is too slow -----------------------------------------------------------------------------


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRAMES_KEPT", 20)
    monkeypatch.setattr(module, "FRAMES_PER_PAGE", 4)
    monkeypatch.setattr(module, "PATIENCE_SECS", 0.05)


@pytest.mark.usefixtures("little_room")
def test_who_does_not_go_on_is_cut_off_and_the_others_miss_nothing() -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        slow, quick = [await stream.listen(ALL, None) for _ in range(2)]
        with slow, quick:
            assert await hears_nothing(slow)
            kept.tell_some(1)
            assert await hear(slow, 1) == await hear(quick, 1) == [1]
            kept.tell_some(99)
            assert await hear(quick, 99) == list(range(2, 101))
            assert stream._frames <= 20
            with pytest.raises(Behind):
                await hear(slow, 99)
            kept.tell_some(1)
            assert await hear(quick, 1) == [101]

    play(story)


@pytest.mark.usefixtures("little_room")
def test_many_that_hang_are_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECS", 0.2)

    async def story(kept: Kept, stream: Stream) -> None:
        loop = asyncio.get_running_loop()
        hanging = [await stream.listen(ALL, None) for _ in range(8)]
        with await stream.listen(ALL, None) as quick:
            for number, listener in enumerate(hanging, 1):
                listener.__enter__()
                kept.tell_some(1)
                assert await hear(quick, 1) == [number]
                await hear(listener, number)
                assert await hears_nothing(listener)  # each is at a place of its own
            began = loop.time()
            kept.tell_some(40)
            await hear(quick, 40)
            assert loop.time() - began < 3 * 0.2
            for listener in hanging:
                with pytest.raises(Behind):
                    await hear(listener, 1)
                listener.__exit__(None, None, None)

    play(story)


@pytest.mark.usefixtures("little_room")
def test_who_is_always_a_little_too_slow_does_not_set_the_pace() -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        loop = asyncio.get_running_loop()

        async def dawdle(listener: Listener) -> None:
            with listener:
                while True:
                    await hear(listener, 1)
                    await asyncio.sleep(0.04)

        slow = asyncio.create_task(dawdle(await stream.listen(ALL, None)))
        with await stream.listen(ALL, None) as quick:
            assert await hears_nothing(quick)
            began = loop.time()
            for _ in range(100):
                kept.tell_some(4)
                await hear(quick, 4)
            assert loop.time() - began < 100 * 0.04 / 4
            with pytest.raises(Behind):
                await slow

    play(story)


@pytest.mark.usefixtures("little_room")
def test_a_burst_cuts_nobody_off_who_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECS", 1.0)  # a busy machine is no slow listener

    async def story(kept: Kept, stream: Stream) -> None:
        async def go_on(listener: Listener) -> list[int]:
            heard: list[int] = []
            while len(heard) < 200:
                heard += await hear(listener, 1)
                await asyncio.sleep(0.001)
            return heard

        listeners = [await stream.listen(ALL, None) for _ in range(3)]
        for listener in listeners:
            listener.__enter__()
        await asyncio.gather(*map(hears_nothing, listeners))
        kept.tell_some(200)
        heard = await asyncio.gather(*map(go_on, listeners))
        assert heard == [list(range(1, 201))] * 3
        for listener in listeners:
            listener.__exit__(None, None, None)

    play(story)


@pytest.mark.usefixtures("little_room")
def test_what_is_forgotten_under_a_reader_cuts_it_off() -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        kept.tell_some(100)
        with await stream.listen(ALL, 0) as listener:
            heard = await hear(listener, 1)
            kept.forget(50)
            with pytest.raises(Behind):
                await hear(listener, 100)
            assert heard == list(range(1, len(heard) + 1))

    play(story)


# -- what goes wrong -----------------------------------------------------------------------------


def test_a_store_that_is_gone_for_a_while_is_asked_again() -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        kept.tell_some(3)
        with await stream.listen(ALL, None) as live, await stream.listen(ALL, 0) as replaying:
            kept.failures = 3
            assert await hear(replaying, 3) == [1, 2, 3]
            kept.failures = 2
            kept.tell_some(1)
            assert await hear(live, 1) == await hear(replaying, 1) == [4]

    play(story)


def test_what_cannot_be_read_cuts_off_who_listens_but_not_who_comes_next() -> None:
    async def story(kept: Kept, stream: Stream) -> None:
        with await stream.listen(ALL, None) as listener:
            assert await hears_nothing(listener)
            kept.tell_some(2)
            kept.rows[-1] = kept.rows[0]
            kept.rows[0] = FrameRow(2, 1, 1_000_000, "[]")  # a number is missing
            with pytest.raises(Behind):
                await hear(listener, 1)
        with await stream.listen(ALL, None) as listener:
            kept.rows.clear()
            kept.tell_some(1)
            assert await hear(listener, 1) == [3]

    play(story)
