"""The threads of plain functions: what comes back, how many there are, and that nobody waits."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import textwrap
import threading

import pytest

from assay.sdk.worker.threads import Call, Threads, Work
from tests.unit.sdk.scripted import Run

SECS = 10.0
NAME: contextvars.ContextVar[str] = contextvars.ContextVar("NAME")


def work_of(call: Call) -> Work:
    return Work(call, lambda: None)


def alive() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("test-thread")]


async def ended() -> None:
    async with asyncio.timeout(SECS):
        while alive():
            await asyncio.sleep(0.005)


def test_values_and_faults_come_back(run: Run) -> None:
    def fail() -> None:
        raise LookupError("as it was")

    async def story() -> None:
        threads = Threads(2, "test-thread")
        assert await threads.run(work_of(lambda: 42)) == 42
        with pytest.raises(LookupError, match="as it was"):
            await threads.run(work_of(fail))
        with pytest.raises(RuntimeError, match="StopIteration"):
            await threads.run(work_of(lambda: next(iter(()))))
        assert len(alive()) == 1
        threads.close()
        await ended()

    run(story())


def test_a_function_has_the_context_of_whoever_asks(run: Run) -> None:
    async def story() -> None:
        threads = Threads(1, "test-thread")
        NAME.set("outer")
        assert await threads.run(work_of(NAME.get)) == "outer"
        await threads.run(work_of(lambda: NAME.set("inner")))
        assert NAME.get() == "outer"
        threads.close()

    run(story())


def test_what_finds_no_thread_waits_for_one(run: Run) -> None:
    meeting, go = threading.Barrier(3, timeout=SECS), threading.Event()

    def work() -> None:
        meeting.wait()
        go.wait(SECS)

    async def story() -> None:
        threads = Threads(2, "test-thread")
        first = [threads.run(work_of(work)) for _ in range(2)]
        later = [threads.run(work_of(threading.get_ident)) for _ in range(3)]
        later[1].cancel()
        await asyncio.to_thread(meeting.wait)
        assert len(alive()) == 2
        assert not any(each.done() for each in (*first, later[0], later[2]))
        go.set()
        assert len({*await asyncio.gather(*first, later[0], later[2])}) <= 3
        threads.close()
        await ended()

    run(story())


def test_what_was_given_up_keeps_its_thread_until_it_ends(run: Run) -> None:
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait(SECS)

    async def story() -> None:
        threads = Threads(1, "test-thread")
        told: list[str] = []
        given_up = threads.run(
            Work(work, lambda: told.append("began"), lambda: told.append("ended"))
        )
        await asyncio.to_thread(begun.wait, SECS)
        given_up.cancel()
        following = threads.run(Work(lambda: "following", lambda: told.append("began")))
        await asyncio.sleep(0.02)
        assert told == ["began"]
        go.set()
        assert await following == "following"
        assert told == ["began", "ended", "began"]
        threads.close()
        await ended()

    run(story())


def test_what_waits_at_the_end_is_not_begun(run: Run) -> None:
    begun, go = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait(SECS)

    async def story() -> None:
        threads = Threads(1, "test-thread")
        under_way, waiting = threads.run(work_of(work)), threads.run(work_of(lambda: None))
        await asyncio.to_thread(begun.wait, SECS)
        threads.close()
        assert waiting.cancelled()
        assert threads.run(work_of(lambda: None)).cancelled()
        go.set()
        await under_way
        await ended()

    run(story())


def test_a_program_ends_while_they_run() -> None:
    script = """
        import asyncio, threading
        from assay.sdk.worker.threads import Threads, Work
        async def main():
            begun = threading.Event()
            endless = lambda: begun.set() or threading.Event().wait()
            Threads(1, "test-thread").run(Work(endless, lambda: None))
            await asyncio.to_thread(begun.wait)
        asyncio.run(main())
        print("over")
    """
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=SECS,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("over\n", "")
