"""What workflow code may call: everything it does to the world goes through its `ctx`."""

import asyncio
import sys
import uuid
from asyncio import events
from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, NoReturn, TypeVar, TypeVarTuple, Unpack, overload

from msgspec import Raw

from assay.sdk import arguments
from assay.sdk.activity_context import ActivityContext
from assay.sdk.convert import DEFAULT, Codec
from assay.sdk.definition import WorkflowDefinition, name_of, name_of_step
from assay.sdk.faults import WorkflowMisuse
from assay.sdk.options import (
    ACTIVITY_NAMES,
    CALL_NAMES,
    STEP_NAMES,
    ActivityOptions,
    NamedActivityOptions,
    ParallelCall,
    StepOptions,
    check_names,
)
from assay.sdk.replay.asked import Asked, Child, Kind, Place, Work
from assay.sdk.replay.loop import Call, EndOfRun, RunFuture
from assay.sdk.replay.replay import Replay
from assay.sdk.signatures import result_kind
from assay.sdk.step_policy import policy_of
from assay.wire.commands.activities import ScheduleActivity
from assay.wire.commands.endings import CancelWorkflow, ContinueAsNew
from assay.wire.commands.waiting import StartChildWorkflow

Input = TypeVar("Input")
Output = TypeVar("Output")
Arguments = TypeVarTuple("Arguments")
Ending = Coroutine[Any, Any, NoReturn]  # code after it never runs, and checkers know
DEFAULT_QUEUE = "default"


class Nothing:
    """Done already; it may be awaited, and need not be. What gives it says Any to checkers, which
    would have it awaited.
    """

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


NOTHING = Nothing()


