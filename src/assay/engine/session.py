"""One client or worker that exchanges with this instance: what it takes, what is on its way to it.

A session has several requests under way at once, and any of them may carry home what has come for
it. So what is on its way belongs to the session: whichever request is answered next takes it along.
A worker counts the tasks it was given, so that room it offers is room after those still on the way.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from assay.engine.wants import Grant, Want
from assay.errors import AssayError
from assay.model.task import TaskKind
from assay.store.port import Look
from assay.store.views import RunView


class Ended(Struct, frozen=True):
    """The end of a run somebody asked about; None: there is no such run any more."""

    id: str
    view: RunView | None


class Parcel(Struct):
    """What a request takes home for its session."""

    grants: list[Grant] = []
    endings: list[Ended] = []


class Session:
    """What is known of one of them. It is memory only: a session that is lost is begun anew."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.wants: dict[TaskKind, Want] = {}
        self.present = 0
        self.left_at = 0.0
        self.awaited: dict[str, Callable[[], object]] = {}  # and how each is given up
        self._grants: list[Grant] = []
        self._endings: list[Ended] = []
        self._given = dict.fromkeys(TaskKind, 0)
        self._held: deque[asyncio.Future[None]] = deque()

    def want_on(self, look: Look) -> Want:
        """What it takes of a kind; on another queue than before it is another want."""
        want = self.wants.get(look.kind)
        if want is None or want.look != look:
            want = Want(look, self.id, held=True, answer=self._receive, several=True)
            self.wants[look.kind] = want
        return want

    def room(self, kind: TaskKind, offered: int, seen: int) -> int:
        """What is left of an offer, once everything that is still on its way has arrived.

        What was not given here and has been seen was given by another instance.
        """
        self._given[kind] = max(self._given[kind], seen)
        return offered - (self._given[kind] - seen)

    def count_anew(self, kind: TaskKind, seen: int) -> None:
        """What it has not seen by now it will never see, but for what is still here."""
        waiting = sum(grant.spends for grant in self._grants if grant.claim.kind is kind)
        self._given[kind] = seen + waiting

    def give(self, grant: Grant) -> None:
        """A task for it."""
        self._given[grant.claim.kind] += grant.spends
        self._grants.append(grant)
        self.wake()

    def lose(self, parcel: Parcel, grant: Grant) -> None:
        """A task that was on its way there is gone, with its run: it takes up no room."""
        parcel.grants.remove(grant)
        self._given[grant.claim.kind] -= grant.spends

    def tell(self, ended: Ended) -> None:
        """A run it asked about has ended."""
        self.awaited.pop(ended.id, None)
        self._endings.append(ended)
        self.wake()

    def take(self) -> Parcel:
        """All that has come for it."""
        parcel = Parcel(self._grants, self._endings)
        self._grants, self._endings = [], []
        return parcel

    def put_back(self, parcel: Parcel) -> None:
        """The answer was not written: the next one takes it."""
        self._grants[:0] = parcel.grants
        self._endings[:0] = parcel.endings
        self.wake()

    def has_token(self, token: int) -> bool:
        """A task under that claim is here still."""
        return any(grant.claim.token == token for grant in self._grants)

    async def hold(self, secs: float) -> None:
        """Until something has come, or the time is up."""
        if self._grants or self._endings:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._held.append(future)
        try:
            async with asyncio.timeout(secs):
                await future
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            self.wake()  # perhaps it was this one that was to take home what has come
            raise
        finally:
            if future in self._held:
                self._held.remove(future)

    def wake(self) -> None:
        """A turn later one request that is held goes home with what there is then.

        By then a request whose operations were in the same commit has taken it along.
        """
        asyncio.get_running_loop().call_soon(self._wake_one)

    def let_go(self) -> None:
        """Nothing is held any longer."""
        for future in self._held:
            if not future.done():
                future.set_result(None)

    def _wake_one(self) -> None:
        if not (self._grants or self._endings):
            return
        if self._held and not any(future.done() for future in self._held):
            self._held[0].set_result(None)

    def _receive(self, grant: Grant | AssayError | None) -> None:
        if isinstance(grant, Grant):
            self.give(grant)
