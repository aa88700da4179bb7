"""Exchanges: operations one way, their outcomes, tasks and endings the other (design: one entry).

What came in is performed, and the request is answered with the outcomes and with all that has come
for its session meanwhile. A request without operations is held until something comes.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from assay.engine.limits import SESSION_KEPT_SECS
from assay.engine.requests import Request
from assay.engine.runner import Runner
from assay.engine.session import Ended, Parcel, Session
from assay.engine.wants import Grant
from assay.errors import AssayError, EngineStopped, StoreFault
from assay.model.operations import Operation, Outcome
from assay.model.run import Run
from assay.model.task import Claim, TaskKind
from assay.store.port import Look
from assay.store.views import RunView

ANSWER_HELD_SECS = 3600.0
Tell = Callable[[Run | None, str | None], None]
log = logging.getLogger("assay.engine")


class Taking(Struct, frozen=True):
    """So many tasks of a queue; `seen` is how many of that kind have arrived in this session."""

    kind: TaskKind
    queue: str
    room: int
    seen: int


class Asked(Struct, frozen=True):
    """One exchange. `held` names the claims a worker has, when it may have missed an answer."""

    session: str
    operations: Sequence[Operation]
    takings: Sequence[Taking] = ()
    awaited: Sequence[str] = ()
    held: frozenset[int] | None = None
    hold_secs: float = 0.0


class Told(Struct):
    """Its answer. `fresh`: nothing was known here of the session."""

    session: Session
    fresh: bool
    outcomes: Sequence[Outcome | AssayError]
    parcel: Parcel


class Exchanges:
    """The sessions of one instance."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._sessions: dict[str, Session] = {}
        self._forgetting: asyncio.TimerHandle | None = None

    async def exchange(self, asked: Asked) -> Told:
        """Everything at once; cancelling it leaves what has come to the next request."""
        if self._runner.engine.stopped:
            raise EngineStopped
        session = self._sessions.get(asked.session)
        fresh = session is None
        if session is None:
            session = self._sessions[asked.session] = Session(asked.session)
        session.present += 1
        try:
            if asked.held is None:
                await self._enter(session, asked, fresh=fresh)
            outcomes: Sequence[Outcome | AssayError] = ()
            if asked.operations:
                outcomes = await self._perform(asked.operations)
            if asked.held is not None:
                # What it has just reported on is not sent to it again.
                await self._enter(session, asked, fresh=fresh)
            if not asked.operations and asked.hold_secs > 0 and not fresh:
                await session.hold(asked.hold_secs)
            return Told(session, fresh, outcomes, session.take())
        finally:
            session.present -= 1
            if session.present == 0 and not self._runner.engine.stopped:
                self._leave(session)

    def stop(self) -> None:
        """The engine stops: nothing is held any longer."""
        if self._forgetting is not None:
            self._forgetting.cancel()
        for session in self._sessions.values():
            session.let_go()
            for give_up in session.awaited.values():
                give_up()

    def forget_gone(self) -> None:
        """Who has not come back for a while: tasks on the way to it go to others."""
        now = asyncio.get_running_loop().time()
        gone = [
            session
            for session in self._sessions.values()
            if session.present == 0 and now - session.left_at >= SESSION_KEPT_SECS
        ]
        for session in gone:
            del self._sessions[session.id]
            self._runner.engine.index.kept.unwatch(session.id)
            for grant in session.take().grants:
                self._runner.undo(grant.claim)
            for give_up in session.awaited.values():
                give_up()

    def _forget_later(self) -> None:
        """Also if nobody ever comes again: others wait for what is on its way to who has gone."""
        self._forgetting = None
        self.forget_gone()
        left = [each.left_at for each in self._sessions.values() if each.present == 0]
        if left:
            loop = asyncio.get_running_loop()
            moment = min(left) + SESSION_KEPT_SECS
            self._forgetting = loop.call_at(moment, self._forget_later)

    async def _enter(self, session: Session, asked: Asked, *, fresh: bool) -> None:
        runner = self._runner
        for workflow_id in asked.awaited:
            if workflow_id not in session.awaited:
                self._await_end(session, workflow_id)
        if not asked.takings:
            return
        namespace = await runner.presence.namespace_of(session.id)
        runner.presence.seen(session.id, runner.clock())
        runner.engine.index.kept.watch(session.id)
        if fresh or asked.held is not None:
            for taking in asked.takings:
                session.count_anew(taking.kind, taking.seen)
        if asked.held is not None:
            await self._give_again(session, asked.held)
        for taking in asked.takings:
            look = Look(taking.kind, namespace, taking.queue)
            before = session.wants.get(taking.kind)
            if before is not None and before.look != look:
                runner.engine.wants.retire(before)
            want = session.want_on(look)
            room = session.room(taking.kind, taking.room, taking.seen)
            runner.engine.want_several(want, room)
        runner.wake()

    def _leave(self, session: Session) -> None:
        """No request of it is under way: what it gets now would only wait."""
        session.left_at = asyncio.get_running_loop().time()
        for want in session.wants.values():
            self._runner.engine.wants.retire(want)
        if self._forgetting is None:
            self._forget_later()

    async def _perform(self, operations: Sequence[Operation]) -> Sequence[Outcome | AssayError]:
        """Each is a request of its own, so that one that fails hurts no other."""
        outcomes: list[Outcome | AssayError] = [EngineStopped()] * len(operations)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left = len(operations)

        def answered(at: int, answer: Sequence[Outcome | AssayError]) -> None:
            nonlocal left
            outcomes[at] = answer[0]
            left -= 1
            if left == 0 and not future.done():
                future.set_result(None)

        for at, operation in enumerate(operations):
            self._runner.engine.submit(
                Request((operation,), lambda answer, at=at: answered(at, answer))  # type: ignore[misc] # bound at once
            )
        self._runner.wake()
        await future
        return outcomes

    async def _give_again(self, session: Session, held: frozenset[int]) -> None:
        """What was claimed for it and never arrived: open claims of which it knows nothing."""
        rows = await self._runner.store.reading.held_by(session.id)
        for run in rows.runs:
            if run.claim_token is not None and not _is_known(session, held, run.claim_token):
                claim = Claim(TaskKind.WORKFLOW, run.no, run.claim_token, session.id)
                session.give(Grant(claim, run))
        for activity in rows.activities:
            token = activity.claim_token
            if token is not None and not _is_known(session, held, token):
                session.give(
                    Grant(Claim(TaskKind.ACTIVITY, activity.no, token, session.id), activity)
                )

    def _await_end(self, session: Session, workflow_id: str) -> None:
        """Of a run at hand and open nothing need be read: who ends it tells."""
        engine = self._runner.engine
        no = engine.open_at_hand(workflow_id)
        if no is None:
            self._follow(session, workflow_id)
            return

        def tell(run: Run | None, result: str | None) -> None:
            if run is None or run.successor_no is not None:
                self._follow(session, workflow_id)
            else:
                session.tell(Ended(workflow_id, RunView(run, None, result)))

        engine.watched.setdefault(no, []).append(tell)
        session.awaited[workflow_id] = partial(self._unwatch, no, tell)

    def _unwatch(self, no: int, tell: Tell) -> None:
        watching = self._runner.engine.watched.get(no, [])
        if tell in watching:
            watching.remove(tell)
        if not watching:
            self._runner.engine.watched.pop(no, None)

    def _follow(self, session: Session, workflow_id: str) -> None:
        """Through all that the run continues as, however long that takes."""
        task = asyncio.get_running_loop().create_task(self._await(session, workflow_id))
        session.awaited[workflow_id] = task.cancel

    async def _await(self, session: Session, workflow_id: str) -> None:
        """The end of a run, however long that takes."""
        while True:
            try:
                view = await self._runner.result(workflow_id, ANSWER_HELD_SECS)
            except StoreFault as fault:
                log.warning("the end of %s is looked for later: %s", workflow_id, fault)
                await asyncio.sleep(1.0)
                continue
            if view is None or not view.run.is_open:
                session.tell(Ended(workflow_id, view))
                return
            if self._runner.engine.stopped:
                return


def _is_known(session: Session, held: frozenset[int], token: int) -> bool:
    return token in held or session.has_token(token)
