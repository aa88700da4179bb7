"""A recorded history: the events of one run, as they are kept in a file and replayed.

It is read from a file of its own, from the JSON that `GET /workflows/{id}/events` answers with, and
from the same as Python objects.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

from assay.errors import UsageFault
from assay.sdk.records import EventRecord

Recorded: TypeAlias = (
    "History | str | bytes | os.PathLike[str] | Mapping[str, Any] | Iterable[Mapping[str, Any]]"
)
FIELDS = ("seq", "event_type", "payload", "timestamp")


class History:
    """The events of one run, in order. Payloads are JSON text, as the engine holds them."""

    def __init__(
        self, workflow_id: str, workflow_type: str | None, events: Iterable[EventRecord]
    ) -> None:
        self.workflow_id = workflow_id
        self.workflow_type = workflow_type
        self.events = list(events)

    def __iter__(self) -> Iterator[EventRecord]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        return f"<history of {self.workflow_id!r}: {', '.join(self.types)}>"

    @property
    def types(self) -> list[str]:
        """What happened, in order: the types of the events."""
        return [event["event_type"] for event in self.events]

    def payloads(self, event_type: str) -> list[Any]:
        """What the events of one type say, decoded."""
        found = [event["payload"] for event in self.events if event["event_type"] == event_type]
        return [None if text is None else json.loads(text) for text in found]

    def to_json(self) -> str:
        """As it is kept in a file."""
        events = [{field: dict(event)[field] for field in FIELDS} for event in self.events]
        about = {"workflow_id": self.workflow_id, "workflow_type": self.workflow_type}
        return json.dumps({**about, "events": events}, indent=1, ensure_ascii=False) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keep it in a file, for `Replayer` to replay with the code of later versions."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "History":
        """The history kept in a file."""
        return cls.of(Path(path))

    @classmethod
    def of(cls, recorded: Recorded) -> "History":
        """A history in any of its forms: a path, JSON, or what JSON was read as."""
        if isinstance(recorded, History):
            return recorded
        if isinstance(recorded, os.PathLike):
            return cls.of(Path(recorded).read_text(encoding="utf-8"))
        if isinstance(recorded, bytes | str):
            return cls.of(_parsed(recorded))
        if isinstance(recorded, Mapping):
            return cls(
                recorded.get("workflow_id") or "",
                recorded.get("workflow_type"),
                _events(recorded.get("events")),
            )
        events = _events(recorded)
        return cls(str(events[0].get("workflow_id") or "") if events else "", None, events)


def _parsed(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        if isinstance(text, str) and text.endswith(".json"):
            raise UsageFault(f"a path is a pathlib.Path, or goes to History.load: {text}") from None
        raise UsageFault(f"a history is JSON: {error}") from error


def _events(recorded: object) -> list[EventRecord]:
    if not isinstance(recorded, Iterable):
        raise UsageFault("a history has a list of `events`")
    events = list(recorded)
    for event in events:
        if not isinstance(event, Mapping) or not all(field in event for field in FIELDS):
            raise UsageFault(f"an event has {', '.join(FIELDS)}, not {event!r}")
    return cast("list[EventRecord]", sorted(events, key=lambda event: event["seq"]))
