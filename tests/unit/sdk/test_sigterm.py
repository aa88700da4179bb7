"""SIGTERM drains every worker of a program, once; then it is what it was."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from assay.sdk.portal import Portal
from assay.sdk.worker.sigterm import heeding_sigterm

SECS = 5.0


def end_me() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_all_workers_drain_at_one_signal() -> None:
    async def story() -> None:
        drains = [asyncio.Event() for _ in range(3)]
        with ExitStack() as heeding:
            for drain in drains:
                heeding.enter_context(heeding_sigterm(drain.set, ours=True))
            end_me()
            async with asyncio.timeout(SECS):
                await asyncio.gather(*(drain.wait() for drain in drains))
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    asyncio.run(story())


def test_a_worker_that_is_gone_is_not_asked() -> None:
    async def story() -> None:
        gone, here = asyncio.Event(), asyncio.Event()
        with heeding_sigterm(here.set, ours=True):
            with heeding_sigterm(gone.set, ours=True):
                pass
            end_me()
            async with asyncio.timeout(SECS):
                await here.wait()
            assert not gone.is_set()

    asyncio.run(story())


@pytest.mark.parametrize("ours", [True, False])
def test_a_program_with_a_mind_of_its_own_keeps_the_signal(ours: bool) -> None:
    heard: list[Any] = []

    async def story() -> None:
        with heeding_sigterm(lambda: heard.append("worker"), ours=ours):
            end_me()
            await asyncio.sleep(0)

    before = signal.signal(signal.SIGTERM, lambda *_: heard.append("program"))
    try:
        asyncio.run(story())
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == ["program"]


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.close()


async def serving(is_there: threading.Event) -> str:
    """What a worker does."""
    drained = asyncio.Event()
    with heeding_sigterm(drained.set, ours=True):
        is_there.set()
        async with asyncio.timeout(SECS):
            await drained.wait()
    return "drained"


def end_me_when(is_there: threading.Event) -> None:
    def wait() -> None:
        is_there.wait(SECS)
        end_me()

    threading.Thread(target=wait).start()


def test_the_main_thread_hears_it_for_workers_of_a_portal(portal: Portal) -> None:
    is_there = threading.Event()
    end_me_when(is_there)
    assert portal.serve(serving(is_there)) == "drained"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_workers_of_all_loops_drain_at_one_signal(portal: Portal) -> None:
    elsewhere, here = threading.Event(), threading.Event()
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.append(portal.serve(serving(elsewhere))))
    thread.start()
    assert elsewhere.wait(SECS)
    end_me_when(here)
    assert asyncio.run(serving(here)) == "drained"
    thread.join(SECS)
    assert told == ["drained"]


def test_a_portal_leaves_the_signal_to_a_program_that_wants_it(portal: Portal) -> None:
    heard, is_there = threading.Event(), threading.Event()

    async def wait() -> None:
        with heeding_sigterm(lambda: None, ours=True):
            is_there.set()
            await asyncio.to_thread(heard.wait, SECS)

    before = signal.signal(signal.SIGTERM, lambda *_: heard.set())
    try:
        end_me_when(is_there)
        portal.serve(wait())
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard.is_set()


def test_a_program_without_a_worker_yet_ends_as_ever() -> None:
    script = """
        import asyncio, os, signal
        from assay.sdk.portal import Portal
        async def wait():
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(10)
        Portal().serve(wait())
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    assert subprocess.run(command, timeout=SECS, check=False).returncode == -signal.SIGTERM


def test_elsewhere_than_in_the_main_thread_nobody_hears_it() -> None:
    async def story() -> None:
        with heeding_sigterm(end_me, ours=True):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    thread = threading.Thread(target=lambda: asyncio.run(story()))
    thread.start()
    thread.join(SECS)
    assert not thread.is_alive()
