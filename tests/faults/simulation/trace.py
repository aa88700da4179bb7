"""What happened, in order: the tail in words, all of it as one digest."""

import hashlib
from collections import deque

TAIL = 120


class Broken(AssertionError):
    """The engine did what it must never do."""


class Trace:
    """Words go in, a digest of all of them comes out."""

    def __init__(self, *, loud: bool = False) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._loud = loud
        self.tail: deque[str] = deque(maxlen=TAIL)
        self.events = 0
        self.commits = 0

    def note(self, text: str, detail: bytes = b"") -> None:
        """Add one line, and what the line leaves out."""
        self._hash.update(text.encode())
        self._hash.update(detail)
        self.tail.append(text)
        if self._loud:
            print(text)

    @property
    def digest(self) -> str:
        """The same for the same story."""
        return self._hash.hexdigest()
