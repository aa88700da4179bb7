"""The calls whose answers a run keeps, for the plain worker: as any client may write them.

What they want recorded goes out before the commands that end the replay, in the order of contract
20.4 rule 7; a side effect and a step end it themselves.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import NoReturn, TypeAlias

from tests.support import plain_replay
from tests.support.http import Json
from tests.support.plain_replay import Abandoned, CallFailed, Commands, Context, stop
from tests.support.runs import Event

Handler: TypeAlias = Callable[["RecordingContext", Json], Coroutine[Commands, None, Json]]

# The engine's clock may be so much ahead of ours. It offers a run once its time has come by that
# clock: who then finds it too early by another one, and says nothing, is not asked again.
SKEW_SECS = 0.3


class RecordingContext(Context):
    """Answers those calls from history too."""

    def __init__(self, history: Sequence[Event], workflow_id: str = "") -> None:
        self._effects: dict[int, Event] = {}
        self._steps: dict[int, Event] = {}
        self._attempts: dict[int, list[Event]] = {}
        self._patches: set[str] = set()
        self._upserts: set[int] = set()
        self._queries: dict[str, Callable[[], Json]] = {}
        self._wanted: dict[str, Commands] = {"upserts": [], "patches": []}
        self._answers: dict[str, bool] = {}
        self._fed = 1
        self._newest = len(history) and history[-1].seq
        super().__init__(history, workflow_id)

    def _remember(self, event: Event) -> None:
        super()._remember(event)
        match event.type:
            case "SideEffectRecorded":
                self._effects[event.payload["side_effect_seq"]] = event
            case "StepCompleted" | "StepFailed":
                self._steps[event.payload["step_seq"]] = event
            case "StepAttemptFailed":
                self._attempts.setdefault(event.payload["step_seq"], []).append(event)
            case "PatchRecorded":
                self._patches.add(event.payload["patch_id"])
            case "SearchAttributesUpserted":
                self._upserts.add(event.payload["upsert_seq"])

    def _call(self, answered_at: int | None) -> None:
        super()._call(answered_at)
        self._fed = max(self._fed, answered_at or 0)

    def notes(self) -> Commands:
        """What is to be recorded whatever ended the replay."""
        state: dict[str, Json] = {}
        for name, query in self._queries.items():
            with contextlib.suppress(Exception):  # a query that raises is left out
                state[name] = query()
        snapshot: Commands = [{"type": "RecordSnapshot", "state": state}] if state else []
        return [*snapshot, *self._wanted["upserts"], *self._wanted["patches"]]

    async def side_effect(self, name: str, fn: Callable[[], Json]) -> Json:
        """Run it once; from then on its value is in history, None included."""
        seq = self._next("side effect")
        known = self._effects.get(seq)
        self._call(None if known is None else known.seq)
        if known is None:
            command = {"type": "RecordSideEffect", "seq": seq, "name": name}
            await stop([command | {"value": fn()}])
            raise Abandoned
        return known.payload["value"]

    async def step(
        self, fn: Callable[[int], Json], *, max_attempts: int = 3, retry_in_secs: float = 0.05
    ) -> Json:
        """Run a function, which is told its attempt, right here, until it works or none is left."""
        seq, name = self._next("step"), fn.__name__
        final = self._steps.get(seq)
        self._call(None if final is None else final.seq)
        if final is None:
            tried = self._attempts.get(seq, [])
            command = {"type": "RecordStep", "seq": seq, "name": name, "attempt": len(tried) + 1}
            if tried and time.time() + SKEW_SECS < due_again(tried[-1]):
                await stop([])  # there was other news; the engine offers the run again
            try:
                command["result"] = fn(len(tried) + 1)
            except Exception as error:
                last = len(tried) + 1 == max_attempts
                command |= {"error": str(error), "final": last, "retry_in_secs": retry_in_secs}
            await stop([command])
            raise Abandoned
        if final.type == "StepFailed":
            raise CallFailed(f"step '{name}' failed: {final.payload['error']}")
        return final.payload["result"]

    def patched(self, id: str) -> bool:
        """Whether this run takes the new branch of a change; the first answer stays."""
        if id not in self._answers:
            known = id in self._patches
            self._answers[id] = known or self._fed >= self._newest
            if self._answers[id] and not known:
                self._wanted["patches"].append({"type": "RecordPatch", "id": id})
        return self._answers[id]

    def upsert_search_attributes(self, patch: Json) -> None:
        seq = self._next("upsert")
        if seq not in self._upserts:
            command = {"type": "UpsertSearchAttributes", "patch": patch, "seq": seq}
            self._wanted["upserts"].append(command)

    def register_query(self, name: str, query: Callable[[], Json]) -> None:
        self._queries[name] = query

    async def continue_as_new(self, input: Json = None) -> NoReturn:
        """End the run and go on as a new one, which gets the signals that nobody has taken."""
        self._call(None)
        left = [
            event.seq
            for name, events in self._signals.items()
            for event in events[self._count[f"signal {name}"] :]
        ]
        await stop([{"type": "ContinueAsNew", "input": input, "carry": sorted(left)}])
        raise Abandoned


def due_again(failed: Event) -> float:
    """When the next attempt may begin."""
    return failed.timestamp + float(failed.payload["retry_in_secs"])


def replay(handler: Handler, input: Json, context: RecordingContext) -> Commands:
    """Run a handler over a history; return the batch that says how it went on."""
    ending = plain_replay.replay(lambda _, given: handler(context, given), input, context)
    return context.notes() + ending
