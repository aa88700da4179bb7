"""What a worker reports of an attempt: the same from whichever kind of worker."""

import json

from assay.model.activity import Activity
from assay.model.operations import CompleteActivity, FailActivity, Fence
from tests.faults.simulation.contexts import work
from tests.faults.simulation.recording import StepFailed
from tests.support.http import Json


def report_on(
    activity: Activity, input: Json, healed: set[str], fence: Fence, by: str
) -> CompleteActivity | FailActivity:
    """The outcome; `by` is said by nobody else, so that it can be found."""
    try:
        value = work(activity.name, input, activity.attempt, healed)
    except StepFailed as error:
        failure = json.dumps({"type": "StepFailed", "by": by}, separators=(",", ":"))
        after = None if len(by) % 3 else 0.25
        return FailActivity(activity.no, str(error), fence, failure=failure, retry_after_secs=after)
    return CompleteActivity(activity.no, json.dumps({"value": value, "by": by}), fence)
