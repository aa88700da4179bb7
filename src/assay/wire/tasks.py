"""What a worker is handed: its payloads are real JSON, put in as the text they are stored as.

A history may be long and is read often: the answer is put together from stored texts, nothing of it
is decoded and encoded again.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec import Raw, Struct

from assay.model.ids import claim_token
from assay.model.run import Run
from assay.model.time import MICROS
from assay.wire.fields import Time

NO_WORKFLOW_TASK = b"null"
NO_ACTIVITY_TASK = b'{"task":null}'

_encode = msgspec.json.encode


class TaskEvent(Struct, frozen=True):
    """An event as a worker is handed it."""

    seq: int
    event_type: str
    payload: Raw
    timestamp: Time


class WorkflowTask(Struct, frozen=True):
    """A run that has news, with its history: what `workflow_task` writes, for who reads it."""

    workflow_id: str
    namespace: str
    workflow_type: str
    task_queue: str
    lease: str
    input: Raw
    history: list[TaskEvent]


class Line(Protocol):
    """An event as stores read it for a history."""

    @property
    def seq(self) -> int:
        """Its place."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def type(self) -> str:
        """What happened."""

    @property
    def at(self) -> int:
        """When."""

    @property
    def payload(self) -> str | None:
        """JSON text."""


def workflow_task(run: Run, token: int, history: Sequence[Line]) -> bytes:
    """A claimed workflow task with its history, ascending; the first event holds the input."""
    lines = ",".join(
        [
            f'{{"seq":{line.seq},"event_type":"{line.type}",'
            f'"payload":{line.payload or "null"},"timestamp":{line.at / MICROS}}}'
            for line in history
        ]
    )
    given = history[0].payload if history else None
    return (
        f'{{"workflow_id":{_quoted(run.id)},"namespace":{_quoted(run.namespace)},'
        f'"workflow_type":{_quoted(run.type)},"task_queue":{_quoted(run.queue)},'
        f'"lease":"{claim_token(token)}","input":{given or "null"},"history":[{lines}]}}'
    ).encode()


def _quoted(text: str) -> str:
    return _encode(text).decode()
