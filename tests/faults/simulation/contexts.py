"""What handlers call: answered from history (`Story`), or as if nothing ever happened (`Ideal`)."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TypeAlias, cast

from tests.faults.simulation.recording import Recording, StepFailed
from tests.support.http import Json
from tests.support.plain_replay import CallFailed, Commands, Handler, replay, schedule, stop
from tests.support.runs import Event

QUEUES = ("default", "other")
Calls: TypeAlias = list[dict[str, Json]]


class Story(Recording):
    """All calls there are, and two that ask for several things at once."""

    async def together(self, calls: Calls, secs: float) -> list[Json]:
        """Activities, a timer and a child; the first failure does not wait for the others."""
        timer, child = self._next("timer"), f"{self.workflow_id}.s"
        numbered = [(self._next("activity"), call) for call in calls]
        known = [self._outcomes[seq] for seq, _ in numbered if seq in self._outcomes]
        failed = next((event for event in known if event.type == "ActivityFailed"), None)
        fired, born = self._fired.get(timer), self._children.get(child)
        done = fired is not None and born is not None and len(known) == len(calls)
        seqs = [fired or 0, born.seq if born else 0, *(event.seq for event in known)]
        self._call(max(seqs) if done else failed.seq if failed else None)
        if failed is not None:
            name, error = failed.payload["name"], failed.payload["error"]
            raise CallFailed(f"activity '{name}' failed: {error}")
        if not done:
            asked = [schedule(seq, call) for seq, call in numbered if seq not in self._outcomes]
            if fired is None:
                asked.append({"type": "ScheduleTimer", "seq": timer, "duration_secs": secs})
            if born is None:
                asked.append(start_child("siesta", child, {}, QUEUES[0]))
            await stop(asked)
        return [event.payload["result"] for event in sorted(known, key=activity_seq)]

    async def start_children(self, kinds: Sequence[str], input: Json) -> int:
        """Start children and wait until all have ended, whichever way."""
        ids = [f"{self.workflow_id}.{at}" for at in range(len(kinds))]
        known = [self._children[id] for id in ids if id in self._children]
        all_known = len(known) == len(ids)
        self._call(max(event.seq for event in known) if all_known else None)
        if not all_known:
            await stop(
                [
                    start_child(kind, id, input, QUEUES[at % 2])
                    for at, (id, kind) in enumerate(zip(ids, kinds, strict=True))
                    if id not in self._children
                ]
            )
        return len(known)


Program: TypeAlias = Callable[[Story, Json], Coroutine[Commands, None, Json]]
Programs: TypeAlias = Mapping[str, Program]


def start_child(kind: str, id: str, input: Json, queue: str) -> dict[str, Json]:
    """The command that starts a child."""
    command = {"type": "StartChildWorkflow", "workflow_type": kind, "workflow_id": id}
    return {**command, "input": input, "task_queue": queue}


def activity_seq(event: Event) -> int:
    """Which activity an outcome is about."""
    seq: int = event.payload["activity_seq"]
    return seq


def run_program(program: Program, input: Json, context: Story) -> Commands:
    """Replay: every context of this world is a `Story`."""
    stopped_at = replay(cast("Handler", program), input, context)
    return context.before_the_last() + stopped_at


def work(name: str, input: Json, attempt: int, healed: set[str]) -> Json:
    """What an activity comes to in that attempt."""
    if name == "never" or (name == "sick" and input["id"] not in healed):
        raise StepFailed(name)
    if attempt <= input.get("fails", 0):
        raise StepFailed("not yet")
    return input.get("value", 0) + 1


class Ideal(Story):
    """Answers a handler's calls at once, as if nothing ever went wrong."""

    def __init__(self, workflow_id: str, healed: set[str], programs: Programs) -> None:
        super().__init__([], workflow_id)
        self._healed = healed
        self._programs = programs

    async def execute_parallel(self, calls: Sequence[dict[str, Json]]) -> list[Json]:
        return [{"value": self._work(call)} for call in calls]

    async def together(self, calls: Calls, secs: float) -> list[Json]:
        return await self.execute_parallel(calls)

    async def start_children(self, kinds: Sequence[str], input: Json) -> int:
        return len(kinds)

    async def sleep(self, seconds: float) -> None:
        """No time passes."""

    async def wait_for_signal(self, name: str, timeout: float | None = None) -> Json:
        return 0

    async def start_child_workflow(
        self, kind: str, *, workflow_id: str, input: Json = None, task_queue: str = "default"
    ) -> Json:
        ended: dict[str, Json] = {"type": "ContinueAsNew", "input": input}
        while ended["type"] == "ContinueAsNew":
            child = Ideal(workflow_id, self._healed, self._programs)
            ended = run_program(self._programs[kind], ended["input"], child)[-1]
        if ended["type"] != "CompleteWorkflow":
            raise CallFailed("child")
        return ended.get("result")

    async def side_effect(self, name: str) -> Json:
        return self._coin()

    async def step(self, name: str, work: Callable[[int], Json], retry_secs: float = 0.3) -> Json:
        try:
            return work(1000)
        except StepFailed as error:
            raise CallFailed(str(error)) from None

    def patched(self, id: str) -> bool:
        return True

    async def upsert_and_stop(self, patch: Json) -> None:
        """Nobody stops."""

    def _work(self, call: dict[str, Json]) -> Json:
        try:
            return work(call["name"], call["input"], 1000, self._healed)
        except StepFailed as error:
            raise CallFailed(str(error)) from None
