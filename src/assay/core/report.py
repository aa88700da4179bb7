"""What the holder of a workflow task reports: a batch of commands, or that it cannot be read."""

from functools import partial

from msgspec.structs import replace

from assay.core.claim import (
    block,
    block_run,
    claimers_still_out,
    close_claim,
    keep_claim,
    offer,
    older_claim_seq,
    renew_run_claim,
    undo_run_claim,
)
from assay.core.commands import apply_command, batch_of, first_look, is_overtaken
from assay.core.draft import Draft
from assay.core.view import look_at_all
from assay.errors import BadValue, Conflict, NotFound
from assay.model.ids import claim_token
from assay.model.operations import (
    DONE,
    Done,
    RejectCommands,
    RenewLeases,
    ReportMismatch,
    SubmitCommands,
    UndoWorkflowClaim,
)
from assay.model.run import Run


def submit_commands(draft: Draft, operation: SubmitCommands, lease: int) -> Done:
    """Apply a batch in order, then release the claim (if it is not held on): all, or nothing."""
    run = held_run(draft, operation.id, operation.worker_id, operation.lease)
    older = older_claim_seq(run) if operation.lease is None else None
    # The mark of an expired lease is not news: this batch answers all there was to answer. But a
    # waking for an attempt at a step leaves the same mark, and no event.
    had_news = run.claim_until is not None or run.last_seq > run.claim_seq or run.top_step > 0
    marked = run.ready_at is not None and had_news
    run = replace(run, ready_at=min(run.ready_at or 0, draft.now) if marked else None)
    look_at_all(read for command in operation.commands if (read := first_look(draft, run, command)))
    seen = run.claim_seq if older is None else older
    batch = batch_of(run, operation.commands, seen if operation.seen is None else operation.seen)
    places = operation.places or range(len(operation.commands))
    for index, command in zip(places, operation.commands, strict=True):
        if is_overtaken(run, command, batch):
            continue
        try:
            run = apply_command(draft, run, command, batch)
        except BadValue as refusal:
            raise BadValue(f"command {index}: {refusal}") from None
        if not run.is_open:
            return DONE
    run = replace(run, attempt=0, blocked=None, expired_claimers=claimers_still_out(run))
    if operation.holds:  # it is there, and not done: also if its lease has run out meanwhile
        draft.put(keep_claim(run, draft.now, lease))
        return DONE
    token = run.claim_token if operation.keeps and run.claim_until is not None else None
    released = replace(close_claim(run), kept_token=token)
    # News that its holder was given under the claim, and had not seen, call for another task.
    is_behind = operation.seen is not None and operation.seen < run.claim_seq
    draft.put(offer(released, draft.now) if is_behind or older is not None else released)
    return DONE


def report_mismatch(draft: Draft, operation: ReportMismatch) -> Done:
    """The claim closes, the run shows why, and corrected code heals it."""
    run = held_run(draft, operation.id, operation.worker_id, operation.lease)
    block_run(draft, run, operation.error)
    return DONE


def show_refusal(draft: Draft, operation: SubmitCommands, refusal: BadValue) -> None:
    """A batch that turned out to be inadmissible shows on its run, like one that cannot be read."""
    lease, error = operation.lease, str(refusal)
    reject_commands(draft, RejectCommands(operation.id, operation.worker_id, error, lease))


def reject_commands(draft: Draft, operation: RejectCommands) -> Done:
    """A malformed batch of the open claim shows on its run; the lease runs on."""
    run = held_run(draft, operation.id, operation.worker_id, operation.lease)
    if run.blocked != operation.error:
        draft.put(block(draft, run, operation.error))
    return DONE


def undo_workflow_claim(draft: Draft, operation: UndoWorkflowClaim) -> Done:
    """The worker hung up before it had its answer."""
    run = draft.run(operation.no)
    if run is not None and run.claim_token == operation.token:
        undo_run_claim(draft, run)
    return DONE


def renew_leases(draft: Draft, operation: RenewLeases, lease: int) -> Done:
    """A living worker names what it works on; what it does not hold is passed over."""
    look_at_all(partial(draft.run_by_id, workflow_id) for workflow_id in operation.ids)
    for workflow_id in operation.ids:
        run = draft.run_by_id(workflow_id)
        if (
            run is not None
            and run.claim_until is not None
            and run.claimed_by == operation.worker_id
        ):
            renew_run_claim(draft, run, lease)
    return DONE


def held_run(draft: Draft, workflow_id: str, worker_id: str, lease: str | None) -> Run:
    """The run whose open claim a batch is about, or the ground why the batch does not count."""
    run = draft.run_by_id(workflow_id)
    if run is None:
        raise NotFound(f"not found: workflow {workflow_id}")
    if not run.is_open:
        raise Conflict(f"workflow {workflow_id} is {run.status}")
    if run.claim_token is None or run.claimed_by != worker_id:
        raise Conflict(f"worker {worker_id} holds no lease on workflow {workflow_id}")
    if lease is not None and lease != claim_token(run.claim_token):
        raise Conflict(f"lease {lease} on workflow {workflow_id} is over")
    return run
