"""Recorded histories against the code of today: does every run in flight go on as it began?"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from msgspec import Raw, Struct

from assay.errors import UsageFault
from assay.model.events import TERMINAL_EVENTS, EventType
from assay.sdk.context import replay_of
from assay.sdk.convert import DEFAULT, Codec
from assay.sdk.definition import WorkflowDefinition, name_of
from assay.sdk.faults import Mismatch, PayloadError
from assay.sdk.replay.asked import Asked, Key, Kind, place_text
from assay.sdk.replay.entries import said_of
from assay.sdk.replay.replay import Replay
from assay.sdk.worker.registry import Registry
from assay.testing.history import History, Recorded
from assay.testing.standing import standing
from assay.wire.commands.endings import ContinueAsNew
from assay.wire.exchange.answer import Entry

Value = TypeVar("Value")


class Replayed(Struct, frozen=True):
    """Where the code stands at the end of a history: how it ended, or that it goes on (None)."""

    ending: str | None
    result: Any = None
    error: BaseException | None = None


class Replayer:
    """Replays histories with the workflows it is given. Nothing but workflow code is run."""

    def __init__(self, workflows: Sequence[Callable[..., Any]], *, codec: Codec = DEFAULT) -> None:
        self._registry = Registry()
        self._codec = codec
        for function in workflows:
            self._registry.define(name_of(function), function)

    def replay(self, recorded: Recorded, *, workflow_type: str | None = None) -> Replayed:
        """Raises `Mismatch` where the code asks for something else than the history holds.

        `WorkflowMisuse` says that it does what no replay could do again alike. The type of the
        workflow has to be named where neither the history nor a single workflow says it.
        """
        history = History.of(recorded)
        workflow = self._workflow(workflow_type or history.workflow_type)
        return _outside_of_tasks(lambda: self._replay(history, workflow))

    def _replay(self, history: History, workflow: WorkflowDefinition) -> Replayed:
        replay = replay_of(workflow, history.workflow_id, self._codec)
        entries = [_entry(each) for each in standing(history.events)]
        try:
            replay.advance(entries)
            if replay.fault is not None:
                raise replay.fault
            replayed = _replayed(replay)
            _check_rest(replay, entries)
            _check_end(replay, replayed, entries)
            return replayed
        finally:
            replay.let_go()

    def _workflow(self, name: str | None) -> WorkflowDefinition:
        known = self._registry.workflows
        if name is None and len(known) == 1:
            return next(iter(known.values()))
        if name is None or name not in known:
            named = f"workflow {name!r}" if name else "the history names no workflow, which"
            raise UsageFault(f"{named} is not among those to replay with: {', '.join(known)}")
        return known[name]


def _entry(event: Any) -> Entry:
    payload = event["payload"]
    raw = Raw(b"null" if payload is None else payload.encode())
    return Entry(event["seq"], event["event_type"], raw, event["timestamp"])


def _replayed(replay: Replay) -> Replayed:
    main = replay.main
    if replay.end is not None:
        continued = isinstance(replay.end, ContinueAsNew)
        kind = EventType.WORKFLOW_CONTINUED_AS_NEW if continued else EventType.WORKFLOW_CANCELLED
        return Replayed(kind.value)
    if main is None or not main.done():
        return Replayed(None)
    if main.cancelled():
        return Replayed(EventType.WORKFLOW_CANCELLED.value)
    error = main.exception()
    if error is not None:
        return Replayed(EventType.WORKFLOW_FAILED.value, error=error)
    result = main.result()
    try:
        replay.codec.encode(result)
    except PayloadError as misfit:
        return Replayed(EventType.WORKFLOW_FAILED.value, error=misfit)
    return Replayed(EventType.WORKFLOW_COMPLETED.value, result)


def _check_rest(replay: Replay, entries: Sequence[Entry]) -> None:
    """What history holds after the code has ended must have been asked for before."""
    if replay.is_cancelled:
        return
    for entry in entries:
        key, name = _called(entry)
        if entry.seq > replay.last_seq and key is not None and not replay.has_been_asked(key):
            named = f" ({name!r})" if name else ""
            raise Mismatch(
                f"event {entry.seq}: history holds {key[0]} {key[1]}{named}, "
                "the code ends without it"
            )


def _called(entry: Entry) -> tuple[Key | None, str]:
    """The call that an event tells of, if it does."""
    said = said_of(entry)
    match entry.type:
        case EventType.ACTIVITY_SCHEDULED if not said.added:
            return (Kind.ACTIVITY, said.activity_seq), said.name
        case EventType.TIMER_SCHEDULED:
            return (Kind.TIMER, said.timer_seq or 0), ""
        case EventType.SIDE_EFFECT_RECORDED:
            return (Kind.SIDE_EFFECT, said.side_effect_seq), said.name
        case EventType.STEP_COMPLETED | EventType.STEP_FAILED | EventType.STEP_ATTEMPT_FAILED:
            return (Kind.STEP, said.step_seq), said.name
        case _:
            return None, ""


def _check_end(replay: Replay, replayed: Replayed, entries: Sequence[Entry]) -> None:
    """The code ends as the recorded run has ended, unless that was the engine's doing."""
    last = entries[-1] if entries else None
    if last is None or last.type not in TERMINAL_EVENTS or _is_of_the_engine(last):
        return
    if replayed.ending == last.type:
        return
    held = f"event {last.seq}: history ends with {last.type}"
    if replayed.ending is not None:
        why = "" if replayed.error is None else f": {replayed.error!r}"
        raise Mismatch(f"{held}, the code with {replayed.ending}{why}")
    fresh = _asked(replay, fresh=True)
    told = fresh or _asked(replay, fresh=False) or _awaited(replay)
    if fresh or last.type in (EventType.WORKFLOW_COMPLETED, EventType.WORKFLOW_FAILED):
        raise Mismatch(f"{held}, the code goes on{told}")


def _is_of_the_engine(last: Entry) -> bool:
    """Time-outs and terminations come from outside, whatever the code does."""
    if last.type == EventType.WORKFLOW_FAILED:
        return b'"terminated":true' in bytes(last.payload)
    return last.type == EventType.WORKFLOW_TIMED_OUT


def _asked(replay: Replay, *, fresh: bool) -> str:
    """The first call under way; `fresh`: one that history does not hold."""
    for asked in replay.pending.values():
        if asked.is_wanted and asked.recorded is not fresh:
            return f": it {'asks' if fresh else 'waits'} for {_named(asked)}"
    return ""


def _named(asked: Asked) -> str:
    kind, number = asked.key
    name = f" ({asked.name!r})" if asked.name else ""
    return f"{kind} {number}{name}{place_text(asked.place)}"


def _awaited(replay: Replay) -> str:
    for wait in replay.waits_asked:
        if not wait.done():
            return f": it waits for signal {wait.asked_for!r}"
    return ""


def _outside_of_tasks(call: Callable[[], Value]) -> Value:
    """Workflow code has a loop of its own, and a thread has but one at a time."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return call()
    with ThreadPoolExecutor(1, "assay-replayer") as thread:
        return thread.submit(call).result()
