"""All that is remembered of the store. It changes only in `absorb`, after a commit, and by loading.

Cases (open runs at hand), windows (ready tasks), kept runs, deadlines and waiting starts are hints
that could be rebuilt from rows at any moment; the simulator does so and compares
(tests/faults/test_simulation.py).
"""

from collections.abc import Iterable

from assay.core.claim import kept_at, open_at
from assay.core.due import activity_due_at, run_due_at, timer_due_at
from assay.core.fire_schedule import schedule_due_at
from assay.engine.cases import Cases
from assay.engine.deadlines import Deadlines
from assay.engine.kept import Kept
from assay.engine.limits import HORIZON, TOLD_CLAIM
from assay.engine.starts import Starts
from assay.engine.windows import Windows
from assay.model.activity import Activity
from assay.model.decision import Decision
from assay.model.operations import DueKind
from assay.model.run import Run
from assay.model.states import ActivityStatus
from assay.model.task import TaskKind
from assay.store.port import Deadline, Look, Ready


class Index:
    """Cases, windows, kept runs, deadlines and waiting starts of one instance."""

    def __init__(self) -> None:
        self.cases = Cases()
        self.windows = Windows()
        self.kept = Kept()
        self.deadlines = Deadlines()
        self.starts = Starts()
        self.horizon = HORIZON

    def absorb(self, decision: Decision) -> list[Look]:
        """A batch is committed: memory follows. Returns the queues that got ready tasks."""
        ready: dict[Look, None] = {}
        self.cases.absorb(decision)
        for run_change in decision.runs:
            run = run_change.after
            if run is not None:
                at = self._near(run_due_at(run), decision.at) or run.claim_until
                self.deadlines.set(DueKind.RUN, run.no, at)
                self._note_run(ready, run)
        for activity_change in decision.activities:
            activity = activity_change.after
            if activity is not None:
                self.deadlines.set(DueKind.ACTIVITY, activity.no, activity_due_at(activity))
                self._note(ready, TaskKind.ACTIVITY, activity, activity_ready_at(activity))
            elif activity_change.before is not None:
                gone = activity_change.before
                self.deadlines.set(DueKind.ACTIVITY, gone.no, None)
                self._note(ready, TaskKind.ACTIVITY, gone, None)
        for timer_change in decision.timers:
            timer = timer_change.after
            row = timer or timer_change.before
            at = None if timer is None else timer_due_at(timer)
            if row is not None:
                self.deadlines.set(DueKind.TIMER, row.no, self._near(at, decision.at))
        for schedule_change in decision.schedules:
            schedule = schedule_change.after
            planned = schedule or schedule_change.before
            at = None if schedule is None else schedule_due_at(schedule)
            if planned is not None:
                self.deadlines.set(DueKind.SCHEDULE, planned.no, self._near(at, decision.at))
                self.starts.absorb(planned.no, schedule)
        return list(ready)

    def forget(self, decision: Decision) -> None:
        """A batch failed, or nobody knows: every row it named is unknown, and so is its run."""
        runs = [change.after or change.before for change in decision.runs]
        nos = {run.no for run in runs if run is not None}
        activities = [change.after or change.before for change in decision.activities]
        nos.update(activity.run_no for activity in activities if activity is not None)
        timers = [change.after or change.before for change in decision.timers]
        nos.update(timer.run_no for timer in timers if timer is not None)
        for no in sorted(nos):
            self.cases.forget(no)

    def clear(self) -> None:
        """The connection was lost: everything is unknown."""
        self.cases.clear()
        self.windows.clear()
        self.kept.forget()
        self.deadlines.clear()
        self.starts.clear()

    def have_ended(self, nos: Iterable[int], now: int) -> None:
        """Of these runs everybody is told: starts that waited for one are due."""
        for no in self.starts.release(nos):
            self.deadlines.set(DueKind.SCHEDULE, no, now)

    def load_ready(self, look: Look, found: list[Ready], limit: int, now: int) -> None:
        """What the store holds of a queue's ready tasks."""
        for task in found:
            if task.keeper is not None:
                self.kept.note(task.no, task.keeper, task.ready_at, held=task.held)
        self.windows.of(look).load(found, limit, now)

    def load_deadlines(self, found: Iterable[Deadline]) -> None:
        """Moments the store knows of; of several that one row has, the earliest.

        What this instance knows better (it made the row, or it saw the instance go whose share it
        was) stays: too early costs a look, too late is late.
        """
        earliest: dict[tuple[DueKind, int], int] = {}
        for deadline in found:
            row = (deadline.kind, deadline.no)
            earliest[row] = min(deadline.at, earliest.get(row, deadline.at))
        for (kind, no), at in earliest.items():
            self.deadlines.set(kind, no, min(at, self.deadlines.at.get((kind, no), at)))

    def _near(self, at: int | None, now: int) -> int | None:
        """What is far away is left to the sweep, so that what is parked costs no memory."""
        return at if at is not None and at <= now + self.horizon else None

    def _note_run(self, ready: dict[Look, None], run: Run) -> None:
        """Whoever may have it, and from when on; another instance may have its keeper."""
        at = kept_at(run)
        self.kept.note(run.no, run.keeper, at, held=run.claim_until is not None)
        if at is not None:
            for namespace in (None, run.namespace):
                ready[Look(TaskKind.WORKFLOW, namespace, run.queue)] = None
        self._note(ready, TaskKind.WORKFLOW, run, open_at(run))

    def _note(
        self, ready: dict[Look, None], kind: TaskKind, row: Run | Activity, ready_at: int | None
    ) -> None:
        by_look = self.windows.by_look
        for namespace in (None, row.namespace):
            look = Look(kind, namespace, row.queue)
            window = by_look.get(look)
            if ready_at is None:
                if window is not None:
                    window.remove(row.no)
                continue
            ready[look] = None
            if window is not None:
                window.add(row.no, ready_at)


def claims_over_soon(decision: Decision) -> list[Deadline]:
    """Claims of this batch that end before others would notice that nobody looks after them."""
    limit = decision.at + TOLD_CLAIM
    found: list[Deadline] = []
    for change in decision.runs:
        run = change.after
        if run is not None and run.claim_until is not None and run.claim_until < limit:
            found.append(Deadline(run.claim_until, DueKind.RUN, run.no))
    for changed in decision.activities:
        activity = changed.after
        at = None if activity is None else activity_due_at(activity)
        if activity is not None and at is not None and at < limit:
            found.append(Deadline(at, DueKind.ACTIVITY, activity.no))
    return found


def activity_ready_at(activity: Activity) -> int | None:
    """From when on an activity's attempt can be claimed."""
    return activity.ready_at if activity.status is ActivityStatus.PENDING else None
