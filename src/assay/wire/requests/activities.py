"""Activities from outside of a run's code."""

from assay.model import operations
from assay.wire import values
from assay.wire.commands.activities import Activity
from assay.wire.fields import Name


class AddActivity(Activity, kw_only=True):
    """Schedule an activity of a run."""

    task_queue: Name

    def operation(self, id: str) -> operations.AddActivity:
        """Of the run in the path."""
        return operations.AddActivity(values.identifier("workflow id", id), self.command())
