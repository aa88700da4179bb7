"""The engine as a synchronous state machine, without clock, I/O or tasks of its own.

In go requests, wants, loaded rows, commit outcomes and the time; out come steps for the store
(`LoadStep`, `CommitStep`, `SettleStep`) and, after a commit, answers. One batch is in hand at a
time; what arrives meanwhile makes up the next. `runner.py` drives it with a real store and clock,
the simulator with faults.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from assay.core.decide import Rules
from assay.engine.batch import BatchInHand, Verdict
from assay.engine.index import claims_over_soon
from assay.engine.limits import (
    CONFLICTS_BEFORE_GIVING_UP,
    CONFLICTS_BEFORE_LOCK,
    CONFLICTS_BEFORE_SPLIT,
    DEADLINES_PER_BATCH,
    OPERATIONS_PER_BATCH,
    RETRY_DUE_AFTER,
)
from assay.engine.parts import Parts
from assay.engine.requests import CommitStep, LoadStep, Request, SettleStep, Step
from assay.engine.wants import Grant, Want, WantState
from assay.errors import AssayError, EngineStopped, StoreFault, StoreUnavailable
from assay.model.decision import Decision
from assay.model.events import Event
from assay.model.operations import Due, UndoActivityClaim, UndoWorkflowClaim
from assay.model.run import Run
from assay.model.task import Claim, TaskKind
from assay.store.port import (
    Awaiting,
    Batch,
    CommitOutcome,
    Committed,
    Deadline,
    Failed,
    Loaded,
    Look,
    Ready,
    Refused,
    Stale,
    Unknown,
)


class Engine:
    """One instance's decisions, its memory of the store, and those who wait."""

    def __init__(self, *, instance: int, exclusive: bool, rules: Rules) -> None:
        self.instance = instance
        self.parts = Parts(exclusive=exclusive, rules=rules)
        self.index = self.parts.index
        self.wants = self.parts.wants
        self.batches = 0
        self.stopped = False
        self.keeps_time = True
        self.amnesia = False
        self.out_of_breath = False
        self.committed_looks: dict[Look, None] = {}
        self.committed_ends: list[int] = []
        self.committed_claims: list[Deadline] = []
        # Whom to tell at once when a run ends: with its result, if it ends by a commit of this
        # instance, else that there is something to be read.
        self.watched: dict[int, list[Callable[[Run | None, str | None], None]]] = {}
        self._news_of_ends: list[int] = []
        self._ended_elsewhere: dict[int, None] = {}
        self._intake: deque[Request] = deque()
        self._now = 0
        self._hand: BatchInHand | None = None

    # -- in --------------------------------------------------------------------------------------

    def submit(self, request: Request) -> None:
        """Operations to decide in the next batch."""
        if self.stopped:
            request.answer([EngineStopped()] * len(request.operations))
            return
        self._intake.append(request)

    def want(self, want: Want) -> None:
        """A poll. It is answered with a task, or when it is withdrawn, or at once if not held."""
        if self.stopped:
            want.state = WantState.ANSWERED
            want.answer(None)
            return
        self.wants.add(want)

    def undo(self, claim: Claim) -> None:
        """The answer with this claim did not reach its worker."""
        undo = UndoWorkflowClaim if claim.kind is TaskKind.WORKFLOW else UndoActivityClaim
        self._intake.append(Request((undo(claim.no, claim.token),), lambda _: None))

    def want_several(self, want: Want, room: int) -> None:
        """A worker is there and takes so many tasks.

        One that had room and has room waits on: what was ready for it, it has been given.
        """
        room -= want.in_hand
        if want.room > 0 and room > 0 and not want.gone:
            want.room = room
            return
        self.wants.retire(want)
        want.room = room
        self.wants.add(want)

    def stop(self) -> None:
        """No new work: held polls are answered empty, what has come in is finished."""
        self.stopped = True
        if self._hand is not None:
            self._hand.let_go()
        for want in self.wants.all():
            if want.several:
                self.wants.retire(want)
            else:
                self.wants.withdraw(want)
            want.answer(None)

    def advance(self, now: int) -> int:
        """Time goes on; it never goes back."""
        self._now = max(self._now, now)
        return self._now

    # -- the batch -------------------------------------------------------------------------------

    @property
    def is_busy(self) -> bool:
        """A batch is in hand."""
        return self._hand is not None

    def begin(self, now: int) -> Step | None:
        """Make up a batch of all that has come in and all that is due."""
        now = self.advance(now)
        if self._hand is not None:
            return None
        if self._news_of_ends:
            self.index.have_ended(self._news_of_ends, now)
            self._news_of_ends = []
        self._forget_ended()
        looks = self.wants.looks()
        self.index.windows.shrink(looks)
        self._wake_delayed(looks, now)
        requests = self._take_requests()
        idle = not self.keeps_time or (bool(requests) and requests[-1].stands_alone)
        limit = 0 if idle else DEADLINES_PER_BATCH
        rows = self.index.deadlines.take_due(now, limit) if limit else []
        dues = tuple(Due(kind, no) for kind, no in rows)
        if not (requests or dues or self.wants.unserved):
            return None
        self._hand = BatchInHand(self.parts, requests, dues, now)
        return self._decide()

    def loaded(self, rows: Loaded, ready: Sequence[tuple[Look, list[Ready]]]) -> Step | None:
        """What a load step asked for is here."""
        self._in_hand().absorb_load(rows, ready)
        return self._decide()

    def give_up_batch(self, error: AssayError) -> None:
        """The batch cannot be decided, its rows not read: everybody in it is told."""
        if self._hand is not None:
            self._give_up_hand().answer_all(error)
        self.forget_all()

    def after_defect(self, error: AssayError) -> Step | None:
        """Something of the batch cannot even be decided: halve it until that stands alone."""
        hand = self._hand
        if hand is None or not self._halve(hand, error):
            return None
        return LoadStep((), (), lock=False)

    def committed(self, outcome: CommitOutcome) -> Step | None:
        """How the commit of the batch in hand came out."""
        hand = self._in_hand()
        match outcome:
            case Committed():
                self._finish(hand)
                return None
            case Stale():
                return self._after_conflict(hand)
            case Refused(error):
                return self._after_refusal(hand, error)
            case Failed(error):
                self.out_of_breath = True
                self._fail(hand, StoreUnavailable(error))
                return None
            case Unknown():
                return SettleStep(self.instance, self.batches)

    def settled(self, *, committed: bool | None) -> None:
        """After an unknown outcome: it is in, it is not, or (None) nobody could say."""
        hand = self._in_hand()
        self.forget_all()
        if committed:
            self._finish(hand)
        else:
            self._fail(hand, StoreUnavailable("the connection to the database was lost"))

    def forget_all(self) -> None:
        """The connection was lost: nothing that is remembered can be trusted."""
        self.index.clear()
        self.wants.look_again()
        self.amnesia = True
        self.out_of_breath = True

    def recover(self, deadlines: Iterable[Deadline], starts: Iterable[Awaiting] = ()) -> None:
        """What has to be known without anybody asking: when rows are due, and what waits."""
        self.index.load_deadlines(deadlines)
        for found in starts:
            self.index.starts.note(found)

    def open_at_hand(self, workflow_id: str) -> int | None:
        """The number of a run that is known to be open, as far as this instance has heard."""
        cases = self.index.cases
        no = cases.no_of_id.get(workflow_id)
        if no is None or no in self._ended_elsewhere or not cases.by_no[no].run.is_open:
            return None
        return no

    def ended_elsewhere(self, nos: Sequence[int]) -> bool:
        """Runs ended on another instance; whether that may mean something to be done here."""
        self._ended_elsewhere.update(dict.fromkeys(nos))
        if not self.is_busy:
            self._forget_ended()
        for no in nos:
            for tell in self.watched.pop(no, ()):
                tell(None, None)
        return self.have_ended(nos)

    def have_ended(self, nos: Sequence[int]) -> bool:
        """Runs have ended; whether that may mean something to be done.

        A batch in hand may be about to put a start off until such an end.
        """
        if self.is_busy or self.index.starts:
            self._news_of_ends += nos
        return bool(self._news_of_ends)

    def hint(self, looks: Iterable[Look] | None) -> None:
        """Another instance made tasks ready on these queues (None: it may have, on any)."""
        by_look = self.index.windows.by_look
        if looks is None:
            self.index.windows.doubt()
            self.wants.look_again()
            return
        for look in looks:
            if look in by_look:
                by_look[look].doubt()
            if self.wants.is_wanted(look):
                self.wants.unserved[look] = None

    def next_wake(self) -> int | None:
        """When time alone gives the engine something to do."""
        moments = [self.index.deadlines.next_at() if self.keeps_time else None]
        for look in self.wants.looks():
            window = self.index.windows.by_look.get(look)
            moments.append(None if window is None else window.next_at())
        return min((at for at in moments if at is not None), default=None)

    @property
    def has_work(self) -> bool:
        """Something has come in that no batch has taken yet."""
        return bool(self._intake or self.wants.unserved or self._news_of_ends)

    # -- steps -----------------------------------------------------------------------------------

    def _decide(self) -> Step | None:
        hand = self._in_hand()
        verdict = hand.decide()
        if isinstance(verdict, LoadStep):
            return verdict
        if verdict is Verdict.NOTHING_TO_WRITE:
            self._hand = None
            hand.rearm()
            hand.tidy()
            hand.answer()
            return None
        self.batches += 1
        return CommitStep(Batch(self.instance, self.batches, hand.decision))

    def _finish(self, hand: BatchInHand) -> None:
        self._hand = None
        try:
            hand.rearm()
            ended = _ended(hand.decision)
            self.committed_ends += ended
            if not self.parts.exclusive:
                self.committed_claims += claims_over_soon(hand.decision)
            self.committed_looks.update(dict.fromkeys(self.index.absorb(hand.decision)))
            self.have_ended(ended)
        except Exception:
            self.forget_all()
            raise
        finally:
            # It is committed, whatever memory makes of it: everybody hears so.
            hand.tidy()
            hand.answer()
            if hand.grants:
                self._deliver(hand)
            if self.watched:
                self._tell_ends(hand.decision)

    def _forget_ended(self) -> None:
        """What is kept of these runs is old; a batch in hand goes on with it, and is guarded."""
        for no in self._ended_elsewhere:
            self.index.cases.forget(no)
        self._ended_elsewhere.clear()

    def _tell_ends(self, decision: Decision) -> None:
        """Runs that somebody watches have ended, or are gone."""
        for change in decision.runs:
            row = change.after or change.before
            if row is None or row.no not in self.watched:
                continue
            if change.after is not None and row.is_open:
                continue
            result = next((e.payload for e in decision.events if _is_result(e, row)), None)
            gone = row.no in decision.purged or change.after is None
            for tell in self.watched.pop(row.no):
                tell(None if gone else row, result)

    def _deliver(self, hand: BatchInHand) -> None:
        told = _events_by_run(hand.decision) if any(want.several for want, _ in hand.grants) else {}
        for want, grant in hand.grants:
            if want.several:
                want.in_hand -= grant.spends
                grant.events = _unseen(grant, told)
                want.answer(grant)
                continue
            want.state = WantState.ANSWERED
            if want.gone:
                self.undo(grant.claim)
            else:
                want.answer(grant)

    def _after_conflict(self, hand: BatchInHand) -> Step | None:
        self.index.forget(hand.decision)
        hand.conflicts += 1
        if hand.conflicts >= CONFLICTS_BEFORE_GIVING_UP:
            self._fail(hand, StoreUnavailable("the rows are changed faster than they can be read"))
            return None
        if hand.conflicts >= CONFLICTS_BEFORE_SPLIT and hand.can_split:
            self._intake.extendleft(reversed(hand.split()))
        hand.begin_anew(lock=hand.conflicts >= CONFLICTS_BEFORE_LOCK)
        return self._decide()

    def _after_refusal(self, hand: BatchInHand, error: str) -> Step | None:
        self.index.forget(hand.decision)
        return self._decide() if self._halve(hand, StoreFault(error)) else None

    def _halve(self, hand: BatchInHand, error: AssayError) -> bool:
        """What cannot be done hurts nobody beside it: half is given back; alone, it fails."""
        if not hand.can_split:
            self._fail(hand, error)
            return False
        self._intake.extendleft(reversed(hand.split(RETRY_DUE_AFTER)))
        hand.begin_anew(lock=False)
        return True

    def _fail(self, hand: BatchInHand, error: AssayError) -> None:
        self.index.forget(hand.decision)
        self._give_up_hand()
        hand.answer_all(error)

    def _give_up_hand(self) -> BatchInHand:
        hand = self._in_hand()
        hand.take_back()
        hand.put_back_deadlines()
        hand.tidy()
        self._hand = None
        return hand

    def _in_hand(self) -> BatchInHand:
        if self._hand is None:
            raise AssertionError("no batch is in hand")
        return self._hand

    def _take_requests(self) -> list[Request]:
        requests: list[Request] = []
        room = OPERATIONS_PER_BATCH
        while self._intake and (room > 0 or not requests):
            request = self._intake[0]
            room -= request.weight
            if requests and (room < 0 or request.stands_alone):
                break
            requests.append(self._intake.popleft())
            if request.stands_alone:
                break
        return requests

    def _wake_delayed(self, looks: list[Look], now: int) -> None:
        """Tasks whose delay is over: those who wait on their queue are served."""
        for look in looks:
            window = self.index.windows.by_look.get(look)
            at = None if window is None else window.next_at()
            if at is not None and at <= now:
                self.wants.unserved[look] = None


def _ended(decision: Decision) -> list[int]:
    """Runs that this batch ended or deleted."""
    rows = [change.after or change.before for change in decision.runs]
    gone = set(decision.purged)
    return [run.no for run in rows if run is not None and (not run.is_open or run.no in gone)]


def _events_by_run(decision: Decision) -> dict[int, list[Event]]:
    by_run: dict[int, list[Event]] = {}
    for event in decision.events:
        by_run.setdefault(event.run_no, []).append(event)
    return by_run


def _unseen(grant: Grant, told: dict[int, list[Event]]) -> list[Event] | None:
    """What the worker has not seen of a run, if this very batch holds all of it."""
    run = grant.row
    if not isinstance(run, Run):
        return None
    seen = 0 if grant.since is None else grant.since.seq
    events = told.get(run.no, [])
    if len(events) > run.last_seq - seen:
        events = events[seen - run.last_seq :]
    return events if len(events) == run.last_seq - seen else None


def _is_result(event: Event, run: Run) -> bool:
    return event.run_no == run.no and event.seq == run.result_seq
