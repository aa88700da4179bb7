"""Crashes at every commit: a test is played again and again, and killed at each in turn.

Everything dies with the commit, engine, worker and the test's own code, and whatever was not
committed is gone. Then the test is begun anew on what is kept, as a program that is started again,
and must come to what it came to undisturbed.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NoReturn, TypeVar, Unpack, cast

from msgspec import Struct

from assay.store.open import open_store
from assay.store.port import Batch, CommitOutcome, Store
from assay.testing.clock import VirtualClock
from assay.testing.environments import Environment, open_environment
from assay.testing.faults import NotSurvived
from assay.testing.setting import Options, Setting, moment_of

IN_MEMORY = Path("/dev/shm")  # noqa: S108 - it is the machine that keeps the file, not the disk
ROUNDS = 100  # of cancelling what a crash has left, until none of it lives
ROUND_SECS = 0.05
Result = TypeVar("Result")
Story = Callable[[Environment], Awaitable[Result]]


class Crash(Struct, frozen=True):
    """Which commit is the last thing that happens, and whether it still does."""

    commit: int
    is_in: bool


def survive(story: Story[Result], **options: Unpack[Options]) -> Result:
    """Play a coroutine function undisturbed, then with a crash before and after each commit.

    Raises `NotSurvived` if a crash changes what it comes to. After a crash it is begun anew: so
    start runs with an id and `if_exists="use"`, and signal with a `request_id`.
    """
    setting = Setting(**options)
    undisturbed = _Life(story, setting, None)
    expected: Result = undisturbed.play()
    for number in range(1, undisturbed.commits + 1):
        for is_in in (False, True):
            life = _Life(story, setting, Crash(number, is_in))
            life.expect(expected)
    return expected


class _Life:
    """One database, and who lives on it until the crash and afterwards."""

    def __init__(self, story: Story[Any], setting: Setting, crash: Crash | None) -> None:
        self.commits = 0
        self._story = story
        self._setting = setting
        self._crash = crash
        self._what = ""
        self._clock = VirtualClock(moment_of(setting.start))

    def play(self) -> Any:
        """What the story comes to."""
        place = IN_MEMORY if IN_MEMORY.is_dir() else None
        with tempfile.TemporaryDirectory(prefix="assay-", dir=place) as folder:
            backend = str(Path(folder) / "survive.db")
            outcome = _on_a_loop(lambda: self._live(backend))
            if outcome is _CRASHED:
                outcome = _on_a_loop(lambda: self._live(backend))
            return outcome

    def expect(self, expected: object) -> None:
        """It must come to this in spite of the crash."""
        try:
            found = self.play()
        except Exception as error:
            raise NotSurvived(f"{self._text()}: {error!r}") from error
        if found != expected:
            raise NotSurvived(f"{self._text()}: {found!r}, and {expected!r} without")

    async def _live(self, backend: str) -> Any:
        crashed = asyncio.Event()
        store = _Mortal(open_store(backend), lambda batch: self._commits(batch, crashed))
        env = await open_environment(self._setting, self._clock, cast("Store", store))
        story = asyncio.ensure_future(self._story(env))
        crash = asyncio.ensure_future(crashed.wait())
        await asyncio.wait([story, crash], return_when=asyncio.FIRST_COMPLETED)
        if not crash.done():
            crash.cancel()
            await env.close()
            env.check()
            return await story
        return _CRASHED

    def _commits(self, batch: Batch, crashed: asyncio.Event) -> Crash | None:
        self.commits += 1
        if self._crash is None or self.commits != self._crash.commit:
            return None
        self._what = ", ".join(event.type for event in batch.decision.events)
        crashed.set()
        return self._crash

    def _text(self) -> str:
        assert self._crash is not None
        when = "after" if self._crash.is_in else "before"
        return f"a crash {when} commit {self._crash.commit} ({self._what or 'no event'})"


_CRASHED = object()


class _Mortal:
    """A store whose process dies at a commit: from then on no call of it comes back."""

    def __init__(self, store: Store, fate: Callable[[Batch], Crash | None]) -> None:
        self._store = store
        self._fate = fate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, batch: Batch) -> CommitOutcome:
        crash = self._fate(batch)
        if crash is None:
            return await self._store.commit(batch)
        if crash.is_in:
            await self._store.commit(batch)
        await self._store.close()
        return await _nothing_more()


async def _nothing_more() -> NoReturn:
    await asyncio.get_running_loop().create_future()
    raise AssertionError


def _on_a_loop(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run it on a loop of its own; whatever it leaves there ends with it."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(main())
    finally:
        for _ in range(ROUNDS):
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            if not left:
                break
            loop.run_until_complete(asyncio.wait(left, timeout=ROUND_SECS))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
