"""A replay says what the queries of its run answer now."""

from assay.core.draft import Draft
from assay.model.commands import RecordSnapshot
from assay.model.run import Run
from assay.model.snapshot import Snapshot


def record_snapshot(draft: Draft, run: Run, command: RecordSnapshot, event_seq: int) -> Run:
    """Kept under the number of events the replay has seen; the one before it goes."""
    draft.keep_snapshot(Snapshot(run.no, event_seq, command.state, draft.now))
    return run
