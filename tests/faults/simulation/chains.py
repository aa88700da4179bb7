"""Runs that go on as new ones: who follows whom, and which signals come along."""

from tests.faults.simulation.row_types import RunRow
from tests.faults.simulation.rows import Rows, Step
from tests.faults.simulation.trace import Broken
from tests.support.runs import Event


class Chains:
    """Looks at each commit in which a run got a successor, or had news of its parent."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.operated: set[str] = set()
        """Ids of runs that an operator asked to continue: these carry nothing."""
        self.carried: dict[int, list[int]] = {}
        """The seqs of the signals a run was born with."""
        self._unreached: set[int] = set()
        """Children that were born when their parent had been asked to stop already."""

    def check(self, step: Step) -> None:
        """After a commit; the links themselves are looked at in `invariants.py`."""
        for no, before in step.runs.items():
            run = self._rows.runs.get(no)
            if run is not None and run.successor_no is not None:
                if before is None or before.successor_no is None:
                    self._continued(step, run, 0 if before is None else before.claim_seq)
        for no, before in step.runs.items():
            run = self._rows.runs.get(no)
            if run is not None and run.parent_no is not None and before is None:
                self._born(step, run)
        self._check_reached(step)

    def _born(self, step: Step, run: RunRow) -> None:
        """A cancel request reaches who is there; whoever goes on as new was reached or was not."""
        parent = step.runs.get(run.parent_no or 0, self._rows.runs.get(run.parent_no or 0))
        sources = [self._rows.runs[no] for no in step.runs if no in self._rows.runs]
        source = next((each for each in sources if each.successor_no == run.no), None)
        if parent is not None and parent.cancel_seq is not None and parent.cascade is None:
            if source is None or source.cancel_seq or source.no in self._unreached:
                self._unreached.add(run.no)

    def _check_reached(self, step: Step) -> None:
        runs = self._rows.runs
        asked = {no for no in step.runs if no in runs and runs[no].cancel_seq is not None}
        asked |= {run.parent_no or 0 for no in step.runs if (run := runs.get(no)) is not None}
        for child in runs.values():
            parent = runs.get(child.parent_no or 0) if child.parent_no in asked else None
            if parent is None or parent.cancel_seq is None or parent.cascade is not None:
                continue
            reached = child.cancel_seq is not None and child.asked_by == parent.asked_by
            if child.is_open and not reached and child.no not in self._unreached:
                raise Broken(f"a cancel request of {parent.id} did not reach {child}")

    def _continued(self, step: Step, run: RunRow, claim_seq: int) -> None:
        successor = self._rows.runs[run.successor_no or 0]
        if step.runs.get(successor.no) is not None:
            raise Broken(f"{run.id} went on as {successor.id}, which was there before")
        told = signals(self._rows.history(run.no))
        carried = signals(self._rows.history(successor.no))[: self._length(step, successor)]
        self.carried[successor.no] = [event.seq for event in carried]
        sent = [event.payload for event in told]
        got = [event.payload for event in carried]
        if any(payload not in sent for payload in got):
            raise Broken(f"{successor.id} got {got}, but {run.id} had {sent}")
        later = [event.payload for event in told if event.seq > claim_seq]
        if run.id not in self.operated and got[len(got) - len(later) :] != later:
            raise Broken(f"{successor.id} got {got}, since the claim came {later}")

    def _length(self, step: Step, successor: RunRow) -> int:
        """Carried signals follow the start at once, in the commit it is in."""
        count = 0
        for event in step.decision.events:
            if event.run_no == successor.no and event.seq > 1:
                if event.type != "SignalReceived":
                    break
                count += 1
        return count


def signals(history: list[Event]) -> list[Event]:
    """The signals of a history."""
    return [event for event in history if event.type == "SignalReceived"]
