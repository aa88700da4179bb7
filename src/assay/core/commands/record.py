"""What a replay wants kept: side effects, inline steps, patches. Each once."""

from msgspec.structs import replace

from assay.core.claim import offer
from assay.core.commands.timer import wake_later
from assay.core.draft import Draft
from assay.core.payload import failure_of, payload, raw
from assay.core.recorded import append_record, is_known
from assay.model.commands import RecordPatch, RecordSideEffect, RecordStep
from assay.model.events import EventType
from assay.model.run import Run
from assay.model.time import micros


def record_side_effect(draft: Draft, run: Run, command: RecordSideEffect) -> Run:
    """What a side effect returned; the handler goes on with it at once."""
    known = ("side effect", command.seq, 0)
    if is_known(draft, run, run.top_side_effect, command.seq, known):
        return run
    text = payload(side_effect_seq=command.seq, name=command.name, value=raw(command.value))
    run = append_record(draft, run, EventType.SIDE_EFFECT_RECORDED, text, known)
    run = replace(run, top_side_effect=max(run.top_side_effect, command.seq))
    return draft.put(offer(run, draft.now))


def record_step(draft: Draft, run: Run, command: RecordStep) -> Run:
    """What came of an attempt at an inline step; the next attempt may have to wait."""
    seq = command.seq
    final, tried = ("step", seq, 0), ("step", seq, command.attempt)
    if is_known(draft, run, run.top_step, seq, final, tried):
        return run
    kind, text = _outcome(command)
    top = run.top_step
    run = append_record(draft, run, kind, text, final if command.final else tried)
    run = draft.put(replace(run, top_step=max(top, seq)))
    if command.final or command.retry_in_secs <= 0:
        return draft.put(offer(run, draft.now))
    wake_later(draft, run, seq, micros(command.retry_in_secs), anew=seq <= top)
    return run


def record_patch(draft: Draft, run: Run, command: RecordPatch) -> Run:
    """A change of code that this run takes part in."""
    known = ("patch", command.id, 0)
    if is_known(draft, run, run.patches, 1, known):
        return run
    text = payload(patch_id=command.id)
    run = append_record(draft, run, EventType.PATCH_RECORDED, text, known)
    return draft.put(replace(run, patches=run.patches + 1))


def _outcome(command: RecordStep) -> tuple[EventType, str]:
    about = {"step_seq": command.seq, "name": command.name, "attempt": command.attempt}
    if command.error is None:
        return EventType.STEP_COMPLETED, payload(**about, result=raw(command.result))
    failure = failure_of(command.failure)
    if command.final:
        return EventType.STEP_FAILED, payload(**about, error=command.error, **failure)
    later = command.retry_in_secs
    text = payload(**about, error=command.error, retry_in_secs=later, **failure)
    return EventType.STEP_ATTEMPT_FAILED, text
