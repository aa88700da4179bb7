"""Views put together from rows: the payloads of records stand in events and are picked out here."""

import msgspec

from assay.model.activity import Activity
from assay.model.states import ActivityStatus
from assay.store.port import ActivityView


class _Scheduled(msgspec.Struct):
    input: str | None = None


class _Outcome(msgspec.Struct):
    result: msgspec.Raw = msgspec.Raw(b"null")


_scheduled = msgspec.json.Decoder(_Scheduled)
_outcome = msgspec.json.Decoder(_Outcome)


def scheduled_input(payload: str | None) -> str | None:
    """The input of an activity, from the event that scheduled it."""
    return None if payload is None else _scheduled.decode(payload).input


def activity_view(
    activity: Activity, workflow_id: str, scheduled: str | None, outcome: str | None
) -> ActivityView:
    """An activity with the payloads its record shows."""
    result = activity.late_outcome
    if activity.status is ActivityStatus.COMPLETED and outcome is not None:
        result = bytes(_outcome.decode(outcome).result).decode()
    if result == "null":
        result = None
    return ActivityView(activity, workflow_id, scheduled_input(scheduled), result)
