"""What follows from runs: attributes, counts, newest snapshots, nothing of what was deleted."""

from collections import Counter
from collections.abc import Iterable

from assay.core.attributes import key_text, pairs_of
from assay.model.decision import Decision
from tests.faults.simulation.row_types import RunRow
from tests.faults.simulation.rows import Rows, Step, changed
from tests.faults.simulation.trace import Broken

Entry = tuple[str, str, str, int, int]
PARTS = ("activity", "timer", "event", "snapshot", "attribute", "signal_request")
COMMITS_PER_FULL_CHECK = 16
COUNTS = """SELECT namespace, status, runs FROM run_count WHERE runs <> 0
            ORDER BY namespace, status"""
COUNTED = """SELECT namespace, status, count(*) FROM run GROUP BY namespace, status
             ORDER BY namespace, status"""


class Projections:
    """Compared after each commit for what it touched, and for all now and then."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._commits = 0
        self._snapshots: dict[int, int] = {}

    def check(self, step: Step) -> None:
        """After a commit."""
        self._commits += 1
        decision = step.decision
        if decision.runs:
            self._check_counts()
            self._check_attributes(changed(decision.runs))
        if decision.purged:
            self.check_leftovers()
        self._check_snapshots(decision)
        if self._commits % COMMITS_PER_FULL_CHECK == 0:
            self.check_all()

    def check_all(self) -> None:
        """Everything."""
        self._check_attributes(self._rows.runs)
        self.check_leftovers()

    def check_leftovers(self) -> None:
        """Every row belongs to a run that is there."""
        for table in PARTS:
            query = f"SELECT * FROM {table} WHERE run_no NOT IN (SELECT no FROM run)"
            for row in self._rows.connection.execute(query):
                raise Broken(f"left of a run that was deleted, in {table}: {row}")

    def _check_counts(self) -> None:
        run = self._rows.connection.execute
        kept, counted = run(COUNTS).fetchall(), run(COUNTED).fetchall()
        if kept != counted:
            raise Broken(f"counts of runs: kept {kept}, counted {counted}")

    def _check_attributes(self, nos: Iterable[int]) -> None:
        runs = [self._rows.runs[no] for no in nos if no in self._rows.runs]
        expected: Counter[tuple[object, ...]] = Counter(
            tuple(entry) for run in runs for entry in entries(run)
        )
        some = ", ".join(str(run.no) for run in runs)
        query = (
            "SELECT namespace, key, value, created_at, run_no FROM attribute"
            f" WHERE run_no IN ({some})"
        )
        found = self._rows.connection.execute(query).fetchall()
        stored: Counter[tuple[object, ...]] = Counter(tuple(row) for row in found)
        if stored != expected:
            raise Broken(f"attributes: stored {stored - expected}, expected {expected - stored}")

    def _check_snapshots(self, decision: Decision) -> None:
        for snapshot in decision.snapshots:
            query = "SELECT event_seq, state FROM snapshot WHERE run_no = ?"
            stored = self._rows.connection.execute(query, (snapshot.run_no,)).fetchall()
            if stored != [(snapshot.event_seq, snapshot.state)]:
                raise Broken(f"kept {stored} instead of {snapshot}")
            before = self._snapshots.get(snapshot.run_no, 0)
            if snapshot.event_seq < before:
                raise Broken(f"a snapshot of less than before: {snapshot}, {before}")
            self._snapshots[snapshot.run_no] = snapshot.event_seq


def entries(run: RunRow) -> list[Entry]:
    """A run's attributes as the look-up should hold them."""
    pairs = pairs_of(run.search_attributes)
    return [
        (run.namespace, key_text(key), value, run.created_at, run.no)
        for key, value in pairs.items()
    ]
