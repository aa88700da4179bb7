"""SIGTERM: all workers of the program drain, unless it has a mind of its own about the signal.

Only the main thread hears signals: in its event loop, or (`assay.blocking`) while it waits for a
worker whose loop is in another thread. It hears one; the next is again what it was before.
"""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_draining: dict[asyncio.AbstractEventLoop, list[Callable[[], None]]] = {}
"""What is asked of each loop's workers; a program has one handler for all of them."""

_hearing: set[asyncio.AbstractEventLoop] = set()
"""The main thread's loop, if it has the handler."""


@contextlib.contextmanager
def heeding_sigterm(drain: Callable[[], None], *, ours: bool) -> Iterator[None]:
    """Call this too when the program is asked to end, if that is ours to hear."""
    loop = asyncio.get_running_loop()
    if not ours:
        yield
        return
    asked = _draining.setdefault(loop, [])
    asked.append(drain)
    _listen(loop)
    try:
        yield
    finally:
        asked.remove(drain)
        if not asked:
            del _draining[loop]
            if loop in _hearing:
                _hearing.discard(loop)
                loop.remove_signal_handler(signal.SIGTERM)


@contextlib.contextmanager
def hearing_sigterm() -> Iterator[None]:
    """Hear it for workers in other threads, if nobody does and this is the main thread."""
    if not _is_unheard():
        yield
        return
    before = signal.signal(signal.SIGTERM, _heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _is_unheard() -> bool:
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )


def _listen(loop: asyncio.AbstractEventLoop) -> None:
    if _is_unheard():
        with contextlib.suppress(NotImplementedError, RuntimeError):
            loop.add_signal_handler(signal.SIGTERM, _drain_all)
            _hearing.add(loop)


def _heard(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    if _draining:
        _drain_all()
    else:  # no worker has begun yet
        signal.raise_signal(number)


def _drain_all() -> None:
    for loop, asked in list(_draining.items()):
        with contextlib.suppress(RuntimeError):  # that loop is closed
            loop.call_soon_threadsafe(_drain, asked)


def _drain(asked: list[Callable[[], None]]) -> None:
    for drain in list(asked):
        drain()
