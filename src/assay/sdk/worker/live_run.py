"""A run that this worker keeps alive: its replay, its claim, and what is still to be said of it."""

import asyncio
from typing import Any

from assay.sdk.replay.replay import Replay
from assay.wire.commands import CommandBody


class LiveRun:
    """One run. `is_claimed`: a task of it is in hand; `lease` is the claim, or was the last one."""

    __slots__ = (
        "hold_open", "id", "is_claimed", "is_saying", "lease", "must_say", "no", "outbox", "replay",
        "snapshot", "steps",
    )  # fmt: skip

    def __init__(self, no: int, id: str, replay: Replay) -> None:
        self.no = no
        self.id = id
        self.replay = replay
        self.lease = ""
        self.is_claimed = False
        self.is_saying = False
        self.must_say = False  # once what is being said has been heard
        self.outbox: list[CommandBody] = []
        self.snapshot: bytes | None = None
        self.steps: set[asyncio.Task[Any]] = set()
        self.hold_open: asyncio.TimerHandle | None = None

    def let_go(self) -> None:
        """It is not kept any longer; what runs for it is ended."""
        for task in self.steps:
            task.cancel()
        if self.hold_open is not None:
            self.hold_open.cancel()
        self.replay.let_go()
