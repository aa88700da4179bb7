"""The batch in hand: operations decided in order, then tasks handed to who waits."""

from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import assert_never

from assay.core.claim import (
    claim_activity,
    claim_run,
    is_activity_claimable,
    is_kept_run_claimable,
    is_run_claimable,
)
from assay.core.decide import decide
from assay.core.draft import Draft
from assay.core.due import activity_due_at, run_due_at, timer_due_at
from assay.core.fire_schedule import schedule_due_at
from assay.core.view import Key, Missing, Need
from assay.engine.at_hand import AtHand
from assay.engine.limits import PASSES_PER_BATCH, RETRY_DUE_AFTER, SWEEP_EVERY, WINDOW_TASKS
from assay.engine.parts import Parts
from assay.engine.requests import LoadStep, Request
from assay.engine.wants import Grant, Since, Want
from assay.errors import AssayError, Refusal
from assay.model.activity import Activity
from assay.model.decision import Decision
from assay.model.operations import Due, DueKind, Heard, Operation, Outcome, RenewLeases
from assay.model.run import Run
from assay.model.task import TaskKind
from assay.store.port import Loaded, Look, Ready
from assay.store.views import ActivityView


class Verdict(Enum):
    """What came of deciding a batch."""

    TO_COMMIT = "to commit"
    NOTHING_TO_WRITE = "nothing to write"


