"""Bodies in, operations or refusals out: shapes (422) before values (400)."""

import pytest
from msgspec import Struct

from assay.errors import BadShape, BadValue, Refusal
from assay.model.operations import (
    Cancel,
    CompleteActivity,
    FailActivity,
    Fence,
    HeartbeatActivity,
    Retry,
    Signal,
    Start,
    Terminate,
)
from assay.wire.codec import Body
from assay.wire.requests import (
    CompleteTask,
    EndWorkflow,
    FailTask,
    HeartbeatTask,
    HeartbeatWorker,
    Poll,
    RegisterWorker,
    RetryWorkflow,
    SendSignal,
    StartWorkflow,
)

START = Body(StartWorkflow)
SIGNAL = Body(SendSignal, optional=True)
ENDING = Body(EndWorkflow, optional=True)
COMPLETE = Body(CompleteTask, optional=True)
FAIL = Body(FailTask)
BEAT = Body(HeartbeatTask, optional=True)
RETRY = Body(RetryWorkflow)
POLL = Body(Poll)
REGISTER = Body(RegisterWorker)
HEARTBEAT = Body(HeartbeatWorker)


@pytest.mark.parametrize(
    ("body", "operation"),
    [
        ('{"workflow_type":"T"}', Start("T")),
        (' {"workflow_type" : "T" , "more": [1, {"a": null}]} ', Start("T")),
        (
            (
                '{"workflow_type":"T","workflow_id":"é","namespace":"n","input":{"a": 1e9},'
                '"task_queue":"q"}'
            ),
            Start("T", "é", "n", '{"a": 1e9}', "q"),
        ),
        (
            (
                '{"workflow_type":"T","workflow_id":null,"namespace":null,"input":null,'
                '"task_queue":null}'
            ),
            Start("T"),
        ),
        ('{"workflow_type":"T","workflow_id":" \\t"}', Start("T")),
        ('{"workflow_type":"T","input":[]}', Start("T", input="[]")),
        (
            '{"workflow_type":"T","input":"\\u0000\\ud83d\\ude00"}',
            Start("T", input='"\\u0000\\ud83d\\ude00"'),
        ),
    ],
)
def test_starts(body: str, operation: Start) -> None:
    assert START.read(body.encode()).operation() == operation


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("", BadValue),
        ("{", BadValue),
        ('{"workflow_type":5,"input":NaN}', BadValue),  # JSON comes before shape
        ("5", BadShape),
        ("[]", BadShape),
        ("null", BadShape),
        ("{}", BadShape),
        ('{"workflow_type":5}', BadShape),
        ('{"workflow_type":" ","task_queue":5}', BadShape),  # shape comes before values
        ('{"workflow_type":""}', BadValue),
        ('{"workflow_type":"T","task_queue":" "}', BadValue),
        ('{"workflow_type":1e400}', BadShape),  # no number belongs there
        ('{"workflow_type":"T","timeout_secs":1e400}', BadValue),
        ('{"workflow_type":"T","timeout_secs":1e400,"task_queue":5}', BadShape),
        ('{"workflow_type":"T","timeout_secs":%s}' % ("9" * 5000), BadValue),
        ('{"workflow_type":"T","workflow_id":"a\\u0000"}', BadValue),
        ('{"workflow_type":"T","namespace":"a\\u0000"}', BadValue),
        ('{"workflow_type":"%s"}' % ("é" * 501), BadValue),
        ('{"workflow_type":"%s"}' % ("t" * 1001), BadValue),
    ],
)
def test_starts_that_are_refused(body: str, kind: type[Refusal]) -> None:
    with pytest.raises(Refusal) as refused:
        START.read(body.encode()).operation()
    assert type(refused.value) is kind


def test_a_name_may_have_a_thousand_bytes() -> None:
    name = "é" * 500
    assert START.read(b'{"workflow_type":"%s"}' % name.encode()).operation() == Start(name)


