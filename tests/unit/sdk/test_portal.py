"""The way from threads into a loop: values, faults, interruptions, and the end of it."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from assay.errors import UsageFault
from assay.sdk.faults import ClientFault
from assay.sdk.portal import Portal

SECS = 10.0


class Inhabitant:
    def __init__(self) -> None:
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.close()


def portals() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "assay-portal"]


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return number * 2


def test_values_and_faults_come_back(portal: Portal) -> None:
    async def fail() -> None:
        raise LookupError("as it was")

    assert portal.call(double(4)) == 8
    with pytest.raises(LookupError, match="as it was"):
        portal.call(fail())


def test_threads_share_one_loop(portal: Portal) -> None:
    both = asyncio.Barrier(2)

    async def meet() -> asyncio.AbstractEventLoop:
        await both.wait()
        return asyncio.get_running_loop()

    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(lambda _: portal.call(meet()), range(2), timeout=SECS)
    assert first is second


def test_an_interrupted_call_is_cancelled_and_may_clean_up(portal: Portal) -> None:
    told, main = [], threading.main_thread().ident or 0

    async def wait() -> None:
        threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT)).start()
        try:
            await asyncio.sleep(SECS)
        except asyncio.CancelledError:
            await asyncio.sleep(0.05)
            told.append("cleaned up")
            raise

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        portal.call(wait())
    assert told == ["cleaned up"]
    assert time.monotonic() - began < SECS / 2
    assert portal.call(double(1)) == 2


def test_closing_closes_what_lives_behind_it_once() -> None:
    before, thing = len(portals()), Inhabitant()

    async def make() -> Inhabitant:
        return thing

    portal = Portal()
    assert portal.open(make) is thing
    portal.close()
    portal.close()
    assert thing.closed == 1
    assert len(portals()) == before
    with pytest.raises(ClientFault, match="closed"):
        portal.call(double(1))


def test_closing_ends_calls_of_other_threads() -> None:
    portal = Portal()
    waiting = threading.Event()

    async def wait() -> None:
        waiting.set()
        await asyncio.sleep(SECS)

    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(lambda: portal.call(wait()))
        assert waiting.wait(SECS)
        portal.close()
        with pytest.raises(ClientFault, match="closed"):
            call.result(SECS)


def test_what_cannot_be_made_leaves_no_thread() -> None:
    before = len(portals())

    async def make() -> Inhabitant:
        raise ConnectionError("nobody there")

    with pytest.raises(ConnectionError):
        Portal().open(make)
    assert len(portals()) == before


def test_who_forgets_it_closes_it() -> None:
    before, portal = len(portals()), Portal()
    assert len(portals()) == before + 1
    del portal
    gc.collect()
    assert len(portals()) == before


def test_a_call_from_inside_would_wait_for_itself(portal: Portal) -> None:
    async def call() -> None:
        portal.call(double(1))

    with pytest.raises(UsageFault, match="async client"):
        portal.call(call())


def told(script: str) -> str:
    """What a program of its own prints; it may complain of nothing."""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=SECS,
        check=True,
    )
    assert not done.stderr, done.stderr
    return done.stdout


def test_a_forked_child_is_told_to_connect_anew() -> None:
    said = told(
        """
        import os, warnings
        from assay.sdk.portal import Portal
        async def nothing(): pass
        portal = Portal()
        warnings.simplefilter("ignore")
        child = os.fork()
        if child == 0:
            try:
                portal.call(nothing())
            except Exception as fault:
                print(type(fault).__name__, fault, flush=True)
        else:
            os.waitpid(child, 0)
            portal.call(nothing())
        """
    )
    assert (
        said == "UsageFault a client does not survive a fork: connect anew in the child process\n"
    )


def test_the_end_of_a_program_closes_it() -> None:
    said = told(
        """
        from assay.sdk.portal import Portal
        class Thing:
            async def close(self): print("closed", flush=True)
        async def make(): return Thing()
        portal = Portal()
        portal.open(make)
        """
    )
    assert said == "closed\n"
