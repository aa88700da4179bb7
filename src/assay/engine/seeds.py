"""Randomness comes from named streams, so that a seed replays all of it."""

import hashlib
import os
import random


class Seeds:
    """Streams of random numbers, one for each purpose."""

    def __init__(self, seed: bytes | None = None) -> None:
        self._seed = os.urandom(32) if seed is None else seed

    def stream(self, name: str) -> random.Random:
        """The stream of that name; the same name and seed give the same numbers."""
        return random.Random(hashlib.sha256(self._seed + name.encode()).digest())  # noqa: S311 - seeded by the system unless a test wants to replay
