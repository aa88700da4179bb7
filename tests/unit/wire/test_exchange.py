"""The texts of an exchange: written by the engine by hand, read by the SDK into structs."""

from typing import NamedTuple

import msgspec
import pytest
from msgspec import Raw

from assay.errors import BadShape, BadValue
from assay.model.activity import Activity
from assay.model.operations import UndoActivityClaim, UndoWorkflowClaim
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.states import ActivityStatus, RunStatus
from assay.model.task import TaskKind
from assay.model.time import MICROS
from assay.wire.exchange import answer as wire
from assay.wire.exchange.operations import (
    BadBatch,
    Complete,
    HandBack,
    Operations,
    Outcome,
    StartRun,
    SubmitCommands,
)
from assay.wire.exchange.request import EXCHANGE, ExchangeRequest, Position, Taking

NOW = 1_790_000_000 * MICROS + 250_000
ODD = 'a "b"\\ \u2028 é \U0001f600 \x7f\n'
RUN = Run(
    no=7,
    id=ODD,
    run_id="r",
    namespace=ODD,
    type=ODD,
    status=RunStatus.FAILED,
    created_at=NOW,
    updated_at=NOW,
    start_at=NOW,
    queue=ODD,
    error=ODD,
)
MOMENT = wire.Moment(3, NOW, 30 * MICROS, fresh=True)


class Told(NamedTuple):
    seq: int
    id: int
    type: str
    at: int
    payload: str | None


def read(**parts: list[str]) -> wire.ExchangeAnswer:
    return wire.read_answer(wire.answer_text(MOMENT, [], dict(parts)))


def test_an_answer_with_nothing_in_it() -> None:
    answer = wire.read_answer(wire.answer_text(MOMENT._replace(fresh=False), [], {"runs": []}))
    assert answer == wire.ExchangeAnswer(v=1, instance=3, at=NOW / MICROS, lease_secs=30.0)


def test_outcomes_say_what_there_is_to_say() -> None:
    outcomes = [
        Outcome(200),
        Outcome(409, ODD),
        Outcome(201, workflow_id=ODD, run_id="r", state="PENDING"),
        Outcome(200, cancel_requested=False),
    ]
    text = wire.answer_text(MOMENT, outcomes, {})
    assert b'{"status":200},' in text
    answer = wire.read_answer(text)
    assert (answer.outcomes, answer.fresh) == (outcomes, True)


def test_a_run_with_its_history() -> None:
    lines = [
        Told(1, 11, "WorkflowStarted", NOW, '{"big":12345678901234567890,"e":1.50e+2}'),
        Told(2, 12, "SignalReceived", NOW + 1, None),
    ]
    text = wire.run_text(RUN, 0x2A, wire.entries_text(lines), since=None, more=False, free=False)
    [task] = read(runs=[text]).runs
    assert (task.id, task.namespace, task.type, task.queue) == (ODD, ODD, ODD, ODD)
    assert (task.no, task.lease) == (7, "c2a")
    assert (task.since, task.more, task.free) == (None, False, False)
    first, second = task.history
    assert bytes(first.payload).decode() == lines[0].payload, "as it was sent"
    assert (second.seq, second.type, second.payload) == (2, "SignalReceived", Raw(b"null"))
    assert second.at == (NOW + 1) / MICROS


def test_a_run_with_what_is_new() -> None:
    text = wire.run_text(RUN, 9, "", since=8, more=True, free=True)
    [task] = read(runs=[text]).runs
    assert (task.since, task.more, task.free, task.history) == ("c8", True, True, [])


@pytest.mark.parametrize("bare", [True, False])
def test_an_attempt(bare: bool) -> None:
    policy = RetryPolicy(heartbeat_timeout_secs=None if bare else 2.5, start_to_close_secs=1e-7)
    row = Activity(5, 7, 1, ODD, ActivityStatus.RUNNING, policy, 2, 2, NOW, attempt=4)
    given = None
    if not bare:
        row = msgspec.structs.replace(row, details='{"at":1.0}', started_at=NOW + MICROS)
        given = '[1, {"a": 2.0}]'
    [task] = read(activities=[wire.activity_text(row, 0xFF, ODD, given)]).activities
    assert (task.no, task.workflow_id, task.name, task.token) == (5, ODD, ODD, "cff")
    assert (task.attempt, task.start_to_close_secs) == (4, 1e-7)
    assert task.heartbeat_timeout_secs == (None if bare else 2.5)
    assert bytes(task.input).decode() == (given or "null")
    assert bytes(task.details).decode() == (row.details or "null")
    assert task.started_at == task.scheduled_at + (not bare)


