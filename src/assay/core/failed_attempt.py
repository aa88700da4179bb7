"""An attempt failed: it is kept to be looked at; then another one follows, or that was the last."""

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from assay.core.activity_outcome import closed, conclude, held_activity, is_unwanted, pending_again
from assay.core.backoff import lot_of, retry_delay
from assay.core.draft import Draft
from assay.model.activity import Activity
from assay.model.attempt import Attempt
from assay.model.operations import FailActivity, Reported
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.states import ActivityStatus
from assay.model.time import micros


class _Failure(Struct):
    type: Raw = Raw(b"null")


_failure = msgspec.json.Decoder(_Failure)
_type = msgspec.json.Decoder(str)
_types = msgspec.json.Decoder(list[str])


def fail_activity(draft: Draft, operation: FailActivity) -> Reported:
    """A worker says so."""
    activity, run = held_activity(draft, operation.no, operation.fence)
    _fail(draft, run, activity, operation)
    return Reported(activity.claimed_by)


def expire_attempt(draft: Draft, activity: Activity) -> None:
    """Nothing was heard of a running attempt for too long."""
    run = draft.run(activity.run_no)
    if run is None:
        return
    closes_at = _started_at(draft, activity) + micros(activity.policy.start_to_close_secs)
    error = "start_to_close timeout" if closes_at <= draft.now else "heartbeat timeout"
    _fail(draft, run, activity, FailActivity(activity.no, error))


def _fail(draft: Draft, run: Run, activity: Activity, said: FailActivity) -> None:
    """Next attempt after a back-off, or, with none left or nobody to want it, the final failure."""
    draft.keep_attempt(
        Attempt(
            run_no=run.no,
            activity_no=activity.no,
            attempt=activity.attempt,
            worker=activity.claimed_by,
            started_at=_started_at(draft, activity),
            ended_at=draft.now,
            error=said.error,
            failure=said.failure,
        )
    )
    if _is_last(activity, said) or is_unwanted(run, activity):
        failed = replace(closed(draft, activity), status=ActivityStatus.FAILED, error=said.error)
        conclude(draft, run, failed, said.failure)
        return
    due = draft.now + _delay(activity, said)
    draft.put(run)
    draft.activities.put(
        replace(
            pending_again(activity),
            attempt=activity.attempt + 1,
            scheduled_at=due,
            ready_at=due,
        )
    )


def _is_last(activity: Activity, said: FailActivity) -> bool:
    policy = activity.policy
    if activity.attempt >= policy.max_attempts or not said.retryable:
        return True
    return said.failure is not None and _is_named(policy, said.failure)


def _is_named(policy: RetryPolicy, failure: str) -> bool:
    """Whether failures of this type are not to be retried."""
    if policy.non_retryable is None:
        return False
    kind = bytes(_failure.decode(failure).type)
    return kind[:1] == b'"' and _type.decode(kind) in _types.decode(policy.non_retryable)


def _delay(activity: Activity, said: FailActivity) -> int:
    if said.retry_after_secs is not None:
        return micros(said.retry_after_secs)
    lot = lot_of(activity.no, activity.attempt) if activity.policy.jitter else 0.0
    return retry_delay(activity.policy, activity.attempt, lot)


def _started_at(draft: Draft, activity: Activity) -> int:
    return draft.now if activity.started_at is None else activity.started_at
