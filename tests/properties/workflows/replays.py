"""What a replay has come to, written down so that two of them can be compared."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import msgspec
from msgspec import Struct

import assay.sdk.worker.runs
from assay.sdk.context import replay_of
from assay.sdk.convert import DEFAULT
from assay.sdk.definition import WorkflowDefinition
from assay.sdk.replay import outgoing as speech
from assay.sdk.replay.asked import Kind
from assay.sdk.replay.outgoing import Outgoing
from assay.sdk.replay.replay import Replay
from assay.wire.commands import CommandBody
from assay.wire.commands.recorded import RecordSideEffect, RecordSnapshot
from assay.wire.exchange.answer import Entry

_encode = msgspec.json.encode


class Point(Struct):
    """Where a live copy stood when it had said what it had to say."""

    workflow_id: str
    copy: int
    seq: int
    now: float
    said: list[bytes]
    state: dict[str, Any]


@contextlib.contextmanager
def written_down(points: list[Point]) -> Iterator[None]:
    """Every word of every worker is written down meanwhile."""
    copies: list[Replay] = []

    def listening(
        replay: Replay, now: float, snapshot: bytes | None
    ) -> tuple[Outgoing, bytes | None]:
        said, state = speech.outgoing(replay, now, snapshot)
        if replay not in copies:
            copies.append(replay)
        points.append(
            Point(
                replay.workflow_id,
                copies.index(replay),
                replay.given,
                now,
                words(said.commands),
                state_of(replay),
            )
        )
        return said, state

    with mock.patch.object(assay.sdk.worker.runs, "outgoing", listening):
        yield


def state_of(replay: Replay) -> dict[str, Any]:
    """Everything that another replay of the same history must have too."""
    found = {
        "counts": {str(kind): number for kind, number in sorted(replay._counts.items())},
        "branches": repr(replay.loop._numbers),
        "now": replay.loop.now,
        "cancelled": replay.is_cancelled,
        "snapshot": speech._snapshot(replay),
        "patches": dict(replay._patches),
    }
    if replay.is_over:
        return {**found, "ending": _encode(speech._ending(replay))}
    return {
        **found,
        "asked": [_asked(asked) for asked in replay.pending.values() if asked.is_wanted],
        "waits": [
            (wait.asked_for, wait.timer_seq)
            for waits in replay._waits.values()
            for wait in waits
            if not wait.done()
        ],
        "signals": replay.unconsumed(),
        "unclaimed": sorted(map(str, replay._unclaimed)),
        "early": sorted(map(str, replay._early)),
    }


def _asked(asked: Any) -> tuple[Any, ...]:
    said = None
    if asked.key[0] is not Kind.SIDE_EFFECT and asked.command is not None:
        said = _encode(asked.command)
    work = asked.work
    tries = None if work is None else (work.attempt, work.retry_at)
    return (*asked.key, asked.name, asked.recorded, said, tries)


def words(commands: Sequence[CommandBody]) -> list[bytes]:
    """Commands as they are written; of a side effect not the value, and no snapshots."""
    return [
        _encode((each.seq, each.name) if isinstance(each, RecordSideEffect) else each)
        for each in commands
        if not isinstance(each, RecordSnapshot)
    ]


class Copy:
    """A replay of our own, beside the live ones."""

    def __init__(self, workflow: WorkflowDefinition, workflow_id: str) -> None:
        self.replay = replay_of(workflow, workflow_id, DEFAULT)

    def feed(self, entries: Sequence[Entry]) -> None:
        self.replay.advance(entries)
        assert self.replay.fault is None, str(self.replay.fault)

    def say(self, now: float) -> list[bytes]:
        """What it asks for that it has not asked for yet."""
        said, _ = speech.outgoing(self.replay, now, None)
        return words(said.commands)

    @property
    def state(self) -> dict[str, Any]:
        return state_of(self.replay)

    def close(self) -> None:
        self.replay.let_go()