def test_ends_and_parts_of_histories() -> None:
    answer = read(
        endings=[
            wire.ending_text("gone" + ODD, None, None),
            wire.ending_text("asked", RUN, None),
            wire.ending_text("asked", msgspec.structs.replace(RUN, error=None), "[1.0]"),
        ],
        histories=[
            wire.history_text(7, "", more=False),
            wire.history_text(7, '[1,"A",null,1.5]', more=True),
        ],
    )
    gone, failed, done = answer.endings
    assert (gone.id, gone.status, gone.last_id) == ("gone" + ODD, None, "")
    assert (failed.id, failed.last_id, failed.status, failed.error) == ("asked", ODD, "FAILED", ODD)
    assert bytes(done.result) == b"[1.0]"
    nothing, part = answer.histories
    assert (nothing.no, nothing.entries, nothing.more) == (7, [], False)
    assert (part.entries[0].type, part.more) == ("A", True)


# -- requests ------------------------------------------------------------------------------------


def test_what_an_sdk_writes_is_what_the_engine_reads() -> None:
    operations: list[Operations] = [
        StartRun(workflow_type="t", workflow_id=ODD, input=Raw(b"[1.0]")),
        SubmitCommands(id=ODD, lease="c1", commands=[], keeps=True, seen=4),
        Complete(no=5, token="c2", result=Raw(b"1e2")),
        HandBack(kind=TaskKind.ACTIVITY, no=5, token="c2"),
    ]
    request = ExchangeRequest(
        v=1,
        session="w",
        operations=operations,
        takings=[Taking(TaskKind.WORKFLOW, "q", 3, 2)],
        awaited=[ODD],
        held=["c1"],
        histories=[Position(7, 2)],
        wait_secs=20.0,
    )
    text = msgspec.json.encode(request)
    assert b'"holds"' not in text
    again = EXCHANGE.read(text)
    again.check()
    assert again == request


def test_whole_numbers_may_be_written_as_floats() -> None:
    request = EXCHANGE.read(
        b'{"v":1.0,"session":"w","takings":[["workflow","q",3.0,2e0]],"histories":[[7.0,2.0]],'
        b'"operations":[{"op":"complete","no":5.0},{"op":"return","kind":"workflow","no":6.0,'
        b'"token":"cA"},{"op":"commands","id":"i","lease":"c1","commands":[],"seen":4.0}]}'
    )
    request.check()
    assert request.takings == [Taking(TaskKind.WORKFLOW, "q", 3, 2)]
    assert request.histories == [Position(7, 2)]
    complete, back, batch = request.operations or []
    assert complete.of("w").no == 5  # type: ignore[union-attr] # it is one about an activity
    assert batch.of("w").seen == 4  # type: ignore[union-attr] # it is a batch
    with pytest.raises(BadValue):
        back.of("w")  # tokens are written in small letters


def test_what_is_handed_back() -> None:
    run = HandBack(kind=TaskKind.WORKFLOW, no=6, token="cff")
    work = HandBack(kind=TaskKind.ACTIVITY, no=6, token="cff")
    assert run.of("w") == UndoWorkflowClaim(6, 255)
    assert work.of("w") == UndoActivityClaim(6, 255)


def test_of_a_bad_batch_its_run_is_told_whose_it_was() -> None:
    text = b"""{"v":1,"session":"w","operations":[{"op":"commands","id":"i","lease":"c1",
      "commands":[{"type":"ScheduleTimer","seq":1},{"type":"ScheduleTimer","seq":0}]}]}"""
    [batch] = EXCHANGE.read(text).operations or []
    with pytest.raises(BadBatch) as refused:
        batch.of("w")
    rejection = refused.value.rejection
    assert (rejection.id, rejection.worker_id, rejection.lease) == ("i", "w", "c1")
    assert rejection.error == str(refused.value) == "command 1: seq must be at least 1"


@pytest.mark.parametrize(
    ("text", "names_both"),
    [
        (b'{"v":2,"session":"w","operations":[{"op":"dance"}]}', True),
        (b'{"v":2}', True),
        (b'{"v":1,"session":"w","operations":[{"op":"dance"}]}', False),
        (b'{"v":"2","session":"w"}', False),
        (b"[]", False),
    ],
)
def test_of_another_shape_the_version_is_told_if_it_is_another(
    text: bytes, names_both: bool
) -> None:
    with pytest.raises(BadShape) as refused:
        EXCHANGE.read(text)
    assert ("speaks version 1 of the exchange, the request version 2" in str(refused.value)) is (
        names_both
    )


def test_another_version_is_refused_before_what_it_says() -> None:
    with pytest.raises(BadValue, match="version 2"):
        ExchangeRequest(v=2, session="").check()
