"""What the contract says of states, as plainly as it can be said: no rows, no batches, no memory.

Written from the tables of the contract, not from the code: runs, activities, timers and claims in
plain words and whole seconds. It says whether an operation counts, and what is so afterwards.
"""

from tests.properties.flows import CLOSES_AFTER, LEASE, SILENT_FOR, Alarm, Flow, Work


class World:
    """All runs by id."""

    def __init__(self) -> None:
        self.now = 0
        self.flows: dict[str, Flow] = {}
        self._count = 0

    def count(self) -> int:
        self._count += 1
        return self._count

    # -- runs ------------------------------------------------------------------------------------

    def open(self, id: str, parent: str | None = None) -> bool:
        if id in self.flows:
            return False
        self.flows[id] = Flow(self.count(), parent, self.now, history=["WorkflowStarted"])
        return True

    def end(self, id: str, status: str, kind: str) -> None:
        flow = self.flows[id]
        self.silence(flow, flow.add(kind))
        flow.status, flow.ended, flow.ready = status, self.now, None
        self.release(flow)
        if flow.parent is not None:
            parent = self.flows[flow.parent]
            if parent.is_open and (parent.asked is None or status == "COMPLETED"):
                self.tell(parent, id)

    def release(self, flow: Flow) -> None:
        """No claim is open; those that lapsed before, of other workers, may still be answered."""
        flow.claimed, flow.until, flow.lost, flow.blocked = False, None, 0, ""

    def news(self, flow: Flow, *, at_once: bool = False) -> None:
        if flow.ready is None or (at_once and flow.ready > self.now):
            flow.ready = self.now

    def signal(self, id: str, name: str) -> bool:
        flow = self.flows.get(id)
        if flow is None or not flow.is_open:
            return False
        flow.waits.discard(name)
        flow.add("SignalReceived")
        self.news(flow)
        return True

    def cancel(self, id: str) -> bool:
        flow = self.flows.get(id)
        if flow is None or not flow.is_open:
            return False
        first = flow.asked is None
        self.ask(id)
        if first:
            self.ask_below(id)
        return True

    def ask(self, id: str) -> None:
        """Only the first request ends what waits."""
        flow = self.flows[id]
        flow.asked_last = flow.add("WorkflowCancelRequested")
        if flow.asked is None:
            flow.asked = flow.asked_last
            if flow.status == "PENDING":
                self.end(id, "CANCELLED", "WorkflowCancelled")
                return
            self.silence(flow, flow.asked)
        self.news(flow, at_once=True)

    def ask_below(self, id: str) -> None:
        for kid, below in self.flows.items():
            if below.parent == id and below.is_open:
                self.ask(kid)
                self.ask_below(kid)

    def terminate(self, id: str) -> bool:
        flow = self.flows.get(id)
        if flow is not None and flow.is_open:
            self.end(id, "FAILED", "WorkflowFailed")
            return True
        return False

    # -- workflow tasks --------------------------------------------------------------------------

    def next_flow(self) -> str | None:
        """Whose turn it is: the longest ready."""
        ready = [
            (flow.ready, flow.no, id)
            for id, flow in self.flows.items()
            if flow.ready is not None and flow.ready <= self.now and flow.until is None
        ]
        return min(ready)[2] if ready else None

    def claim(self, id: str, worker: str) -> None:
        flow = self.flows[id]
        if flow.claimed and flow.worker is not None:
            flow.unanswered.setdefault(flow.worker, flow.seen)
        flow.status, flow.worker, flow.claimed = "RUNNING", worker, True
        flow.was_ready = self.now if flow.ready is None else flow.ready
        flow.until, flow.ready, flow.seen = self.now + LEASE, None, len(flow.history)

    def unclaim(self, id: str) -> None:
        flow = self.flows[id]
        flow.claimed, flow.until = False, None
        flow.ready = flow.was_ready if flow.ready is None else min(flow.ready, flow.was_ready)

    def may_report(self, id: str, worker: str) -> bool:
        flow = self.flows.get(id)
        return flow is not None and flow.is_open and flow.claimed and flow.worker == worker

    def block(self, id: str) -> None:
        flow = self.flows[id]
        flow.lost += 1
        flow.claimed, flow.until, flow.blocked = False, None, "refused"
        flow.ready = self.now + (0 if flow.is_stale else min(2 ** (flow.lost - 1), 60))

    def schedule(self, id: str, seq: int, name: str, most: int) -> bool:
        """False: another name is there under that seq."""
        flow = self.flows[id]
        if flow.is_early:
            return True
        if seq in flow.works:
            return flow.works[seq].name == name
        since = flow.add("ActivityScheduled", ("activity", seq))
        flow.works[seq] = Work(name, most, since, self.count(), self.now)
        return True

    def set_timer(self, id: str, seq: int, secs: int) -> None:
        flow = self.flows[id]
        if seq not in flow.alarms and not flow.is_early:
            since = flow.add("TimerScheduled", ("timer", seq))
            flow.alarms[seq] = Alarm(self.now + secs, since)

    def wait(self, id: str, name: str) -> None:
        flow = self.flows[id]
        if name not in flow.waits:
            flow.waits.add(name)
            flow.add("WorkflowAwaitingSignal")

    def start_child(self, id: str, kid: str) -> None:
        flow, taken = self.flows[id], self.flows.get(kid)
        if flow.asked is not None:
            return
        if taken is None:
            flow.add("ChildWorkflowStarted")
            self.open(kid, id)
        elif taken.parent != id or not taken.is_open:
            if kid not in flow.told:
                self.tell(flow, kid, own=taken.parent == id)
            self.news(flow)

    # -- activities ------------------------------------------------------------------------------

    def next_work(self) -> tuple[str, int] | None:
        """Which attempt comes next: the longest due."""
        due = [
            (work.due, work.no, id, seq)
            for id, flow in self.flows.items()
            for seq, work in flow.works.items()
            if work.status == "PENDING" and work.due <= self.now
        ]
        return min(due)[2:] if due else None

    def begin(self, id: str, seq: int, worker: str) -> None:
        work = self.flows[id].works[seq]
        work.status, work.worker, work.began = "RUNNING", worker, self.now
        self.beat(work)

    def beat(self, work: Work) -> None:
        work.until = min(work.began + CLOSES_AFTER, self.now + SILENT_FOR)

    def finish(self, id: str, seq: int, status: str) -> None:
        """An attempt's last word: COMPLETED, or FAILED for good."""
        flow = self.flows[id]
        work = flow.works[seq]
        work.status, work.late = status, self.now
        if flow.is_open:
            self.report(flow, seq)

    def fail(self, id: str, seq: int) -> None:
        """An attempt failed; each next one follows after a second, two, four …"""
        flow = self.flows[id]
        work = flow.works[seq]
        if work.attempt >= work.most or not flow.wants(work):
            self.finish(id, seq, "FAILED")
            return
        work.status, work.worker = "PENDING", None
        work.due = self.now + 2 ** (work.attempt - 1)
        work.attempt += 1

    def undo_work(self, id: str, seq: int) -> None:
        flow = self.flows[id]
        work = flow.works[seq]
        work.status, work.worker = ("PENDING" if flow.wants(work) else "CANCELLED"), None

    # -- time ------------------------------------------------------------------------------------

    def advance(self, secs: int) -> None:
        self.now += secs
        for id, flow in self.flows.items():
            for seq, work in flow.works.items():
                if work.status == "RUNNING" and work.until <= self.now:
                    self.fail(id, seq)
            if flow.until is not None and flow.until <= self.now:
                self._lapse(flow)
            for seq, alarm in flow.alarms.items():
                if alarm.state == "open" and alarm.fires <= self.now:
                    alarm.state = "fired"
                    flow.add("TimerFired", ("timer", seq))
                    self.news(flow)

    def _lapse(self, flow: Flow) -> None:
        flow.until, flow.lost, flow.lapsed, wait = None, flow.lost + 1, True, 0
        if flow.blocked == "refused":
            wait = min(2 ** (flow.lost - 1), 60)
        elif flow.lost >= 3:
            flow.blocked, wait = "expired", min(2 ** (flow.lost - 3), 600)
        flow.ready = self.now + (0 if flow.is_stale else wait)

    # -- what several things bring ---------------------------------------------------------------

    def silence(self, flow: Flow, seq: int) -> None:
        for work in flow.works.values():
            if work.status == "PENDING":
                work.status = "CANCELLED"
        for alarm in flow.alarms.values():
            if alarm.state == "open":
                alarm.state, alarm.silenced = "silenced", (self.now, seq)

    def report(self, flow: Flow, seq: int) -> None:
        work = flow.works[seq]
        work.told = flow.add("Activity" + work.status.capitalize(), ("activity", seq))
        self.news(flow)

    def tell(self, parent: Flow, kid: str, *, own: bool = True) -> None:
        well = own and self.flows[kid].status == "COMPLETED"
        parent.add("ChildWorkflowCompleted" if well else "ChildWorkflowFailed")
        parent.told.add(kid)
        self.news(parent)
