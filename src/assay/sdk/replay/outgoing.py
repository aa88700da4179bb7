"""What a replay has to say when it has stopped: one batch, and the work to be done beside it."""

import logging
from operator import itemgetter

import msgspec
from msgspec import Raw, Struct

from assay.sdk import failure as failures
from assay.sdk.faults import PayloadError, WorkflowMisuse
from assay.sdk.replay.asked import Asked, Kind
from assay.sdk.replay.misuse import placed
from assay.sdk.replay.replay import Replay, wait_command
from assay.wire.commands import CommandBody
from assay.wire.commands.endings import CancelWorkflow, CompleteWorkflow, FailWorkflow
from assay.wire.commands.recorded import RecordSideEffect, RecordSnapshot
from assay.wire.commands.waiting import StartChildWorkflow

LARGEST_STATE = 1_000_000  # bytes; a batch has room for twice that
log = logging.getLogger("assay.sdk")
# The engine counts microseconds: what it takes for due may be due a little later to a float.
ROUNDING_SECS = 2e-6


class Outgoing(Struct):
    """`commands` in the order of contract §20.4 rule 7; `steps` are to be run in this worker."""

    commands: list[CommandBody]
    steps: list[Asked]
    ends: bool


def outgoing(replay: Replay, now: float, snapshot: bytes | None) -> tuple[Outgoing, bytes | None]:
    """What has not been said yet; a snapshot only if it is not the one that was said last."""
    commands: list[CommandBody] = []
    state = _snapshot(replay)
    if state is not None and state != snapshot:
        commands.append(RecordSnapshot(state=Raw(state)))
    commands += replay.upserts
    commands += replay.asides
    replay.upserts, replay.asides = [], []
    ends = replay.is_over
    commands += _children(replay) if ends else _calls(replay)
    if ends:
        commands.append(_ending(replay))
    steps = [] if ends else _steps(replay, now)
    return Outgoing(commands, steps, ends), state


def _calls(replay: Replay) -> list[CommandBody]:
    """Calls nobody has answered, in the order in which they were made."""
    unsaid: list[tuple[int, CommandBody]] = []
    for asked in list(replay.pending.values()):
        if not asked.is_wanted:
            if not (asked.recorded or asked.sent):
                del replay.pending[asked.key]
            continue
        if asked.key[0] is Kind.SIDE_EFFECT and not asked.sent:
            _run_side_effect(replay, asked)
        if asked.recorded or asked.sent or asked.command is None:
            continue
        asked.sent = True
        unsaid.append((asked.order, asked.command))
    replay.waits_asked = [wait for wait in replay.waits_asked if not wait.done()]
    for wait in replay.waits_asked:
        if not wait.held:
            wait.held = True
            unsaid.append((wait.order, wait_command(wait)))
    unsaid.sort(key=itemgetter(0))  # a wait with a timer stays behind that
    return [command for _, command in unsaid]


def _children(replay: Replay) -> list[CommandBody]:
    """What is begun and not waited for when the code ends: children live on by themselves."""
    return [
        asked.command
        for asked in replay.pending.values()
        if isinstance(asked.command, StartChildWorkflow)
        and not (asked.recorded or asked.sent)
        and asked.is_wanted
    ]


def _run_side_effect(replay: Replay, asked: Asked) -> None:
    """Its value, or what it raised, is kept by the engine before anybody sees it."""
    assert asked.work is not None
    try:
        value = Raw(replay.codec.encode(asked.work.call()))
    except WorkflowMisuse as misuse:
        raise placed(misuse) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the user's function may raise anything
        value = failures.as_value(failures.failure_of(error))
    number = asked.key[1]
    assert isinstance(number, int)
    asked.command = RecordSideEffect(seq=number, name=asked.name, value=value)


def _steps(replay: Replay, now: float) -> list[Asked]:
    """Inline steps whose next attempt may begin."""
    found: list[Asked] = []
    for asked in replay.pending.values():
        work = asked.work
        if work is None or asked.key[0] is not Kind.STEP or work.is_running:
            continue
        if asked.is_wanted and work.retry_at <= now + ROUNDING_SECS:
            work.is_running = True
            found.append(asked)
    return found


def _ending(replay: Replay) -> CommandBody:
    """How the code ended (contract §20.4 rule 8)."""
    if replay.end is not None:
        return replay.end
    main = replay.main
    assert main is not None
    if main.cancelled():
        return CancelWorkflow(reason=replay.cancel_reason)
    error = main.exception()
    if error is None:
        try:
            return CompleteWorkflow(result=Raw(replay.codec.encode(main.result())))
        except PayloadError as misfit:
            error = PayloadError(f"the result of workflow {replay.workflow.name!r}: {misfit}")
    failure = failures.written(failures.failure_of(error))
    return FailWorkflow(error=failures.text_of(error), failure=failure)


def _snapshot(replay: Replay) -> bytes | None:
    """What the queries answer; what raises or is too much is left out, and none gives nothing."""
    if not replay.queries:
        return None
    parts: list[bytes] = []
    size = 0
    for name, query in replay.queries.items():
        try:
            value = replay.codec.encode(query())
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001, S112 - contract §20.4 rule 7: it is left out
            continue
        part = msgspec.json.encode(name) + b":" + value
        if size + len(part) > LARGEST_STATE:
            log.warning("query %r of %s gives more than can be kept", name, replay.workflow_id)
            continue
        size += len(part)
        parts.append(part)
    return b"{" + b",".join(parts) + b"}" if parts else None
