"""The event stream as this process hands it on: one reader of the store for all who listen.

The tail reads new frames page by page and keeps the newest pages. Who listens goes along them; who
comes with a cursor reads from the store by itself until it has reached the oldest page that is
kept. Numbers have no gap, so that a page which does not follow the one before it is noticed, and
nothing is ever stepped over.

Nobody has a queue of his own. The tail waits a moment for the slowest before it lets go of a page
that he still has to read; after that he has fallen behind and is cut off.
"""

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from msgspec import Struct

from assay.engine.limits import (
    FRAMES_KEPT,
    FRAMES_PER_PAGE,
    PATIENCE_SECS,
    STREAM_PACE_SECS,
    STREAM_RETRY_SECS,
    TEXTS_PER_PAGE,
)
from assay.engine.outage import Outage
from assay.errors import Gone, StoreFault
from assay.model.frame import Frame
from assay.store.port import Store
from assay.store.stream import FrameRow, as_stored

log = logging.getLogger("assay.engine")
Write = Callable[[int, int, Frame], bytes]


class Behind(Exception):
    """Too slow: what comes next is not kept any longer."""


class Interest(Struct, frozen=True):
    """Which frames somebody wants; what is not said admits all."""

    namespace: str | None = None
    workflow_id: str | None = None
    kinds: frozenset[str] = frozenset()

    @property
    def mark(self) -> str:
        """What the text of a row must hold if it has anything to offer."""
        word = self.workflow_id or self.namespace
        return "" if word is None else as_stored(word)

    def takes(self, frame: Frame) -> bool:
        """Whether it is wanted."""
        return (
            (self.workflow_id is None or frame.workflow_id == self.workflow_id)
            and (self.namespace is None or frame.namespace == self.namespace)
            and (not self.kinds or frame.kind in self.kinds)
        )


class Page:
    """Frames with numbers in a row, each written once however many want it."""

    def __init__(self, rows: Sequence[FrameRow], write: Write) -> None:
        self.before, self.last = rows[0].before, rows[-1].last
        self._rows = rows
        self._write = write
        self._frames: dict[int, list[Frame]] = {}
        self._written: dict[int, bytes] = {}
        self._texts: dict[Interest, bytes] = {}

    def __len__(self) -> int:
        return self.last - self.before

    def text(self, interest: Interest, after: int) -> bytes:
        """All that is wanted of it and has a higher number, as it is sent."""
        if after > self.before:
            return self._compose(interest, after)
        text = self._texts.get(interest)
        if text is None:
            text = self._compose(interest, after)
            if len(self._texts) < TEXTS_PER_PAGE:
                self._texts[interest] = text
        return text

    def _compose(self, interest: Interest, after: int) -> bytes:
        mark, pieces = interest.mark, list[bytes]()
        for row in self._rows:
            if row.last <= after or mark not in row.text:
                continue
            for number, frame in enumerate(self._frames_of(row), row.before + 1):
                if number > after and interest.takes(frame):
                    pieces.append(self._piece(number, row.at, frame))
        return b"".join(pieces)

    def _frames_of(self, row: FrameRow) -> list[Frame]:
        frames = self._frames.get(row.last)
        if frames is None:
            frames = self._frames[row.last] = row.frames()
        return frames

    def _piece(self, number: int, at: int, frame: Frame) -> bytes:
        piece = self._written.get(number)
        if piece is None:
            piece = self._written[number] = self._write(number, at, frame)
        return piece