@pytest.mark.parametrize("body", ["", " ", "null", "{}", "[]", " [ ] \n", "{ }", "\tnull"])
@pytest.mark.parametrize("reader", [SIGNAL, ENDING, COMPLETE, BEAT])
def test_what_counts_as_no_fields_given(body: str, reader: Body[Struct]) -> None:
    assert reader.read(body.encode()) == reader.kind()


@pytest.mark.parametrize("body", ["[1]", "5", '"x"', "[[]]", "false"])
@pytest.mark.parametrize("reader", [SIGNAL, ENDING, COMPLETE, BEAT])
def test_what_does_not(body: str, reader: Body[Struct]) -> None:
    with pytest.raises(BadShape):
        reader.read(body.encode())


def test_signals() -> None:
    body = SIGNAL.read(b'{"payload": [1.0, null]}')
    assert body.operation("wf", "go/on") == Signal("wf", "go/on", "[1.0, null]")
    assert SIGNAL.read(b'{"payload":null}').operation("wf", "go") == Signal("wf", "go")
    for id, name in (
        ("wf", " "),
        ("wf", "a\0"),
        ("a\0", "go"),
        ("\udcff", "go"),
        ("wf", "n" * 1001),
    ):
        with pytest.raises(BadValue):
            body.operation(id, name)
    assert body.operation("i" * 2000, "go").id == "i" * 2000  # no such run can exist; not found


def test_endings() -> None:
    body = ENDING.read(b'{"reason":"a\\u0000b"}')
    assert body.cancel("wf") == Cancel("wf", "a\ufffdb")
    assert body.terminate("wf") == Terminate("wf", "a\ufffdb")
    assert ENDING.read(b"").cancel("wf") == Cancel("wf")
    with pytest.raises(BadShape):
        ENDING.read(b'{"reason":5}')


def test_retries() -> None:
    body = RETRY.read(b'{"requested_by":"ann","reason":"mended"}')
    assert body.operation("wf") == Retry("wf", "ann", "mended")
    for wrong in (b"{}", b'{"requested_by":"ann"}', b'{"requested_by":"ann","reason":null}'):
        with pytest.raises(BadShape):
            RETRY.read(wrong)
    with pytest.raises(BadValue):
        RETRY.read(b'{"requested_by":"ann","reason":" "}').operation("wf")


@pytest.mark.parametrize(
    ("body", "operation"),
    [
        ("", CompleteActivity(7)),
        ('{"result":{"x": 1}}', CompleteActivity(7, '{"x": 1}')),
        ('{"worker_id":null,"attempt":null,"token":null}', CompleteActivity(7)),
        (
            '{"worker_id":"w","attempt":2.0,"token":"c1"}',
            CompleteActivity(7, None, Fence("w", 2, "c1")),
        ),
    ],
)
def test_completions(body: str, operation: CompleteActivity) -> None:
    for no in ("7", "7.0", "007", "+7", "7."):
        assert COMPLETE.read(body.encode()).operation(no) == operation


@pytest.mark.parametrize("no", ["abc", "", "1.5", "0x7", "1e2", "9" * 17, "9" * 40, "٣", " 7"])
def test_activity_numbers_that_are_none(no: str) -> None:
    with pytest.raises(BadValue):
        COMPLETE.read(b"").operation(no)


@pytest.mark.parametrize(
    ("fence", "kind"),
    [
        ('{"attempt":1.5}', BadShape),
        ('{"attempt":"1"}', BadShape),
        ('{"attempt":true}', BadShape),
        ('{"worker_id":5}', BadShape),
        ('{"token":{}}', BadShape),
        ('{"attempt":9007199254740993}', BadValue),
        ('{"attempt":1e300}', BadValue),
        ('{"attempt":1e400}', BadValue),
        ('{"attempt":%s}' % ("9" * 5000), BadValue),
        ('{"token":"a\\u0000"}', BadValue),
    ],
)
def test_fences_that_are_refused(fence: str, kind: type[Refusal]) -> None:
    with pytest.raises(Refusal) as refused:
        COMPLETE.read(fence.encode()).operation("7")
    assert type(refused.value) is kind