class WorkflowContext:
    """The one argument every workflow has. Calls are numbered in the order in which they are made.

    Calls begin when they are made, not when they are awaited: so several can be under way at once.
    """

    __slots__ = ("_random", "_replay")

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._random: Random | None = None

    @property
    def workflow_id(self) -> str:
        """The run's id."""
        return self._replay.workflow_id

    # -- work ------------------------------------------------------------------------------------

    @overload
    def execute_activity(
        self,
        activity: Callable[[ActivityContext, Input], Coroutine[Any, Any, Output]],
        input: Input,
        **opts: Unpack[ActivityOptions],
    ) -> Call[Output]: ...
    @overload
    def execute_activity(
        self,
        activity: Callable[[ActivityContext, Input], Output],
        input: Input,
        **opts: Unpack[ActivityOptions],
    ) -> Call[Output]: ...
    @overload
    def execute_activity(
        self,
        activity: Callable[[ActivityContext], Coroutine[Any, Any, Output]],
        **opts: Unpack[ActivityOptions],
    ) -> Call[Output]: ...
    @overload
    def execute_activity(
        self, activity: Callable[[ActivityContext], Output], **opts: Unpack[ActivityOptions]
    ) -> Call[Output]: ...
    @overload
    def execute_activity(
        self,
        activity: str,
        input: object = None,
        *,
        result: type[Output],
        **opts: Unpack[NamedActivityOptions],
    ) -> Call[Output]: ...
    @overload
    def execute_activity(
        self, activity: str, input: object = None, **opts: Unpack[ActivityOptions]
    ) -> Call[Any]: ...
    def execute_activity(
        self, activity: Any, input: object = None, **opts: Unpack[ActivityOptions]
    ) -> Call[Any]:
        """Have a piece of work done; its result, or `ActivityFailed` after the last attempt."""
        replay = self._begin()
        place = _place()
        name = name_of(activity)
        number = replay.next_number(Kind.ACTIVITY)
        future: RunFuture[Any] = RunFuture(loop=replay.loop)
        kind = opts.get("result", Any if isinstance(activity, str) else result_kind(activity))
        command = _schedule(number, name, Raw(replay.codec.encode(input)), opts)
        replay.ask(
            Asked(
                (Kind.ACTIVITY, number),
                name,
                since=replay.last_seq,
                place=place,
                future=future,
                command=command,
                kind=kind,
            )
        )
        return future

    async def execute_parallel(
        self, calls: Sequence[ParallelCall | Mapping[str, Any]]
    ) -> list[Any]:
        """Have several done at once; their results in order, or the first error of the list."""
        if not calls:
            raise WorkflowMisuse("execute_parallel needs at least one call")
        for call in calls:
            check_names("a call of execute_parallel", dict(call), CALL_NAMES)
            if "name" not in call:
                raise WorkflowMisuse("a call of execute_parallel needs a name")
        futures = [
            self.execute_activity(call["name"], call.get("input"), **(call.get("opts") or {}))
            for call in calls
        ]
        await asyncio.wait(futures)
        if any(future.cancelled() for future in futures):
            raise asyncio.CancelledError
        return [future.result() for future in futures]

    @overload
    def step(
        self,
        function: Callable[[*Arguments], Coroutine[Any, Any, Output]],
        *args: *Arguments,
        **opts: Unpack[StepOptions],
    ) -> Call[Output]: ...
    @overload
    def step(
        self,
        function: Callable[[*Arguments], Output],
        *args: *Arguments,
        **opts: Unpack[StepOptions],
    ) -> Call[Output]: ...
    def step(
        self,
        function: Callable[[*Arguments], Any],
        *args: *Arguments,
        **opts: Unpack[StepOptions],
    ) -> Call[Any]:
        """Run a function here, in the workflow's worker; its result is kept before it is seen."""
        replay = self._begin()
        check_names("step", dict(opts), STEP_NAMES)
        arguments.function("what a step runs", function)
        name = opts.get("name") or name_of_step(function)
        policy = policy_of(opts)
        number = replay.next_number(Kind.STEP)
        future: RunFuture[Any] = RunFuture(loop=replay.loop)
        kind = opts.get("result", result_kind(function))
        asked = Asked(
            (Kind.STEP, number),
            name,
            since=replay.last_seq,
            place=_place(),
            future=future,
            kind=kind,
        )
        asked.work = Work(partial(function, *args) if args else function, policy)
        replay.ask(asked)
        return future

    def side_effect(self, name: str, function: Callable[[], Output]) -> Call[Output]:
        """Run a quick function once, and keep what it returns: a random number, the time, an id."""
        replay = self._begin()
        arguments.text("the name of a side effect", name)
        arguments.function("what a side effect runs", function)
        number = replay.next_number(Kind.SIDE_EFFECT)
        future: RunFuture[Any] = RunFuture(loop=replay.loop)
        asked = Asked(
            (Kind.SIDE_EFFECT, number),
            name,
            since=replay.last_seq,
            place=_place(),
            future=future,
            kind=result_kind(function),
        )
        asked.work = Work(function)
        replay.ask(asked)
        return future

    # -- waiting ---------------------------------------------------------------------------------

    def sleep(self, seconds: float) -> Call[None]:
        """A durable timer; without an end it goes on for ever."""
        replay = self._begin()
        return replay.sleep(max(arguments.seconds("sleep: seconds", seconds), 0.0), _place())

    @overload
    def wait_for_signal(
        self, name: str, timeout: None = None, *, kind: type[Output]
    ) -> Call[Output]: ...
    @overload
    def wait_for_signal(
        self, name: str, timeout: float | None, *, kind: type[Output]
    ) -> Call[Output | None]: ...
    @overload
    def wait_for_signal(
        self, name: str, timeout: float | None = None, *, kind: Any = Any
    ) -> Call[Any]: ...
    def wait_for_signal(
        self, name: str, timeout: float | None = None, *, kind: Any = Any
    ) -> Call[Any]:
        """The payload of the next signal of that name; None if the time-out comes first."""
        replay = self._begin()
        arguments.text("the name of a signal", name)
        secs = None if timeout is None else arguments.seconds("wait_for_signal: timeout", timeout)
        if secs is not None and secs <= 0:
            raise WorkflowMisuse(f"wait_for_signal: timeout must be above 0, not {timeout}")
        return replay.wait_for(name, kind, secs, _place())

    @overload
    def start_child_workflow(
        self,
        workflow_type: "Callable[[WorkflowContext, Input], Coroutine[Any, Any, Output]]",
        workflow_id: str,
        input: Input,
        task_queue: str = DEFAULT_QUEUE,
    ) -> Child[Output]: ...
    @overload
    def start_child_workflow(
        self,
        workflow_type: "Callable[[WorkflowContext], Coroutine[Any, Any, Output]]",
        workflow_id: str,
        *,
        task_queue: str = DEFAULT_QUEUE,
    ) -> Child[Output]: ...
    @overload
    def start_child_workflow(
        self,
        workflow_type: str,
        workflow_id: str,
        input: object = None,
        task_queue: str = DEFAULT_QUEUE,
        *,
        result: type[Output],
    ) -> Child[Output]: ...
    @overload
    def start_child_workflow(
        self,
        workflow_type: str,
        workflow_id: str,
        input: object = None,
        task_queue: str = DEFAULT_QUEUE,
        *,
        result: Any = None,
    ) -> Child[Any]: ...
    def start_child_workflow(
        self,
        workflow_type: Any,
        workflow_id: str | None = None,
        input: object = None,
        task_queue: str = DEFAULT_QUEUE,
        *,
        result: Any = None,
    ) -> Child[Any]:
        """Start another run, at once; awaited, it gives the child's result, or `ChildFailed`."""
        replay = self._begin()
        name = name_of(workflow_type)
        if not workflow_id:
            raise WorkflowMisuse(
                f"child workflow {name!r} needs a workflow_id that is the same in every replay, "
                f'for example f"{{ctx.workflow_id}}-{name}"'
            )
        if replay.is_cancelled:
            raise asyncio.CancelledError(f"a cancelled run starts no child ({workflow_id})")
        under_way = replay.child_of(workflow_id)
        if under_way is not None:
            return under_way
        for what, value in (("type", name), ("id", workflow_id), ("task_queue", task_queue)):
            arguments.text(f"the {what} of a child workflow", value)
        child: Child[Any] = Child(replay.loop, workflow_id)
        command = StartChildWorkflow(
            workflow_type=name,
            workflow_id=workflow_id,
            task_queue=task_queue,
            input=Raw(replay.codec.encode(input)),
        )
        kind = result or (Any if isinstance(workflow_type, str) else result_kind(workflow_type))
        replay.ask(
            Asked(
                (Kind.CHILD, workflow_id),
                name,
                since=replay.last_seq,
                place=_place(),
                future=child,
                command=command,
                kind=kind,
            )
        )
        return child

    # -- what is seen of the run -----------------------------------------------------------------

    def register_query(self, name: str, function: Callable[[], object]) -> Any:
        """What the function returns after each step of the run can be read from outside."""
        replay = self._begin()
        name = arguments.text("the name of a query", name)
        replay.queries[name] = arguments.function("what a query asks", function)
        return NOTHING

    def upsert_search_attributes(self, patch: Mapping[str, Any]) -> Any:
        """Merge into what lists can be filtered by."""
        replay = self._begin()
        if not isinstance(patch, Mapping):
            raise WorkflowMisuse(f"search attributes must be a dict, not {patch!r}")
        replay.upsert(Raw(DEFAULT.encode(dict(patch))))  # the engine is to read it
        return NOTHING

    # -- endings ---------------------------------------------------------------------------------

    def continue_as_new(self, input: object = None) -> Ending:
        """End this run and go on as a new one with a fresh history; nothing after this runs."""
        replay = self._begin()
        given = Raw(replay.codec.encode(input))
        replay.finish(ContinueAsNew(input=given, carry=list(replay.unconsumed())))
        raise EndOfRun

    def cancel(self, reason: str | None = None) -> Ending:
        """End this run as cancelled; nothing after this runs."""
        self._begin().finish(CancelWorkflow(reason=reason))
        raise EndOfRun

    # -- determinism -----------------------------------------------------------------------------

    def patched(self, id: str) -> bool:
        """Whether this run takes the new branch of a change in its code."""
        return self._begin().patched(arguments.text("the id of a patch", id))

    def now(self) -> float:
        """The time, in Unix seconds: that of the newest event."""
        return self._replay.loop.now

    def random(self) -> float:
        """A number from 0 to 1, the same in every replay."""
        return self._dice().random()

    def uuid4(self) -> uuid.UUID:
        """A random UUID, the same in every replay."""
        return uuid.UUID(int=self._dice().getrandbits(128), version=4)

    @property
    def dice(self) -> Random:
        """A generator of random numbers, the same in every replay."""
        return self._dice()

    def _dice(self) -> Random:
        if self._random is None:
            replay = self._begin()
            seed = f"{replay.workflow_id}@{replay.started_at:.6f}"
            self._random = Random(seed)  # noqa: S311 - it is to be foreseeable
        return self._random

    def _begin(self) -> Replay:
        """Every call comes from the code of this very run, while it runs."""
        replay = self._replay
        if events._get_running_loop() is not replay.loop:
            raise WorkflowMisuse(
                f"ctx of workflow {replay.workflow_id!r} is used outside of its code: an activity "
                "has a ctx of its own, and a step none"
            )
        if replay.loop.is_over:
            raise EndOfRun
        return replay


