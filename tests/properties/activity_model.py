"""The other half of the model: activities, operator retries, and what time brings."""

from assay.model.time import MICROS
from tests.properties.contract_model import Contract, Refused
from tests.properties.stories import CLOSES_AFTER, ENDED, Story, Work

ABOUT_ACTIVITIES = {
    "ActivityScheduled",
    "ActivityCompleted",
    "ActivityFailed",
    "ActivityRetryRequested",
}


class WholeContract(Contract):
    """Runs and their activities."""

    # -- activity tasks --------------------------------------------------------------------------

    def all_work(self) -> list[Work]:
        return [work for run in self.runs.values() for work in run.work.values()]

    def claimable_work(self) -> Work | None:
        ready = [
            (work.ready_at, work.no, work)
            for work in self.all_work()
            if work.status == "PENDING" and work.ready_at is not None
        ]
        ready = [entry for entry in ready if entry[0] <= self.now]
        return min(ready)[2] if ready else None

    def claim_work(self, work: Work, worker: str, token: int) -> None:
        work.status, work.worker, work.token = "RUNNING", worker, token
        work.ready_at, work.until = None, self.now + CLOSES_AFTER

    def held_work(
        self, work: Work | None, worker: str | None, attempt: int | None, token: int | None
    ) -> Work:
        if work is None:
            raise Refused("not_found")
        fence = ((worker, work.worker), (attempt, work.attempt), (token, work.token))
        if work.status != "RUNNING" or any(
            claimed is not None and claimed != actual for claimed, actual in fence
        ):
            raise Refused("conflict")
        return work

    def is_unwanted(self, work: Work) -> bool:
        run = self.runs[work.run]
        return not run.is_open or (run.cancelled is not None and run.cancelled > work.planned)

    def complete(self, work: Work) -> None:
        self.finish(work, "COMPLETED")

    def fail(self, work: Work) -> None:
        if work.attempt >= work.most or self.is_unwanted(work):
            self.finish(work, "FAILED")
            return
        self.requeue(work, self.now + 2 ** (work.attempt - 1) * MICROS)
        work.attempt += 1

    def requeue(self, work: Work, at: int) -> None:
        work.status, work.scheduled_at, work.ready_at = "PENDING", at, at
        work.worker = work.token = work.until = None

    def undo_work(self, work: Work, token: int) -> None:
        if work.token != token:
            return
        unwanted = self.is_unwanted(work)
        self.requeue(work, work.scheduled_at)
        if unwanted:
            work.status, work.ready_at = "CANCELLED", None

    def finish(self, work: Work, status: str) -> None:
        work.status, work.token, work.until = status, None, None
        run = self.runs[work.run]
        if run.is_open:
            work.told = run.tell(f"Activity{status.capitalize()}", work.seq)
            self.offer(run)
        else:
            work.late = self.now

    # -- operator retry (§8.11) ------------------------------------------------------------------

    def retry(self, id: str) -> None:
        run = self.get(id)
        failed = [work for work in run.work.values() if work.status == "FAILED"]
        if run.status != "FAILED" or run.parent is not None or not failed:
            raise Refused("conflict")
        target = max(failed, key=lambda work: work.seq)
        failed_at = target.told or max(
            at
            for at, event in enumerate(run.history, 1)
            if event.kind in ENDED.values() and not event.void
        )
        ended = self.void(run, target.seq, failed_at)
        run.tell("ActivityRetryRequested", target.seq)
        run.work = {seq: work for seq, work in run.work.items() if seq <= target.seq}
        self.requeue(target, self.now)
        target.attempt, target.told, target.late = 1, None, None
        run.status = "WAITING"
        self.restore(run, target.seq, failed_at, ended)

    def void(self, run: Story, target: int, failed_at: int) -> int:
        """Take back what the failure brought about; where the end stood."""
        gone = {alarm.seq for alarm in run.alarms.values() if alarm.planned > failed_at}
        ended = 0
        for at, event in enumerate(run.history, 1):
            if event.void:
                continue
            if event.kind in ENDED.values():
                event.void, ended = True, at
            elif event.kind in ABOUT_ACTIVITIES:
                event.void = event.about >= target
            elif event.kind in ("TimerScheduled", "TimerFired"):
                event.void = event.about in gone
        return ended

    def restore(self, run: Story, target: int, failed_at: int, ended: int) -> None:
        for alarm in list(run.alarms.values()):
            if alarm.planned > failed_at:
                del run.alarms[alarm.seq]
                run.waits = {wait for wait in run.waits if wait[1] != alarm.seq}
            elif alarm.silenced is not None and alarm.silenced[0] == ended:
                left = max(0, alarm.fire_at - alarm.silenced[1])
                alarm.state, alarm.silenced, alarm.fire_at = "open", None, self.now + left
        lower = [work for work in run.work.values() if work.seq < target]
        for work in lower:
            if work.status == "CANCELLED":
                self.requeue(work, self.now)
        late = [work for work in lower if work.late is not None]
        for work in sorted(late, key=lambda work: (work.late or 0, work.no)):
            self.finish(work, work.status)
            work.late = None
        children = [run_ for run_ in self.runs.values() if run_.parent == run.id]
        for child in sorted(children, key=lambda child: (child.ended_at, child.no)):
            if not child.is_open:
                self.hear(run, child)

    # -- time ------------------------------------------------------------------------------------

    def pass_time(self, now: int) -> None:
        """Everything that is due by then happens then, the earliest first."""
        self.now = now
        runs = list(self.runs.values())
        due: list[tuple[int, str, int, str, int]] = [
            (run.until, "run", run.no, run.id, 0) for run in runs if run.until is not None
        ]
        due += [
            (work.until, "activity", work.no, work.run, work.seq)
            for work in self.all_work()
            if work.until is not None
        ]
        due += [
            (alarm.fire_at, "timer", alarm.no, run.id, alarm.seq)
            for run in runs
            for alarm in run.alarms.values()
            if alarm.state == "open"
        ]
        for at, kind, _, id, seq in sorted(due):
            if at <= now:
                self.happen(self.runs[id], kind, seq)

    def happen(self, run: Story, kind: str, seq: int) -> None:
        if kind == "run":
            self.expire(run)
        elif kind == "activity":
            self.fail(run.work[seq])
        else:
            run.alarms[seq].state = "fired"
            run.tell("TimerFired", seq)
            run.waits = {wait for wait in run.waits if wait[1] != seq}
            self.offer(run)

    def expire(self, run: Story) -> None:
        run.until, run.ready_at = None, self.now
        run.failures += 1
        if run.blocked == "refused":
            run.ready_at += min(2 ** (run.failures - 1), 60) * MICROS
        elif run.failures >= 3:
            run.blocked = "expired"
            run.ready_at += min(2 ** (run.failures - 3), 600) * MICROS
        if run.seen < run.cancelled_last:
            run.ready_at = self.now