class Stream:
    """The tail, and the pages it keeps."""

    def __init__(self, store: Store, write: Write) -> None:
        self._store = store
        self.write = write
        self._listeners: dict[Listener, None] = {}
        self.unreadable = Outage(
            log, "the event stream cannot be read", "the event stream can be read again"
        )
        self._tail: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._progress = asyncio.Event()
        self.turn = asyncio.Lock()
        self._pages: dict[int, Page] = {}
        self._first = self._next = 0
        self._frames = 0
        # How long the slowest is waited for until the tail has caught up with the store again.
        self._patience = PATIENCE_SECS
        # Up to which number everything was read; before the first look nobody knows.
        self._read_to: int | None = None

    async def listen(self, interest: Interest, cursor: int | None) -> "Listener":
        """From the cursor on, or else all that is committed from now on."""
        stored = self._store.stream
        if cursor is None:
            await stored.number_all()
            return Listener(self, interest, (await stored.bounds()).newest)
        bounds = await stored.bounds()
        if cursor > bounds.newest:
            raise Gone(f"no event has had an id as high as {cursor} yet")
        if max(cursor, 0) < bounds.pruned:
            raise Gone(f"events after {cursor} are not kept any more")
        return Listener(self, interest, max(cursor, 0))

    # -- for listeners ---------------------------------------------------------------------------

    def keeps_all_after(self, number: int) -> bool:
        """Whether what comes after a number is kept, or still to come."""
        if self._pages:
            return self._pages[self._first].before <= number
        return self._read_to is not None and self._read_to <= number

    def enter(self, listener: "Listener") -> None:
        """Somebody listens: the tail reads on."""
        self._listeners[listener] = None
        if self._tail is None:
            self._store.stream.on_news(self._news.set)
            self._tail = asyncio.get_running_loop().create_task(self._follow())

    def leave(self, listener: "Listener") -> None:
        """Nobody is left: nothing is read, and nothing kept."""
        self._listeners.pop(listener, None)
        self._progress.set()
        if not self._listeners and self._tail is not None:
            self._store.stream.on_news(None)
            self._tail.cancel()
            self._tail = None
            self._forget()

    def place_of(self, after: int) -> int:
        """The place of the first kept page that goes beyond a number."""
        places = range(self._first, self._next)
        return self._first + bisect_right(places, after, key=lambda at: self._pages[at].last)

    def page_at(self, place: int) -> Page | None:
        """The page at that place, None if it is still to come."""
        if place < self._first:
            raise Behind
        return self._pages.get(place)

    def has_moved(self) -> None:
        """A listener went on to its next page."""
        self._progress.set()

    async def read(self, after: int) -> Page | None:
        """A page from the store, None if there is nothing yet."""
        rows = await self._store.stream.page(after, FRAMES_PER_PAGE)
        self.unreadable.is_over()
        if not rows:
            return None
        if rows[0].before > after:
            raise Behind  # pruned meanwhile
        return Page(rows, self.write)

    # -- the tail --------------------------------------------------------------------------------

    async def _follow(self) -> None:
        while True:
            try:
                await self._go_on()
            except StoreFault as fault:
                self.unreadable.note(fault)
                await asyncio.sleep(STREAM_RETRY_SECS)
            except Exception:
                log.exception("the event stream cannot go on; its listeners are cut off")
                self._forget()
                self._first = self._next = self._next + 1
                self._wake()
                await asyncio.sleep(STREAM_RETRY_SECS)

    async def _go_on(self) -> None:
        if self._read_to is None:
            self._read_to = (await self._store.stream.bounds()).newest
            self._wake()
        self._news.clear()
        page = await self.read(self._read_to)
        if page is None:
            await self._news.wait()
            return
        if len(page) < FRAMES_PER_PAGE:
            self._patience = PATIENCE_SECS  # nothing more is there yet: no harm was done
        await self._make_room(len(page))
        self._pages[self._next] = page
        self._next += 1
        self._frames += len(page)
        self._read_to = page.last
        self._wake()
        # Who was woken goes on before there is more, also where reading does not wait.
        await asyncio.sleep(0 if len(page) >= FRAMES_PER_PAGE else STREAM_PACE_SECS)

    async def _make_room(self, size: int) -> None:
        """Let go of the oldest pages; of one that somebody is still to read, not at once."""
        loop = asyncio.get_running_loop()
        most, give_up = FRAMES_KEPT, loop.time() + self._patience
        while self._pages and self._frames + size > most:
            if most == FRAMES_KEPT and any(each.place == self._first for each in self._listeners):
                self._progress.clear()
                try:
                    async with asyncio.timeout_at(give_up):
                        await self._progress.wait()
                    continue
                except TimeoutError:
                    most = FRAMES_KEPT // 2  # whoever is not much further on is as slow
            self._frames -= len(self._pages.pop(self._first))
            self._first += 1
        self._patience = min(self._patience, max(give_up - loop.time(), 0))

    def _forget(self) -> None:
        self._pages.clear()
        self._frames = 0
        self._first = self._next
        self._read_to = None

    def _wake(self) -> None:
        for listener in self._listeners:
            listener.wake()


class Listener:
    """One who listens: where it is, and what it waits for."""

    def __init__(self, stream: Stream, interest: Interest, after: int) -> None:
        self._stream = stream
        self._interest = interest
        self._after = after
        self._waiting: asyncio.Future[None] | None = None
        # The place of the kept page it reads next; None while it reads from the store.
        self.place: int | None = None

    def __enter__(self) -> Self:
        self._stream.enter(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.leave(self)

    def wake(self) -> None:
        """There may be more."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def read(self, until: float) -> bytes:
        """What comes next of what is wanted; nothing when the time is up.

        What it gives was not given before, and nothing before it was left out.
        """
        loop = asyncio.get_running_loop()
        while True:
            page = await self._next_page(until)
            if page is None:
                return b""
            text = page.text(self._interest, self._after)
            self._after = max(self._after, page.last)
            if text:
                return text
            await asyncio.sleep(0)
            if loop.time() >= until:
                return b""

    async def _next_page(self, until: float) -> Page | None:
        loop, stream = asyncio.get_running_loop(), self._stream
        while True:
            if self.place is None and stream.keeps_all_after(self._after):
                self.place = stream.place_of(self._after)
            if self.place is None:
                page = await self._from_store()
                wait_until = min(until, loop.time() + STREAM_RETRY_SECS)
            else:
                page, wait_until = stream.page_at(self.place), until
            if page is not None:
                if self.place is not None:
                    self.place += 1
                    stream.has_moved()
                return page
            if self.place is not None or not stream.keeps_all_after(self._after):
                await self._wait(wait_until)
            if loop.time() >= until:
                return None

    async def _from_store(self) -> Page | None:
        try:
            # One at a time, and a turn of the loop for each: everybody else works in between.
            async with self._stream.turn:
                await asyncio.sleep(0)
                return await self._stream.read(self._after)
        except StoreFault as fault:
            self._stream.unreadable.note(fault)
            return None

    async def _wait(self, until: float) -> None:
        """For more, or for the tail to be where this one is."""
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout_at(until):
                await self._waiting
        except TimeoutError:
            pass
        finally:
            self._waiting = None
