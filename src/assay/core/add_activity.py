"""An activity is scheduled from outside of its run's code."""

from assay.core.commands.schedule_activity import schedule_activity
from assay.core.draft import Draft
from assay.errors import Conflict, NotFound
from assay.model.operations import AddActivity, Added


def add_activity(draft: Draft, operation: AddActivity) -> Added:
    """As a replay would schedule it; the same again is answered with what is there."""
    run = draft.run_by_id(operation.id)
    if run is None:
        raise NotFound(f"not found: workflow {operation.id}")
    if not run.is_open:
        raise Conflict(f"workflow {operation.id} is {run.status}")
    schedule_activity(draft, run, operation.activity, added=True)
    activity = draft.activities.at(run.no, operation.activity.seq)
    assert activity is not None
    return Added(activity)