def replay_of(workflow: WorkflowDefinition, workflow_id: str, codec: Codec) -> Replay:
    """A run's code before its first event, with the ctx it is to have."""
    replay = Replay(workflow, workflow_id, codec)
    replay.ctx = WorkflowContext(replay)
    return replay


def _place(depth: int = 2) -> Place:
    """Where workflow code made the call."""
    frame = sys._getframe(depth)
    return frame.f_code, frame.f_lineno


def _schedule(number: int, name: str, given: Raw, opts: ActivityOptions) -> ScheduleActivity:
    arguments.text("the name of an activity", name)
    if not opts:
        return ScheduleActivity(seq=number, name=name, input=given)
    check_names(f"activity {name!r}", dict(opts), ACTIVITY_NAMES)
    checked = arguments.options(f"activity {name!r}", opts)
    return ScheduleActivity(
        seq=number,
        name=name,
        input=given,
        task_queue=opts.get("task_queue"),
        max_attempts=checked.max_attempts,
        initial_interval_secs=checked.initial_interval_secs,
        backoff_coefficient=checked.backoff_coefficient,
        start_to_close_secs=checked.start_to_close_secs,
        heartbeat_timeout_secs=checked.heartbeat_timeout_secs,
        max_interval_secs=checked.max_interval_secs,
        jitter=checked.jitter,
        non_retryable=checked.non_retryable,
    )
