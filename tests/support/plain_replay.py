"""Replay as any client may write it: run the handler from the top, stop at its first open call."""

from __future__ import annotations

import contextlib
import json
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import NoReturn, TypeAlias

from tests.support.http import Json
from tests.support.runs import Event

Commands: TypeAlias = list[dict[str, Json]]
Handler: TypeAlias = Callable[["Context", Json], Coroutine[Commands, None, Json]]


class CallFailed(Exception):
    """An activity or child failed for good."""


class Cancelled(BaseException):
    """The run is to be cancelled. Past `except Exception`, so that only cleanup catches it."""


class Abandoned(BaseException):
    """A handler called while it unwinds: nothing comes of it."""


@types.coroutine
def stop(commands: Commands) -> Generator[Commands, None, NoReturn]:
    yield commands
    raise Abandoned


class Context:
    """Answers a handler's calls from history."""

    def __init__(self, history: Sequence[Event], workflow_id: str = "") -> None:
        self.workflow_id = workflow_id
        self.abandoned = False
        self._count: Counter[str] = Counter()
        self._outcomes: dict[int, Event] = {}
        self._fired: dict[int, int] = {}
        self._signals: defaultdict[str, list[Event]] = defaultdict(list)
        self._children: dict[str, Event] = {}
        self._cancel: Event | None = None
        self._cancel_raised = False
        for event in history:
            self._remember(event)

    def _remember(self, event: Event) -> None:
        match event.type:
            case "ActivityCompleted" | "ActivityFailed":
                self._outcomes[event.payload["activity_seq"]] = event
            case "TimerFired":
                self._fired[event.payload["timer_seq"]] = event.seq
            case "SignalReceived":
                self._signals[event.payload["signal"]].append(event)
            case "ChildWorkflowCompleted" | "ChildWorkflowFailed":
                self._children[event.payload["child_workflow_id"]] = event
            case "WorkflowCancelRequested":
                self._cancel = self._cancel or event

    def _call(self, answered_at: int | None) -> None:
        """Raise the cancellation, once, at the first call that nothing before it answers."""
        if self.abandoned:
            raise Abandoned
        request = self._cancel
        if request is None or self._cancel_raised:
            return
        if answered_at is None or answered_at > request.seq:
            self._cancel_raised = True
            raise Cancelled((request.payload or {}).get("reason"))

    def _next(self, kind: str) -> int:
        self._count[kind] += 1
        return self._count[kind]

    async def execute_activity(self, name: str, input: Json = None, **options: Json) -> Json:
        [result] = await self.execute_parallel([{"name": name, "input": input, "opts": options}])
        return result

    async def execute_parallel(self, calls: Sequence[dict[str, Json]]) -> list[Json]:
        if not calls:
            raise ValueError("execute_parallel needs at least one call")
        numbered = [(self._next("activity"), call) for call in calls]
        outcomes = [self._outcomes.get(seq) for seq, _ in numbered]
        done = [outcome for outcome in outcomes if outcome is not None]
        complete = len(done) == len(calls)
        self._call(max(outcome.seq for outcome in done) if complete else None)
        if not complete:
            await stop([schedule(seq, call) for seq, call in numbered if seq not in self._outcomes])
        for outcome in done:
            if outcome.type == "ActivityFailed":
                name, error = outcome.payload["name"], outcome.payload["error"]
                raise CallFailed(f"activity '{name}' failed: {error}")
        return [outcome.payload["result"] for outcome in done]

    async def sleep(self, seconds: float) -> None:
        seq = self._next("timer")
        self._call(self._fired.get(seq))
        if seq not in self._fired:
            await stop([{"type": "ScheduleTimer", "seq": seq, "duration_secs": seconds}])

    async def wait_for_signal(self, name: str, timeout: float | None = None) -> Json:
        timer = None if timeout is None else self._next("timer")
        fired = None if timer is None else self._fired.get(timer)
        taken = self._count[f"signal {name}"]
        signal = next(iter(self._signals[name][taken:]), None)
        if signal is not None and (fired is None or signal.seq < fired):
            self._call(signal.seq)
            self._next(f"signal {name}")
            return signal.payload["payload"]
        self._call(fired)
        if fired is not None:
            return None
        commands: Commands = [{"type": "WaitForSignal", "name": name}]
        if timer is not None:
            commands[0]["timer_seq"] = timer
            commands.insert(0, {"type": "ScheduleTimer", "seq": timer, "duration_secs": timeout})
        await stop(commands)
        raise Abandoned

    async def start_child_workflow(
        self, kind: str, *, workflow_id: str, input: Json = None, task_queue: str = "default"
    ) -> Json:
        outcome = self._children.get(workflow_id)
        self._call(None if outcome is None else outcome.seq)
        if outcome is None and self._cancel_raised:
            raise Cancelled("no child is started once cancel was requested")
        if outcome is None:
            command = {"type": "StartChildWorkflow", "workflow_type": kind}
            await stop(
                [command | {"workflow_id": workflow_id, "input": input, "task_queue": task_queue}]
            )
        elif outcome.type == "ChildWorkflowFailed":
            raise CallFailed(f"child workflow '{workflow_id}' failed: {outcome.payload['error']}")
        return outcome.payload["result"]

    async def cancel(self, reason: str | None = None) -> NoReturn:
        self._call(None)
        await stop([cancel_command(reason)])
        raise Abandoned


def schedule(seq: int, call: dict[str, Json]) -> dict[str, Json]:
    command = {"type": "ScheduleActivity", "seq": seq, "name": call["name"]}
    return {**command, "input": call.get("input"), **call.get("opts", {})}


def cancel_command(reason: str | None) -> dict[str, Json]:
    return {"type": "CancelWorkflow"} | ({} if reason is None else {"reason": reason})


def replay(handler: Handler, input: Json, context: Context) -> Commands:
    """Run a handler over a history; return the batch that says how it went on."""
    running = handler(context, input)
    try:
        commands = running.send(None)
    except StopIteration as returned:
        return ended(returned.value)
    except Cancelled as cancelled:
        return [cancel_command(*cancelled.args[:1])]
    except Exception as error:
        return [{"type": "FailWorkflow", "error": str(error)}]
    context.abandoned = True
    with contextlib.suppress(Abandoned):
        running.close()
    return commands


def ended(result: Json) -> Commands:
    try:
        json.dumps(result, allow_nan=False)
    except (TypeError, ValueError) as error:
        return [{"type": "FailWorkflow", "error": f"the result is not JSON: {error}"}]
    return [{"type": "CompleteWorkflow"} | ({} if result is None else {"result": result})]
