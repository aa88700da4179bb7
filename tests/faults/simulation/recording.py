"""Calls whose answers a run keeps: side effects, inline steps, patches, attributes, snapshots.

What they ask of the engine goes out before the command that stops the handler, in call order: a
snapshot, then upserts, patches and timers that are no longer wanted.
"""

from collections.abc import Callable, Sequence
from typing import NoReturn

from tests.support.http import Json
from tests.support.plain_replay import Abandoned, CallFailed, Commands, Context, stop
from tests.support.runs import Event

EARLY = 300_000
"""Engines' clocks are ahead of everybody's by a quarter of a second at most: no worker waits so."""


class StepFailed(Exception):
    """An attempt at a step, or at an activity, fails."""


class Recording(Context):
    """A plain worker's calls, and those whose answers are recorded."""

    def __init__(
        self,
        history: Sequence[Event],
        workflow_id: str = "",
        *,
        now: float = float("inf"),
        coin: Callable[[], Json] = lambda: "nobody's",
    ) -> None:
        self.now = now
        self._coin = coin
        self._effects: dict[int, Event] = {}
        self._steps: dict[int, Event] = {}
        self._tries: dict[int, Event] = {}
        self._patches: set[str] = set()
        self._upserts: set[int] = set()
        self._plain_upserts: list[Json] = []
        self._silenced: set[int] = set()
        self._queries: dict[str, Callable[[], Json]] = {}
        self._first: Commands = []
        super().__init__(history, workflow_id)

    def _remember(self, event: Event) -> None:
        super()._remember(event)
        said = event.payload
        match event.type:
            case "SideEffectRecorded":
                self._effects[said["side_effect_seq"]] = event
            case "StepCompleted" | "StepFailed":
                self._steps[said["step_seq"]] = event
            case "StepAttemptFailed":
                self._tries[said["step_seq"]] = event
            case "PatchRecorded":
                self._patches.add(said["patch_id"])
            case "SearchAttributesUpserted" if said["upsert_seq"] is None:
                self._plain_upserts.append(said["patch"])
            case "SearchAttributesUpserted":
                self._upserts.add(said["upsert_seq"])
            case "TimerCancelled":
                self._silenced.add(said["timer_seq"])

    def before_the_last(self) -> Commands:
        """What goes out before the command that stops the handler."""
        if not self._queries:
            return self._first
        state = {name: query() for name, query in self._queries.items()}
        return [{"type": "RecordSnapshot", "state": state}, *self._first]

    def register_query(self, name: str, query: Callable[[], Json]) -> None:
        """What the snapshot after each replay holds under that name."""
        self._queries[name] = query

    async def side_effect(self, name: str) -> Json:
        """Something nobody else would come up with, and everybody sees from then on."""
        seq = self._next("side effect")
        known = self._effects.get(seq)
        self._call(None if known is None else known.seq)
        if known is None:
            command = {"type": "RecordSideEffect", "seq": seq, "name": name}
            await stop([{**command, "value": self._coin()}])
            raise Abandoned
        return known.payload["value"]

    async def step(self, name: str, work: Callable[[int], Json], retry_secs: float = 0.3) -> Json:
        """Run something right here; a failed attempt is recorded and followed by another one."""
        seq = self._next("step")
        final = self._steps.get(seq)
        self._call(None if final is None else final.seq)
        if final is None:
            await stop(self._attempt(seq, name, work, retry_secs))
            raise Abandoned
        if final.type == "StepFailed":
            raise CallFailed(f"step '{name}' failed: {final.payload['error']}")
        return final.payload["result"]

    def _attempt(
        self, seq: int, name: str, work: Callable[[int], Json], retry_secs: float
    ) -> Commands:
        tried = self._tries.get(seq)
        if tried is not None:
            due = tried.timestamp + tried.payload["retry_in_secs"] * 1_000_000
            if self.now + EARLY < due:
                return []
        attempt = 1 if tried is None else tried.payload["attempt"] + 1
        command = {"type": "RecordStep", "seq": seq, "name": name, "attempt": attempt}
        try:
            return [{**command, "result": work(attempt), "final": True}]
        except StepFailed as error:
            final = str(error) == "for good"
            command |= {"error": str(error), "final": final}
            return [command if final else {**command, "retry_in_secs": retry_secs}]

    def patched(self, id: str) -> bool:
        """All workers here run the new code: the answer is yes, and is recorded."""
        if id not in self._patches:
            self._first.append({"type": "RecordPatch", "id": id})
            self._patches.add(id)
        return True

    def upsert(self, patch: Json) -> None:
        """Merge attributes, under a number."""
        seq = self._next("upsert")
        if seq not in self._upserts:
            self._first.append({"type": "UpsertSearchAttributes", "patch": patch, "seq": seq})

    async def upsert_and_stop(self, patch: Json) -> None:
        """Merge attributes as clients do that know of no numbers and stop at the call."""
        if patch not in self._plain_upserts:
            await stop([{"type": "UpsertSearchAttributes", "patch": patch}])

    async def signal_or_timer(self, name: str, timeout: float) -> Json:
        """A timed wait; the timer of one that was answered is cancelled."""
        timer = self._count["timer"] + 1
        value = await self.wait_for_signal(name, timeout=timeout)
        if value is not None:
            self.cancel_timer(timer)
        return value

    def cancel_timer(self, seq: int) -> None:
        """A timer is not wanted any more."""
        if seq not in self._fired and seq not in self._silenced:
            self._first.append({"type": "CancelTimer", "seq": seq})

    async def continue_as_new(self, input: Json) -> NoReturn:
        """Go on as a new run, which gets the signals that nobody has taken."""
        self._call(None)
        left = [
            event.seq
            for name, events in self._signals.items()
            for event in events[self._count[f"signal {name}"] :]
        ]
        await stop([{"type": "ContinueAsNew", "input": input, "carry": sorted(left)}])
        raise Abandoned