class BatchInHand:
    """Requests and deadlines that share one commit."""

    def __init__(
        self, parts: Parts, requests: list[Request], dues: tuple[Due, ...], now: int
    ) -> None:
        self.now = now
        self.conflicts = 0
        self.decision = Decision(at=now)
        self.grants: list[tuple[Want, Grant]] = []
        self._parts = parts
        self._requests = requests
        self._dues = dues
        self._outcomes: list[list[Outcome | AssayError]] = []
        self._unserved: dict[Look, None] = {}
        self._looked: set[Look] = set()
        self._arrivals = 0
        self._taken: list[tuple[Look, int, int]] = []
        self._view = AtHand(parts.index.cases, parts.stock)
        self._lock = False
        self._keys: tuple[Key, ...] = ()
        self._passes = 0
        self._draft = Draft(self._view, now, parts.stock)

    # -- deciding --------------------------------------------------------------------------------

    def decide(self) -> Verdict | LoadStep:
        """Decide everything; if rows are missing, say which."""
        self.take_back()
        self._passes += 1
        if self._passes > PASSES_PER_BATCH:
            raise AssertionError(f"a batch never gets the rows it needs: {self._keys}")
        parts = self._parts
        parts.stock.rewind()
        draft = self._draft = Draft(self._view, self.now, parts.stock)
        missing: dict[Key, None] = {}
        self._outcomes = [
            [self._one(draft, operation, missing) for operation in request.operations]
            for request in self._requests
        ]
        for due in self._dues:
            self._one(draft, due, missing)
        looks = self._hand_over(draft, missing)
        if missing or looks:
            self._keys = tuple(missing)
            # Who has just met another instance on a queue gets out of its way.
            wants = () if self.conflicts else looks
            in_order = frozenset(filter(parts.wants.has_plain, wants))
            return LoadStep(self._keys, tuple(looks), self._lock, in_order)
        self.decision = draft.seal()
        return Verdict.NOTHING_TO_WRITE if self.decision.is_empty else Verdict.TO_COMMIT

    def absorb_load(self, loaded: Loaded, ready: Sequence[tuple[Look, list[Ready]]]) -> None:
        """Rows that were asked for are here."""
        self._view.absorb(self._keys, loaded)
        for look, found in ready:
            self._parts.index.load_ready(look, found, WINDOW_TASKS, self.now)
            self._looked.add(look)

    def _one(
        self, draft: Draft, operation: Operation, missing: dict[Key, None]
    ) -> Outcome | AssayError:
        view, mark = self._view, draft.mark()
        shared = not self._parts.exclusive
        if shared:
            view.touched.clear()
        try:
            outcome = decide(draft, operation, self._parts.rules)
        except Missing as gap:
            draft.roll_back(mark)
            missing.update(dict.fromkeys(gap.keys))
            return _UNDECIDED
        if shared and not (_rests_on_guards(operation, outcome) and draft.changed_since(mark)):
            for no in view.touched.copy():
                self._doubt(no, missing)
        return outcome

    def _doubt(self, run_no: int, missing: dict[Key, None]) -> None:
        """What is kept of a run says no; others may have changed it, so the rows decide."""
        if not self._parts.exclusive and run_no not in self._view.fresh:
            self._view.doubt(run_no)
            missing[Key(Need.RUN, run_no)] = None

    # -- handing over ----------------------------------------------------------------------------

    def _hand_over(self, draft: Draft, missing: dict[Key, None]) -> list[Look]:
        """Give ready tasks to those who wait; name the queues the store has to be asked about."""
        wants = self._parts.wants
        self._unserved.update(wants.unserved)
        wants.unserved.clear()
        self._arrivals = wants.arrivals
        for want in wants.keepers_of(self._unserved):
            self._serve_keeper(draft, want, missing)
        looks = [look for look in self._unserved if self._serve(draft, look, missing)]
        if len(wants):
            self._offer_changed(draft, missing)
        return looks

    def _serve_keeper(self, draft: Draft, want: Want, missing: dict[Key, None]) -> None:
        """News of the runs that a worker keeps alive: those it holds on, others as it has room."""
        kept = self._parts.index.kept
        for no, at in list(kept.held_by(want.worker_id).items()):
            if at <= self.now:
                self._try_kept(draft, want, no, missing)
        asked = len(missing)
        for no, at in list(kept.of(want.worker_id).items()) if want.room > 0 else ():
            if want.room <= len(missing) - asked:
                break  # rows for as many are on their way
            if at <= self.now:
                self._try_kept(draft, want, no, missing)

    def _try_kept(self, draft: Draft, want: Want, no: int, missing: dict[Key, None]) -> None:
        mark = draft.mark()
        try:
            run = draft.run(no)
            if run is None or not is_kept_run_claimable(run, self.now, want.worker_id):
                if no not in draft.runs:
                    self._doubt_kept(no, missing)
                return
            held_on = run.claim_until is not None
            if want.room > 0 or held_on:
                grant = self._claimed_run(draft, want, run)
                grant.spends = not held_on
                self._parts.wants.grant_to(want, spends=grant.spends)
                self.grants.append((want, grant))
        except Missing as gap:
            draft.roll_back(mark)
            missing.update(dict.fromkeys(gap.keys))

    def _doubt_kept(self, no: int, missing: dict[Key, None]) -> None:
        """The rows decide; if they have, another instance has moved it, and it is forgotten."""
        if self._parts.exclusive or no in self._view.fresh:
            self._parts.index.kept.note(no, None, None)
        else:
            self._doubt(no, missing)

    def _serve(self, draft: Draft, look: Look, missing: dict[Key, None]) -> bool:
        """From the window to the waiting. True: the window does not know enough."""
        parts, asked = self._parts, len(missing)
        window = parts.index.windows.of(look)
        if parts.wants.first(look) is None:
            # A worker without room may still be waited for: by a run whose claim it holds.
            return parts.wants.is_wanted(look) and self._is_outdated(look)
        while parts.wants.first(look) is not None:
            if len(missing) - asked >= parts.wants.count(look):
                return False  # rows for all of them are on their way
            ready_at = window.next_at()
            no = window.take(self.now)
            if no is None or ready_at is None:
                return not self._knows_all(look)
            self._taken.append((look, no, ready_at))
            self._try(draft, look, no, missing)
        return False

    def _is_outdated(self, look: Look) -> bool:
        """What was kept before this engine, or has news by others, is found with what is ready."""
        window = self._parts.index.windows.of(look)
        outdated = 0 if self._parts.exclusive else self.now - SWEEP_EVERY
        return look not in self._looked and window.looked_at <= outdated

    def _knows_all(self, look: Look) -> bool:
        """Whether the window can say that nothing is ready now."""
        window = self._parts.index.windows.of(look)
        if look in self._looked:
            return True
        if not self._parts.exclusive and (
            window.looked_at <= self.now - SWEEP_EVERY or self._parts.wants.has_unheld(look)
        ):
            return False  # whoever is told that there is nothing is told so by the rows
        return window.knows(self.now)

    def _try(self, draft: Draft, look: Look, no: int, missing: dict[Key, None]) -> None:
        mark = draft.mark()
        try:
            if look.kind is TaskKind.WORKFLOW:
                run = draft.run(no)
                if run is not None and is_run_claimable(run, self.now):
                    self._grant_run(draft, look, run)
                elif run is not None and no not in draft.runs:
                    self._doubt(no, missing)
            else:
                activity = draft.activities.get(no)
                if activity is not None and is_activity_claimable(activity, self.now):
                    self._grant_activity(draft, look, activity)
                elif activity is not None and no not in draft.activities.rows:
                    self._doubt(activity.run_no, missing)
        except Missing as gap:
            draft.roll_back(mark)
            missing.update(dict.fromkeys(gap.keys))

    def _offer_changed(self, draft: Draft, missing: dict[Key, None]) -> None:
        """Tasks that this very batch made ready: claimed in the same commit."""
        for run in list(draft.runs.values()):
            keeper = None if run.keeper is None else self._parts.wants.keepers.get(run.keeper)
            if keeper is not None and is_kept_run_claimable(run, self.now, keeper.worker_id):
                self._try_kept(draft, keeper, run.no, missing)
            elif is_run_claimable(run, self.now):
                look = self._look_for(TaskKind.WORKFLOW, run)
                if look is not None:
                    self._try(draft, look, run.no, missing)
        for activity in list(draft.activities.rows.values()):
            if activity is not None and is_activity_claimable(activity, self.now):
                look = self._look_for(TaskKind.ACTIVITY, activity)
                if look is not None:
                    self._try(draft, look, activity.no, missing)

    def _look_for(self, kind: TaskKind, row: Run | Activity) -> Look | None:
        """The queue as the one who waits longest for this task looks at it."""
        first = self._parts.wants.first
        anyone = first(Look(kind, None, row.queue))
        bound = first(Look(kind, row.namespace, row.queue))
        if anyone is None or bound is None:
            want = anyone or bound
            return None if want is None else want.look
        return anyone.look if anyone.order < bound.order else bound.look

    def _grant_run(self, draft: Draft, look: Look, run: Run) -> None:
        want = self._parts.wants.first(look)
        if want is None:
            return
        # Claimed first: a claim that lacks a number leaves everybody waiting where they are.
        grant = self._claimed_run(draft, want, run)
        self.grants.append((self._parts.wants.grant(look), grant))

    def _claimed_run(self, draft: Draft, want: Want, run: Run) -> Grant:
        claim = claim_run(draft, run, want.worker_id, self._parts.rules.lease)
        grant = Grant(claim, draft.runs[run.no])
        if want.several and run.keeper == want.worker_id and run.kept_token is not None:
            grant.since = Since(run.claim_seq, run.kept_token)
        return grant

    def _grant_activity(self, draft: Draft, look: Look, activity: Activity) -> None:
        worker = self._parts.wants.first(look)
        if worker is None:
            return
        claim = claim_activity(draft, activity, worker.worker_id)
        row = draft.activities.get(activity.no)
        if row is not None:
            grant = Grant(claim, row, _view(draft, row))
            self.grants.append((self._parts.wants.grant(look), grant))

    def take_back(self) -> None:
        """Deciding starts anew: what was taken from windows and wants goes back."""
        windows = self._parts.index.windows
        for look, no, ready_at in self._taken:
            windows.of(look).put_back(no, ready_at)
        self._taken.clear()
        self._parts.wants.put_back([(want, grant.spends) for want, grant in self.grants])
        self.grants.clear()

    # -- ending ----------------------------------------------------------------------------------

    def answer(self) -> None:
        """Everybody gets what was decided; polls that are not held and got nothing leave."""
        for request, outcomes in zip(self._requests, self._outcomes, strict=True):
            request.answer(outcomes)
        wants, taken = self._parts.wants, {look for look, _, _ in self._taken}
        for look in self._unserved:
            for want in wants.unheld(look, self._arrivals):
                wants.withdraw(want)
                want.answer(None)
            window = self._parts.index.windows.of(look)
            if wants.count(look) and look in taken and not window.knows(self.now):
                wants.unserved[look] = None

    def rearm(self) -> None:
        """A row that was not due after all (somebody moved it) keeps its deadline.

        Before memory follows the store: what ended in this batch is still at hand then.
        """
        for due in self._dues:
            # After a lost connection nothing is at hand; the deadlines are read again anyway.
            with suppress(Missing):
                self._parts.index.deadlines.set(due.kind, due.no, self._due_at(due))

    def _due_at(self, due: Due) -> int | None:
        draft = self._draft
        match due.kind:
            case DueKind.RUN:
                run = draft.run(due.no)
                return None if run is None else run_due_at(run)
            case DueKind.ACTIVITY:
                activity = draft.activities.get(due.no)
                return None if activity is None else activity_due_at(activity)
            case DueKind.TIMER:
                timer = draft.timers.get(due.no)
                return None if timer is None else timer_due_at(timer)
            case DueKind.SCHEDULE:
                schedule = draft.schedules.get(due.no)
                at = None if schedule is None else schedule_due_at(schedule)
                # Due and yet not fired: its namespace is gone. The sweep finds it if that returns.
                return at if at is not None and at > self.now else None
            case _:
                assert_never(due.kind)

    def answer_all(self, error: AssayError) -> None:
        """Nobody got anything. Held polls wait on, and their queues are looked at again."""
        for request in self._requests:
            request.answer([error] * len(request.operations))
        for look in self._unserved:
            for want in self._parts.wants.unheld(look, self._arrivals):
                self._parts.wants.withdraw(want)
                want.answer(error)
            self._parts.wants.unserved[look] = None

    def tidy(self) -> None:
        """The batch is over: its numbers are used up, runs that had ended are not kept."""
        self._parts.stock.keep()
        self._parts.index.cases.tidy(self._view.fresh)

    def let_go(self) -> None:
        """The engine stops: who was to get a task and does not is not to wait on."""
        for want, _ in self.grants:
            want.expired = not want.several

    def put_back_deadlines(self) -> None:
        """What was due still is."""
        for due in self._dues:
            self._parts.index.deadlines.set(due.kind, due.no, self.now + RETRY_DUE_AFTER)

    @property
    def can_split(self) -> bool:
        """More than one request, or requests beside deadlines."""
        return len(self._requests) + len(self._dues) > 1

    def split(self, dues_after: int = 0) -> list[Request]:
        """Keep the first half; the other requests, and deadlines, are given back.

        Requests come before deadlines: somebody waits for them, and a deadline that cannot be
        decided must not take them with it again and again.
        """
        if self._dues and self._requests:
            self._give_back_dues(0, dues_after)
            return []
        self._give_back_dues((len(self._dues) + 1) // 2, dues_after)
        half = (len(self._requests) + 1) // 2
        back, self._requests = self._requests[half:], self._requests[:half]
        return back

    def _give_back_dues(self, kept: int, after: int) -> None:
        for due in self._dues[kept:]:
            self._parts.index.deadlines.set(due.kind, due.no, self.now + after)
        self._dues = self._dues[:kept]

    def begin_anew(self, *, lock: bool) -> None:
        """Forget what was loaded and decide again; windows of a shared store are in doubt."""
        self.take_back()
        self._passes = 0
        self._view = AtHand(self._parts.index.cases, self._parts.stock)
        self._lock = lock
        self._looked.clear()
        if not self._parts.exclusive:
            self._parts.index.windows.doubt()


def _rests_on_guards(operation: Operation, outcome: Outcome | AssayError) -> bool:
    """Whatever was read for it is written too, so that a stale row would be noticed."""
    return not isinstance(outcome, (Refusal, Heard)) and not isinstance(operation, RenewLeases)


def _view(draft: Draft, activity: Activity) -> ActivityView | None:
    """The record of an activity that was scheduled in this very batch."""
    run = draft.runs.get(activity.run_no)
    if run is None or activity.no not in draft.inputs:
        return None
    return ActivityView(activity, run.id, draft.inputs[activity.no], None)


_UNDECIDED = AssayError("undecided")
