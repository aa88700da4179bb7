"""The exchange: what SDKs speak instead of polls and single requests."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from assay.engine.exchange import Asked, Taking, Told
from assay.engine.wants import Grant
from assay.errors import AssayError, Refusal
from assay.model.activity import Activity
from assay.model.operations import Heard, Operation, Outcome, Started
from assay.model.run import Run
from assay.server.answer import Answer
from assay.server.call import Call
from assay.server.problems import status_of
from assay.store.port import Reads
from assay.wire.exchange import answer as wire
from assay.wire.exchange.operations import BadBatch, Operations
from assay.wire.exchange.operations import Outcome as Said
from assay.wire.exchange.request import ExchangeRequest, Position
from assay.wire.values import claim_number

DONE = Said(200)
LARGEST_HISTORY = 4 * 2**20  # of an answer, in characters; the rest is asked for
EVENTS_AT_ONCE = 5_000


class Step(NamedTuple):
    """An operation as the engine performs it, and what it came to before, if it is refused."""

    operation: Operation | None
    refusal: Said | None = None


async def exchange(call: Call, body: ExchangeRequest) -> Answer:
    """Perform operations, and take home tasks and ends of runs.

    Spoken by SDKs: see `wire/exchange`. Without operations it is held until there is something.
    """
    body.check()
    door = call.door
    steps = [_step(each, body.session) for each in body.operations or ()]
    operations = [step.operation for step in steps if step.operation is not None]
    at_once = steps or body.histories or door.stopping
    asked = Asked(
        body.session,
        operations,
        [
            Taking(each.kind, each.queue, int(each.room), int(each.seen))
            for each in body.takings or ()
        ],
        body.awaited or (),
        None if body.held is None else frozenset(map(claim_number, body.held)),
        0.0 if at_once else body.wait_secs or 0.0,
    )
    told = None
    if asked.hold_secs > 0:
        told = await call.hold(partial(door.exchanges.exchange, asked))
    if told is None:
        told = await door.exchanges.exchange(replace(asked, hold_secs=0.0))
    unwritten = partial(told.session.put_back, told.parcel)
    try:
        return Answer(200, await _text(call, body, told, steps), unwritten)
    except BaseException:
        unwritten()
        raise


def _step(asked: Operations, session: str) -> Step:
    """What the engine can perform; a batch that is turned down shows on its run."""
    try:
        return Step(asked.of(session))
    except BadBatch as bad:
        return Step(bad.rejection, Said(status_of(bad), str(bad)))
    except Refusal as refusal:
        return Step(None, Said(status_of(refusal), str(refusal)))


async def _text(call: Call, body: ExchangeRequest, told: Told, steps: Sequence[Step]) -> bytes:
    reading, parcel = call.reading, told.parcel
    runs = [grant for grant in parcel.grants if isinstance(grant.row, Run)]
    activities = [grant for grant in parcel.grants if isinstance(grant.row, Activity)]
    endings = [(each.id, each.view) for each in parcel.endings]
    lose = partial(told.session.lose, parcel)
    runner = call.door.runner
    moment = wire.Moment(runner.engine.instance, runner.clock(), runner.rules.lease, told.fresh)
    return wire.answer_text(
        moment,
        _outcomes(steps, told.outcomes),
        parts={
            "runs": await _runs(reading, runs) if runs else (),
            "activities": await _activities(reading, activities, lose) if activities else (),
            "endings": [
                wire.ending_text(id, None, None)
                if view is None
                else wire.ending_text(id, view.run, view.result)
                for id, view in endings
            ],
            "histories": [await _history(reading, each) for each in body.histories or ()],
        },
    )


def _outcomes(steps: Sequence[Step], performed: Sequence[Outcome | AssayError]) -> list[Said]:
    """One for each operation, in order."""
    outcomes = iter(performed)
    said: list[Said] = []
    for operation, refusal in steps:
        outcome = None if operation is None else next(outcomes)
        said.append(refusal or _said(outcome))
    return said


def _said(outcome: Outcome | AssayError | None) -> Said:
    if isinstance(outcome, AssayError):
        return Said(status_of(outcome), str(outcome))
    if isinstance(outcome, Started):
        run = outcome.run
        return Said(200 if outcome.existing else 201, UNSET, run.id, run.run_id, run.status)
    if isinstance(outcome, Heard):
        return Said(200, cancel_requested=outcome.cancel_requested)
    return DONE


async def _runs(reading: Reads, grants: Sequence[Grant]) -> list[str]:
    """Each with what its worker has not seen: from memory, or else read."""
    texts: list[str] = []
    room = LARGEST_HISTORY
    for grant in grants:
        run, since = grant.row, grant.since
        assert isinstance(run, Run)
        more = False
        if grant.events is not None:
            entries = wire.entries_text(grant.events)
        else:
            after = 0 if since is None else since.seq
            entries, more = await _entries(reading, run.no, after, room, until=run.claim_seq)
        room -= len(entries)
        texts.append(
            wire.run_text(
                run,
                grant.claim.token,
                entries,
                since=None if since is None else since.token,
                more=more,
                free=not grant.spends,
            )
        )
    return texts


async def _entries(
    reading: Reads, no: int, after: int, room: int, *, until: int | None = None
) -> tuple[str, bool]:
    """Events behind one, as many as fit, but one at least; and whether there are more.

    What has come since a claim was made, its next task brings.
    """
    texts: list[str] = []
    while True:
        lines = await reading.history_after(no, after, EVENTS_AT_ONCE)
        for line in lines:
            if until is not None and line.seq > until:
                return ",".join(texts), False
            text = wire.entries_text([line])
            if texts and len(text) > room:
                return ",".join(texts), True
            room -= len(text)
            texts.append(text)
            after = line.seq
        if len(lines) < EVENTS_AT_ONCE:
            return ",".join(texts), False


async def _history(reading: Reads, position: Position) -> str:
    no, after = int(position.no), int(position.after)
    entries, more = await _entries(reading, no, after, LARGEST_HISTORY)
    return wire.history_text(no, entries, more=more)


async def _activities(
    reading: Reads, grants: Sequence[Grant], lose: Callable[[Grant], None]
) -> list[str]:
    unread = [grant.claim.no for grant in grants if grant.view is None]
    views = {}
    if unread:
        views = {view.activity.no: view for view in await reading.activity_views(unread)}
    texts: list[str] = []
    for grant in grants:
        view = grant.view or views.get(grant.claim.no)
        assert isinstance(grant.row, Activity)
        if view is None:
            lose(grant)  # its run ended, and was deleted, while it was on its way
        else:
            token = grant.claim.token
            texts.append(wire.activity_text(grant.row, token, view.workflow_id, view.input))
    return texts
