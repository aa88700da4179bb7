"""The life of a claim: offer, claim, renew, undo, hand back, expire.

A run and an activity carry the same task columns. `claim_token` says that a claim is open: a report
under it counts. `claim_until` says until when nobody else may claim; on an open claim it is null
once the lease has expired, so that the last claimer's report still counts until somebody claims.
"""

import msgspec
from msgspec.structs import replace

from assay.core.backoff import EXPIRED_LONGEST_SECS, REFUSED_LONGEST_SECS, blocked_delay
from assay.core.draft import Draft
from assay.model.activity import Activity
from assay.model.note import Kind
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus
from assay.model.task import Claim, TaskKind
from assay.model.time import micros

EXPIRIES_BEFORE_BLOCKED = 3
CLAIMERS_KEPT = 10
KEPT_FOR = micros(1)  # so long a run that has news is left to the worker that keeps it alive
EXPIRED_TEXT = (
    "the workflow task was claimed {} times in a row and never answered: "
    "does its handler end the worker?"
)


# Workers whose claims expired unanswered, the latest last, and how far they had seen the history.
_decoder = msgspec.json.Decoder(list[tuple[str, int]])


def offer(run: Run, now: int) -> Run:
    """The run has news. A mark that is already set keeps its age, a back-off keeps its end."""
    return run if run.ready_at is not None else replace(run, ready_at=now)


def offer_at_once(run: Run, now: int) -> Run:
    """The run has news that no back-off and no start delay may hold up."""
    if run.ready_at is not None and run.ready_at <= now:
        return run
    return replace(run, ready_at=now)


def open_at(run: Run) -> int | None:
    """From when on anybody may claim it: what a worker keeps alive is left to that a while."""
    if run.ready_at is None or run.claim_until is not None or not run.is_open:
        return None
    return run.ready_at if run.kept_token is None else run.ready_at + KEPT_FOR


def kept_at(run: Run) -> int | None:
    """From when on the worker that keeps it alive may have its news."""
    return run.ready_at if run.kept_token is not None and run.is_open else None


def is_run_claimable(run: Run, now: int) -> bool:
    """Open, with news whose time has come, and nobody holding or keeping it."""
    at = open_at(run)
    return at is not None and at <= now


def is_kept_run_claimable(run: Run, now: int, worker_id: str) -> bool:
    """Its news may go to this worker, which keeps it alive, perhaps under a claim still open."""
    at = kept_at(run)
    return at is not None and at <= now and run.claimed_by == worker_id


def claim_run(draft: Draft, run: Run, worker_id: str, lease: int) -> Claim:
    """Hand a run's workflow task to a worker."""
    now = draft.now
    begins = run.status is not RunStatus.RUNNING
    if begins:
        draft.note(Kind.WORKFLOW_RUNNING, run)
    # Whoever holds the claim on hears news under the same one.
    goes_on = run.claim_until is not None and run.kept_token is not None
    token = run.claim_token if goes_on and run.claim_token is not None else draft.take_number()
    draft.put(
        replace(
            run,
            status=RunStatus.RUNNING,
            updated_at=now if begins else run.updated_at,
            expired_claimers=run.expired_claimers if goes_on else _expired_claimers(run),
            kept_token=None,
            claim_token=token,
            claimed_by=worker_id,
            claimed_before=run.claimed_by,
            claim_until=now + lease,
            claim_seq=run.last_seq,
            claimed_ready_at=run.ready_at,
            ready_at=None,
        )
    )
    return Claim(TaskKind.WORKFLOW, run.no, token, worker_id)


def close_claim(run: Run) -> Run:
    """No claim is open any more."""
    return replace(run, claim_token=None, claim_until=None, claimed_ready_at=None, kept_token=None)


def keep_claim(run: Run, now: int, lease: int) -> Run:
    """Its holder has more to send: the claim goes on, and hears what is new."""
    return replace(run, kept_token=run.claim_token, claim_until=now + lease)


def undo_run_claim(draft: Draft, run: Run) -> None:
    """As if the claim had never been: the run gets its mark, its age and its claimer back."""
    marks = [at for at in (run.claimed_ready_at, run.ready_at) if at is not None]
    ready_at, claimed_by = min(marks, default=draft.now), run.claimed_before
    draft.put(replace(close_claim(run), ready_at=ready_at, claimed_by=claimed_by))


def renew_run_claim(draft: Draft, run: Run, lease: int) -> None:
    """The holder is alive: the lease runs anew."""
    draft.put(replace(run, claim_until=draft.now + lease))


