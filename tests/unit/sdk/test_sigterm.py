"""SIGTERM drains every worker of a program, once; then it is what it was."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from contextlib import ExitStack
from typing import Any

import pytest

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


def test_elsewhere_than_in_the_main_thread_nobody_hears_it() -> None:
    async def story() -> None:
        with heeding_sigterm(end_me, ours=True):
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    thread = threading.Thread(target=lambda: asyncio.run(story()))
    thread.start()
    thread.join(SECS)
    assert not thread.is_alive()