def test_failures_and_heartbeats() -> None:
    assert FAIL.read(b'{"error":""}').operation("1") == FailActivity(1, "")
    assert FAIL.read(b'{"error":"a\\u0000"}').operation("1") == FailActivity(1, "a\ufffd")
    for wrong in (b"{}", b'{"error":null}', b'{"error":5}'):
        with pytest.raises(BadShape):
            FAIL.read(wrong)
    more = b'{"error":"no","failure":%s,"retryable":%s,"retry_after_secs":%s,"attempt":2.0}'
    failure = FAIL.read(more % (b' {"type": "X", "n": 1e400}', b"false", b"1.5")).operation("1")
    assert failure == FailActivity(
        1,
        "no",
        Fence(attempt=2),
        '{"type": "X", "n": 1e400}',
        retryable=False,
        retry_after_secs=1.5,
    )
    plain = FailActivity(1, "no", Fence(attempt=2))
    assert FAIL.read(more % (b"null", b"null", b"null")).operation("1") == plain
    assert FAIL.read(more % (b"null", b"true", b"0")).operation("1").retry_after_secs == 0
    beat = BEAT.read(b'{"details":"half","worker_id":"w"}').operation("1")
    assert beat == HeartbeatActivity(1, '"half"', Fence("w"))


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ('"failure":"X"', BadShape),
        ('"failure":5', BadShape),
        ('"failure":[1]', BadShape),
        ('"failure":false', BadShape),
        ('"retryable":1', BadShape),
        ('"retryable":"no"', BadShape),
        ('"retry_after_secs":"1"', BadShape),
        ('"retry_after_secs":-0.1', BadValue),
        ('"retry_after_secs":1e11', BadValue),
        ('"retry_after_secs":1e400', BadValue),
        ('"attempt":1.5', BadShape),
    ],
)
def test_failures_that_are_refused(field: str, kind: type[Refusal]) -> None:
    with pytest.raises(Refusal) as refused:
        FAIL.read(b'{"error":"no",%s}' % field.encode()).operation("1")
    assert type(refused.value) is kind


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ('"queue":" "', BadValue),
        ('"worker_id":""', BadValue),
        ('"wait_secs":-0.1', BadValue),
        ('"wait_secs":60.1', BadValue),
        ('"wait_secs":1e400', BadValue),
        ('"wait_secs":"1"', BadShape),
        ('"wait_secs":true', BadShape),
        ('"queue":null', BadShape),
    ],
)
def test_polls_that_are_refused(field: str, kind: type[Refusal]) -> None:
    with pytest.raises(Refusal) as refused:
        POLL.read(b'{"queue":"q","worker_id":"w",%s}' % field.encode()).check()
    assert type(refused.value) is kind


def test_how_long_polls_are_held() -> None:
    for field, secs in (("null", 0), ("0", 0), ("60", 60), ("0.5", 0.5)):
        body = b'{"queue":"q","worker_id":"w","wait_secs":%s}' % field.encode()
        assert POLL.read(body).check() == secs


def test_workers() -> None:
    said = REGISTER.read(b'{"identity":"me","queue":"q","workflows":{},"activities":["a","b"]}')
    introduction = said.introduction()
    assert (introduction.namespace, introduction.workflows) == ("main", "[]")
    assert introduction.activities == '["a","b"]'
    assert (introduction.max_workflows, introduction.max_activities) == (10, 20)
    wide = b'{"identity":"me","queue":"q","max_concurrent_workflows":3.0}'
    assert REGISTER.read(wide).introduction().max_workflows == 3
    for wrong in (b'"workflows":{"a":1}', b'"activities":[1]', b'"max_concurrent_workflows":1.5'):
        with pytest.raises(BadShape):
            REGISTER.read(b'{"identity":"me","queue":"q",%s}' % wrong)
    assert HEARTBEAT.read(b'{"worker_id":"w","workflow_ids":["a","b"]}').held_runs() == ("a", "b")
    assert HEARTBEAT.read(b'{"worker_id":"w"}').held_runs() == ()
    with pytest.raises(BadValue):
        HEARTBEAT.read(b'{"worker_id":"w","workflow_ids":["a\\u0000"]}').held_runs()
