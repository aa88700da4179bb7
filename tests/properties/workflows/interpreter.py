"""The code of a program: a workflow that does what the data say, with all that asyncio offers.

What it returns tells what happened. A value that may come out one way or the other is wrapped as
`{"race": value}`: it has to be the same in every replay, but need not be what `ideal.py` says.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from assay.sdk.context import WorkflowContext
from assay.sdk.definition import WorkflowDefinition
from assay.sdk.faults import ActivityFailed, ChildFailed, SideEffectFailed, StepFailed
from tests.properties.workflows.programs import Node, Program, nodes

WORK, SICK, LEAF = "work", "sick", "leaf"
ALWAYS = 1_000_000
LONG_SECS = 1e7


class Broken(Exception):
    """A program that ends by raising."""


class Tools(Protocol):
    """What is outside of the code."""

    def cut_short(self, workflow_id: str, no: int) -> None:
        """A cleanup has been cancelled."""

    def token(self) -> str:
        """Something new each time."""

    def step(self, workflow_id: str, no: int, fails: int, *, is_async: bool) -> Callable[[], Any]:
        """A function that fails so often."""


class Telling:
    """One run of a program."""

    def __init__(self, program: Program, ctx: WorkflowContext, tools: Tools, given: Any) -> None:
        self._program = program
        self._ctx = ctx
        self._tools = tools
        self._round: int = given["round"]
        self._taken: list[str] = given["taken"]
        self._background: list[asyncio.Task[Any]] = []
        self._forgotten: list[asyncio.Future[Any]] = []
        self._at = 0

    async def tell(self) -> Any:
        """From its beginning to its end."""
        try:
            value = await self._do(self._program.body)
        finally:
            for task in self._background:
                task.cancel()
        if self._round < self._program.rounds:
            await self._ctx.continue_as_new({"round": self._round + 1, "taken": self._taken})
        if self._program.ending == "raise":
            raise Broken("as it was to be")
        if self._program.ending == "quit":
            await self._ctx.cancel("enough")
        return {"value": value, "race": self._taken}

    async def _do(self, node: Node) -> Any:
        self._at = node.no
        return await _DOERS[node.does](self, node)

    async def _all(self, node: Node) -> list[Any]:
        return [await self._do(part) for part in node.parts]

    # -- leaves ----------------------------------------------------------------------------------

    def _activity(self, node: Node) -> "asyncio.Future[Any]":
        return self._ctx.execute_activity(
            WORK,
            {"no": node.no, "fails": node.fails},
            max_attempts=node.most,
            initial_interval_secs=node.secs,
            start_to_close_secs=LONG_SECS,
        )

    async def activity(self, node: Node) -> Any:
        try:
            return await self._activity(node)
        except ActivityFailed:
            return f"activity {node.no} failed"

    async def sick(self, node: Node) -> Any:
        return await self._ctx.execute_activity(
            SICK, {"no": node.no}, max_attempts=1, start_to_close_secs=LONG_SECS
        )

    async def parallel(self, node: Node) -> Any:
        calls = [
            {
                "name": WORK,
                "input": {"no": node.no, "fails": node.fails if at == node.most - 1 else 0},
                "opts": {"max_attempts": 1, "start_to_close_secs": LONG_SECS},
            }
            for at in range(node.most)
        ]
        try:
            return await self._ctx.execute_parallel(calls)
        except ActivityFailed:
            return f"parallel {node.no} failed"

    async def step(self, node: Node) -> Any:
        work = self._tools.step(
            self._ctx.workflow_id,
            node.no,
            ALWAYS if node.fails >= node.most else node.fails,
            is_async=node.name == "async",
        )
        try:
            return await self._ctx.step(
                work,
                name=f"step-{node.no}",
                max_attempts=node.most,
                initial_interval_secs=node.secs,
            )
        except StepFailed:
            return f"step {node.no} failed"

    async def side_effect(self, node: Node) -> Any:
        return {"race": await self._ctx.side_effect(f"effect-{node.no}", self._tools.token)}

    async def bad_effect(self, node: Node) -> Any:
        try:
            return await self._ctx.side_effect(f"effect-{node.no}", _break)
        except SideEffectFailed:
            return f"effect {node.no} failed"

    async def nap(self, node: Node) -> Any:
        await self._ctx.sleep(node.secs)
        return node.no

    async def doze(self, node: Node) -> Any:
        return await asyncio.sleep(node.secs, node.no)

    async def signal(self, node: Node) -> Any:
        value = await self._ctx.wait_for_signal(node.name)
        self._taken.append(value)
        return {"race": value}

    async def timed(self, node: Node) -> Any:
        value = await self._ctx.wait_for_signal(node.name, timeout=node.secs)
        if value is not None:
            self._taken.append(value)
        return {"race": value}

    async def child(self, node: Node) -> Any:
        id = f"{self._ctx.workflow_id}/{node.no}"
        try:
            return await self._ctx.start_child_workflow(LEAF, id, {"kind": node.name, "last": 0})
        except ChildFailed:
            return f"child {node.no} failed"

    async def forget(self, node: Node) -> Any:
        self._forgotten.append(self._activity(node))
        return node.no

    async def orphan(self, node: Node) -> Any:
        id = f"{self._ctx.workflow_id}/{node.no}"
        child = self._ctx.start_child_workflow(LEAF, id, {"kind": node.name, "last": 0})
        self._forgotten.append(child)
        return node.no

    async def upsert(self, node: Node) -> Any:
        await self._ctx.upsert_search_attributes({f"a{node.no}": self._at})
        return node.no

    async def query(self, node: Node) -> Any:
        await self._ctx.register_query(f"q{node.no}", lambda: {"at": self._at})
        return node.no

    async def dice(self, node: Node) -> Any:
        return {"race": [self._ctx.random(), str(self._ctx.uuid4()), self._ctx.now()]}

    async def patched(self, node: Node) -> Any:
        if not self._ctx.patched(f"p{node.no}"):
            return {"race": None}
        return {"race": await self._all(node)}

    # -- branches --------------------------------------------------------------------------------

    async def gather(self, node: Node) -> Any:
        return await asyncio.gather(*(self._do(part) for part in node.parts))

    async def group(self, node: Node) -> Any:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._do(part)) for part in node.parts]
        return [task.result() for task in tasks]

    async def first(self, node: Node) -> Any:
        tasks = [asyncio.create_task(self._do(part)) for part in node.parts]
        done, late = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return {"race": [task.result() if task in done else None for task in tasks]}

    async def within(self, node: Node) -> Any:
        tasks = [asyncio.create_task(self._do(part)) for part in node.parts]
        done, late = await asyncio.wait(tasks, timeout=node.secs)
        for task in late:
            task.cancel()
        return {"race": [task.result() if task in done else None for task in tasks]}

    async def any_order(self, node: Node) -> Any:
        tasks = [asyncio.create_task(self._do(part)) for part in node.parts]
        return {"race": [await each for each in asyncio.as_completed(tasks)]}

    async def deadline(self, node: Node) -> Any:
        try:
            async with asyncio.timeout(node.secs):
                return {"race": await self._all(node)}
        except TimeoutError:
            return {"race": None}

    async def wait_for(self, node: Node) -> Any:
        try:
            return {"race": await asyncio.wait_for(self._do(node.parts[0]), node.secs)}
        except TimeoutError:
            return {"race": None}

    async def shield(self, node: Node) -> Any:
        return await asyncio.shield(self._do(node.parts[0]))

    async def tidily(self, node: Node) -> Any:
        try:
            value = await self._do(node.parts[0])
        finally:
            last = await self._do(node.parts[1])
        return [value, last]

    async def cleanup(self, node: Node) -> Any:
        try:
            return await self._do(node.parts[0])
        except asyncio.CancelledError:
            try:
                await self._do(node.parts[1])
            except asyncio.CancelledError:
                if not any(each.does in ("child", "orphan") for each in nodes(node.parts[1])):
                    self._tools.cut_short(self._ctx.workflow_id, node.no)
            raise

    async def event(self, node: Node) -> Any:
        event = asyncio.Event()

        async def set_it() -> Any:
            value = await self._do(node.parts[0])
            event.set()
            return value

        async def wait_for_it() -> Any:
            await event.wait()
            return await self._do(node.parts[1])

        return await asyncio.gather(wait_for_it(), set_it())

    async def queue(self, node: Node) -> Any:
        queue: asyncio.Queue[Any] = asyncio.Queue()

        async def put(part: Node) -> None:
            value = None
            try:
                value = await self._do(part)
            finally:
                queue.put_nowait(value)

        async with asyncio.TaskGroup() as group:
            for part in node.parts:
                group.create_task(put(part))
            return {"race": [await queue.get() for _ in node.parts]}

    async def lock(self, node: Node) -> Any:
        lock = asyncio.Lock()

        async def alone(part: Node) -> Any:
            async with lock:
                return await self._do(part)

        return await asyncio.gather(*(alone(part) for part in node.parts))

    async def overlap(self, node: Node) -> Any:
        begun: Awaitable[Any] = self._activity(node)
        values = await self._all(node)
        return [await begun, *values]

    async def background(self, node: Node) -> Any:
        for part in node.parts:
            self._background.append(asyncio.create_task(self._quietly(part)))
        return node.no

    async def _quietly(self, node: Node) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await self._do(node)

    async def again(self, node: Node) -> Any:
        return [await self._all(node) for _ in range(node.most)]


_DOERS: dict[str, Callable[[Telling, Node], Awaitable[Any]]] = {
    "sequence": Telling._all,
    "side effect": Telling.side_effect,
    "bad effect": Telling.bad_effect,
    "any order": Telling.any_order,
    "wait for": Telling.wait_for,
    "finally": Telling.tidily,
    **{
        name: getattr(Telling, name)
        for name in (
            *("activity", "sick", "parallel", "step", "nap", "doze", "signal", "timed", "child"),
            *(
                "forget",
                "orphan",
                "within",
                "upsert",
                "query",
                "dice",
                "patched",
                "gather",
                "group",
                "first",
                "deadline",
            ),
            *("shield", "cleanup", "event", "queue", "lock", "overlap", "background", "again"),
        )
    },
}


def _break() -> None:
    raise Broken("a broken effect")


async def leaf(ctx: WorkflowContext, given: Any) -> Any:
    """The children's workflow."""
    match given["kind"]:
        case "works":
            return await ctx.execute_activity(WORK, {"no": 0, "fails": 0})
        case "naps":
            await ctx.sleep(0.7)
        case "fails":
            raise Broken("a child that fails")
        case "chain" if not given["last"]:
            await ctx.continue_as_new({"kind": "chain", "last": 1})
    return given["kind"]


def definition(program: Program, tools: Tools) -> WorkflowDefinition:
    """The program as a workflow."""

    async def handler(ctx: WorkflowContext, given: Any) -> Any:
        return await Telling(program, ctx, tools, given).tell()

    return WorkflowDefinition("program", handler)
