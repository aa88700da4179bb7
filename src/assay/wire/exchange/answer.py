"""An answer of an exchange: written by joining stored texts, read by the SDK into structs."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec import Raw, Struct

from assay.model.activity import Activity
from assay.model.ids import claim_token
from assay.model.run import Run
from assay.model.time import MICROS, seconds
from assay.wire.codec import NULL
from assay.wire.exchange.operations import VERSION, Outcome
from assay.wire.tasks import Line

_encode = msgspec.json.encode


class Entry(Struct, array_like=True, gc=False):
    """An event of a history."""

    seq: int
    type: str
    payload: Raw
    at: float


class RunTask(Struct, kw_only=True):
    """A run that has news. `since`: only what is new, for who has seen the rest under that claim.

    `more`: the history goes on; `free`: it takes up no room, for the claim was held on.
    """

    no: int
    id: str
    namespace: str
    type: str
    queue: str
    lease: str
    history: list[Entry]
    since: str | None = None
    more: bool = False
    free: bool = False


class ActivityTask(Struct, kw_only=True):
    """An attempt at a piece of work."""

    no: int
    workflow_id: str
    name: str
    input: Raw = NULL
    attempt: int
    token: str
    details: Raw = NULL
    scheduled_at: float
    started_at: float
    start_to_close_secs: float
    heartbeat_timeout_secs: float | None


class Ending(Struct, kw_only=True):
    """How a run ended that somebody asked about; without status there is no such run."""

    id: str
    status: str | None = None
    last_id: str = ""
    result: Raw = NULL
    error: str | None = None
    failure: Raw = NULL


class History(Struct, kw_only=True):
    """The rest of a history, or a part of it."""

    no: int
    entries: list[Entry]
    more: bool


class ExchangeAnswer(Struct, kw_only=True):
    """Everything an engine has to say in return."""

    v: int
    instance: int
    at: float
    lease_secs: float
    fresh: bool = False
    outcomes: list[Outcome] = []
    runs: list[RunTask] = []
    activities: list[ActivityTask] = []
    endings: list[Ending] = []
    histories: list[History] = []


read_answer = msgspec.json.Decoder(ExchangeAnswer).decode


def entries_text(lines: Sequence[Line]) -> str:
    """Events of a history, each an array."""
    return ",".join(
        [
            f'[{line.seq},"{line.type}",{line.payload or "null"},{line.at / MICROS}]'
            for line in lines
        ]
    )


def run_text(
    run: Run, token: int, entries: str, *, since: int | None, more: bool, free: bool
) -> str:
    """A run's task around the text of its events."""
    flags = "" if since is None else f'"since":"{claim_token(since)}",'
    flags += '"more":true,' if more else ""
    flags += '"free":true,' if free else ""
    return (
        f'{{"no":{run.no},"id":{_quoted(run.id)},"namespace":{_quoted(run.namespace)},'
        f'"type":{_quoted(run.type)},"queue":{_quoted(run.queue)},"lease":"{claim_token(token)}",'
        f'{flags}"history":[{entries}]}}'
    )


def activity_text(activity: Activity, token: int, workflow_id: str, given: str | None) -> str:
    """An attempt's task; its input is put in as the JSON it is."""
    policy = activity.policy
    beat = policy.heartbeat_timeout_secs
    started_at = activity.started_at or activity.scheduled_at
    return (
        f'{{"no":{activity.no},"workflow_id":{_quoted(workflow_id)},'
        f'"name":{_quoted(activity.name)},"input":{given or "null"},'
        f'"attempt":{activity.attempt},"token":"{claim_token(token)}",'
        f'"details":{activity.details or "null"},'
        f'"scheduled_at":{seconds(activity.scheduled_at)},"started_at":{seconds(started_at)},'
        f'"start_to_close_secs":{policy.start_to_close_secs},'
        f'"heartbeat_timeout_secs":{"null" if beat is None else beat}}}'
    )


def ending_text(asked: str, run: Run | None, result: str | None) -> str:
    """The end of a run that was asked for under that id."""
    if run is None:
        return f'{{"id":{_quoted(asked)}}}'
    error = "null" if run.error is None else _quoted(run.error)
    return (
        f'{{"id":{_quoted(asked)},"status":"{run.status}","last_id":{_quoted(run.id)},'
        f'"result":{result or "null"},"error":{error}}}'
    )


def history_text(no: int, entries: str, *, more: bool) -> str:
    """A part of a history."""
    return f'{{"no":{no},"entries":[{entries}],"more":{"true" if more else "false"}}}'


class Moment(NamedTuple):
    """Who answers, and what holds there: the time, and how long a lease lasts."""

    instance: int
    at: int
    lease: int
    fresh: bool


def answer_text(
    moment: Moment, outcomes: Sequence[Outcome], parts: dict[str, Sequence[str]]
) -> bytes:
    """The whole answer; what there is none of is left out."""
    texts = "".join(f',"{name}":[{",".join(part)}]' for name, part in parts.items() if part)
    said = f',"outcomes":{_encode(outcomes).decode()}' if outcomes else ""
    fresh = ',"fresh":true' if moment.fresh else ""
    return (
        f'{{"v":{VERSION},"instance":{moment.instance},"at":{seconds(moment.at)},'
        f'"lease_secs":{seconds(moment.lease)}{fresh}{said}{texts}}}'
    ).encode()


def _quoted(text: str) -> str:
    return _encode(text).decode()
