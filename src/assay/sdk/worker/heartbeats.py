"""Signs of life from a thread of their own: leases and attempts live on while user code blocks.

The same thread watches the loop, and says where it is stuck when user code does not let go of it.
"""

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType

from msgspec import Struct

LONGEST_SECS = 10.0  # contract §20.2: at least so often
SHORTEST_SECS = 0.05
LOOK_SECS = 0.5
BLOCKED_SECS = 2.0  # a loop that does not turn for so long is blocked
REPLAY = "assay.sdk.replay."  # from there workflow code is stepped, and from nowhere else
TO_A_THREAD = "write what blocks as `def`, or await asyncio.to_thread(...) in it"
OUT_OF_THE_WORKFLOW = (
    "this is workflow code, which has no threads: move what takes long into an activity or into "
    "ctx.step(function, ...), written as `def`"
)
log = logging.getLogger("assay.sdk")


class Sign(Struct, frozen=True):
    """What a worker has in hand: runs, and attempts whose heartbeat is due (number and token)."""

    runs: list[str]
    attempts: list[tuple[int, str]]


class Heartbeats:
    """The thread. `look` says what is in hand, `beat` tells the engine, `leave` ends; all there."""

    def __init__(
        self,
        *,
        look: Callable[[], Sign],
        beat: Callable[[Sign], None],
        every: Callable[[], float],
        turn: Callable[[Callable[[], None]], object],
        leave: Callable[[], None],
    ) -> None:
        self._look = look
        self._beat = beat
        self._every = every
        self._turn = turn
        self._leave = leave
        self._loop_thread = threading.get_ident()
        self._turned_at = time.monotonic()
        self._is_told = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="assay-heartbeats", daemon=True)

    def start(self) -> None:
        """From now on."""
        self._thread.start()

    def stop(self) -> None:
        """No more; the thread ends by itself."""
        self._over.set()

    def _run(self) -> None:
        beaten_at = 0.0
        while not self._over.is_set():
            now = time.monotonic()
            every = min(max(self._every(), SHORTEST_SECS), LONGEST_SECS)
            if now - beaten_at >= every:
                beaten_at = now
                self._beat_once()
            self._watch(now)
            self._over.wait(min(LOOK_SECS, every / 2))
        self._leave()

    def _beat_once(self) -> None:
        try:
            self._beat(self._look())
        except Exception as fault:  # noqa: BLE001 - the next one may get through
            log.warning("a heartbeat did not get through: %s", fault)

    def _watch(self, now: float) -> None:
        try:
            self._turn(self._turned)
        except RuntimeError:
            return  # the loop is closed
        stuck = now - self._turned_at
        if stuck < BLOCKED_SECS:
            self._is_told = False
        elif not self._is_told:
            self._is_told = True
            frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001 - its documented use
            stack = "".join(traceback.format_stack(frame)) if frame is not None else ""
            remedy = OUT_OF_THE_WORKFLOW if _is_in_a_replay(frame) else TO_A_THREAD
            log.warning(
                "the event loop has been blocked for %.1f s: %s. It is here:\n%s",
                stuck,
                remedy,
                stack,
            )

    def _turned(self) -> None:
        self._turned_at = time.monotonic()


def _is_in_a_replay(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith(REPLAY):
            return True
        frame = frame.f_back
    return False
