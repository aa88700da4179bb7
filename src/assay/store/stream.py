"""The event stream as it is stored: the frames of a commit are one JSON text, numbered as a whole.

Numbers have no gap. They are given in the order in which the frames are to be seen, and a number
once seen is never followed by a lower one.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
from msgspec import Struct

from assay.model.frame import Frame

# One step of pruning: it takes a few milliseconds, during which a file takes no commits.
ROWS_PRUNED_AT_ONCE = 500
FRAMES_PRUNED_AT_ONCE = 5_000

_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(list[Frame]).decode


class FrameRow(Struct, frozen=True, gc=False):
    """The frames of one commit; `last` is the number of the last of them, `text` holds them all."""

    last: int
    size: int
    at: int
    text: str

    @property
    def before(self) -> int:
        """The number before the first of them."""
        return self.last - self.size

    def frames(self) -> list[Frame]:
        """The frames, in their order."""
        return _decode(self.text)


class Bounds(Struct, frozen=True):
    """Up to which number frames were pruned, and the last number ever given."""

    pruned: int
    newest: int


class StoredStream(Protocol):
    """What a store does for the event stream."""

    async def page(self, after: int, most: int) -> Sequence[FrameRow]:
        """Frames after a number: those of one commit, and about so many more."""

    async def bounds(self) -> Bounds:
        """What there is to be read."""

    async def number_all(self) -> None:
        """Whatever was committed before this call has its number when it returns."""

    async def prune(self, older_than: int, keep: int) -> int:
        """Forget some frames from before that moment, and beyond the newest `keep`; how many."""

    def on_news(self, listener: Callable[[], None] | None) -> None:
        """Call this when there may be more to read; None: nobody wants to know any longer."""


def frames_text(frames: Sequence[Frame]) -> str:
    """The frames of a commit as they are stored."""
    return _encode(frames).decode()


def as_stored(word: str) -> str:
    """A word as it stands in the text of frames."""
    return _encode(word).decode()
