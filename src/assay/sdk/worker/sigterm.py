"""SIGTERM: all workers of the program drain, unless it has a mind of its own about the signal."""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

_draining: dict[asyncio.AbstractEventLoop, list[Callable[[], None]]] = {}
"""What is asked of each loop's workers; a program has one handler for all of them."""


@contextlib.contextmanager
def heeding_sigterm(drain: Callable[[], None], *, ours: bool) -> Iterator[None]:
    """Call this too when the program is asked to end, if that is ours to hear."""
    loop = asyncio.get_running_loop()
    if not ours or (loop not in _draining and not _listen(loop)):
        yield
        return
    asked = _draining.setdefault(loop, [])
    asked.append(drain)
    try:
        yield
    finally:
        asked.remove(drain)
        if not asked:
            del _draining[loop]
            loop.remove_signal_handler(signal.SIGTERM)


def _listen(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether nobody else does."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        return False
    try:
        loop.add_signal_handler(signal.SIGTERM, _drain_all, loop)
    except (NotImplementedError, RuntimeError):
        return False
    return True


def _drain_all(loop: asyncio.AbstractEventLoop) -> None:
    for drain in list(_draining[loop]):
        drain()