def expire_run_claim(draft: Draft, run: Run) -> None:
    """The lease is over: anybody may claim, and until somebody does the holder's batch counts."""
    now, failures = draft.now, run.attempt + 1
    ready_at, blocked = now, run.blocked
    expired = EXPIRED_TEXT.format(failures)
    if blocked is None and failures >= EXPIRIES_BEFORE_BLOCKED:
        blocked = expired
        ready_at = now + blocked_delay(1, EXPIRED_LONGEST_SECS)
    elif blocked is not None and is_expiry(blocked):
        blocked = expired
        since = failures - EXPIRIES_BEFORE_BLOCKED + 1
        ready_at = now + blocked_delay(since, EXPIRED_LONGEST_SECS)
    elif blocked is not None:
        ready_at = now + blocked_delay(failures, REFUSED_LONGEST_SECS)
    if was_cancelled_meanwhile(run):
        ready_at = now
    if blocked is not None:
        run = block(draft, run, blocked)
    draft.put(replace(run, claim_until=None, kept_token=None, attempt=failures, ready_at=ready_at))


def block_run(draft: Draft, run: Run, why: str) -> None:
    """The batch was refused as non-deterministic: the claim closes, the run is offered later."""
    failures = run.attempt + 1
    ready_at = draft.now + blocked_delay(failures, REFUSED_LONGEST_SECS)
    if was_cancelled_meanwhile(run):
        ready_at = draft.now
    run = block(draft, close_claim(run), why)
    draft.put(replace(run, attempt=failures, ready_at=ready_at))


def block(draft: Draft, run: Run, why: str) -> Run:
    """What keeps the run's workflow tasks from getting anywhere; the stream tells it once."""
    if run.blocked != why:
        draft.note(Kind.WORKFLOW_BLOCKED, run, {"error": why})
    return replace(run, blocked=why)


def is_held_back(run: Run, now: int) -> bool:
    """Blocked by what a batch held, and waiting out a back-off that a new worker may cut short."""
    if run.blocked is None or is_expiry(run.blocked) or run.claim_until is not None:
        return False
    return run.is_open and run.ready_at is not None and run.ready_at > now


def is_activity_claimable(activity: Activity, now: int) -> bool:
    """Pending, and its time has come."""
    return (
        activity.status is ActivityStatus.PENDING
        and activity.ready_at is not None
        and activity.ready_at <= now
    )


def claim_activity(draft: Draft, activity: Activity, worker_id: str) -> Claim:
    """Hand an attempt to a worker."""
    token = draft.take_number()
    draft.activities.put(
        replace(
            activity,
            status=ActivityStatus.RUNNING,
            started_at=draft.now,
            last_heartbeat=None,
            claim_token=token,
            claimed_by=worker_id,
            claim_until=attempt_deadline(activity, draft.now, None),
            ready_at=None,
        )
    )
    return Claim(TaskKind.ACTIVITY, activity.no, token, worker_id)


def attempt_deadline(activity: Activity, started_at: int, last_heartbeat: int | None) -> int:
    """When a running attempt counts as failed, unless it is heard of before."""
    policy = activity.policy
    deadline = started_at + micros(policy.start_to_close_secs)
    if policy.heartbeat_timeout_secs is None:
        return deadline
    heard = started_at if last_heartbeat is None else last_heartbeat
    return min(deadline, heard + micros(policy.heartbeat_timeout_secs))


def older_claim_seq(run: Run) -> int | None:
    """How far its claimer had seen the history when it held the run before and did not answer.

    None if there is no such claim. A batch without a lease may be the answer to it.
    """
    past = run.expired_claimers
    return None if past is None else dict(_decoder.decode(past)).get(run.claimed_by or "")


def claimers_still_out(run: Run) -> str | None:
    """Those whose expired claims of this run are unanswered, once its claimer has answered."""
    if run.expired_claimers is None:
        return None
    out = [each for each in _decoder.decode(run.expired_claimers) if each[0] != run.claimed_by]
    return msgspec.json.encode(out).decode() if out else None


def _expired_claimers(run: Run) -> str | None:
    if run.claim_token is None or run.claimed_by is None:
        return run.expired_claimers
    past = {} if run.expired_claimers is None else dict(_decoder.decode(run.expired_claimers))
    seen = past.pop(run.claimed_by, run.claim_seq)
    out = [*past.items(), (run.claimed_by, seen)]
    return msgspec.json.encode(out[-CLAIMERS_KEPT:]).decode()


def was_cancelled_meanwhile(run: Run) -> bool:
    """Cancel was requested since the claim: its holder could not know."""
    return run.last_cancel_seq is not None and run.last_cancel_seq > run.claim_seq


def is_expiry(blocked: str) -> bool:
    """The text of a run whose claims expired."""
    return blocked.endswith(EXPIRED_TEXT.rsplit("{}", 1)[1])
