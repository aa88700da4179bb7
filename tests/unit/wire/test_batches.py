"""Command batches: commands in, operations or a refusal that names the index."""

import logging

import pytest

from assay.errors import BadShape, BadValue, Refusal
from assay.model.commands import (
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    FailWorkflow,
    RecordStep,
    ScheduleActivity,
    ScheduleTimer,
    StartChild,
    WaitForSignal,
)
from assay.model.operations import RejectCommands, SubmitCommands
from assay.model.retry import RetryPolicy
from assay.wire.batches import BatchBody

READER = BatchBody()
TIMER = '{"type":"ScheduleTimer","seq":1}'


def read(*commands: str) -> tuple[Command, ...]:
    body = f'{{"worker_id":"w","commands":[{",".join(commands)}]}}'
    return READER.read(body.encode()).checked()


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (
            '{"type":"ScheduleActivity","seq":1,"name":"pay"}',
            ScheduleActivity(1, "pay", "default", None, RetryPolicy()),
        ),
        (
            (
                '{"seq":2.0,"name":"pay","task_queue":"q","input":[1 ],"max_attempts":5.0,'
                '"initial_interval_secs":0,"backoff_coefficient":1.5,"start_to_close_secs":9,'
                '"heartbeat_timeout_secs":3,"type":"ScheduleActivity"}'
            ),
            ScheduleActivity(2, "pay", "q", "[1 ]", RetryPolicy(5, 0, 1.5, 9, 3)),
        ),
        (
            (
                '{"type":"ScheduleActivity","seq":1,"name":"pay","task_queue":null,"input":null,'
                '"max_attempts":null,"heartbeat_timeout_secs":null}'
            ),
            ScheduleActivity(1, "pay", "default", None, RetryPolicy()),
        ),
        (
            (
                '{"type":"ScheduleActivity","seq":1,"name":"pay","max_interval_secs":9,'
                '"jitter":1,"non_retryable":["Fatal", "É"]}'
            ),
            ScheduleActivity(
                1, "pay", "default", None, RetryPolicy(3, 1, 2, 300, None, 9, 1, '["Fatal","É"]')
            ),
        ),
        (
            (
                '{"type":"ScheduleActivity","seq":1,"name":"pay","max_interval_secs":null,'
                '"jitter":null,"non_retryable":[]}'
            ),
            ScheduleActivity(1, "pay", "default", None, RetryPolicy()),
        ),
        (
            '{"type":"ScheduleActivity","seq":1,"name":"pay","jitter":0,"non_retryable":{}}',
            ScheduleActivity(1, "pay", "default", None, RetryPolicy()),
        ),
        (
            '{"type":"RecordStep","seq":1,"name":"s","error":"no","failure":{"type": "X"}}',
            RecordStep(1, "s", 1, None, "no", True, 0.0, '{"type": "X"}'),
        ),
        (TIMER, ScheduleTimer(1, 0)),
        ('{"type":"ScheduleTimer","seq":1,"duration_secs":-2.5}', ScheduleTimer(1, -2.5)),
        ('{"type":"WaitForSignal","name":"go"}', WaitForSignal("go", None)),
        ('{"type":"WaitForSignal","name":"go","timer_seq":3.0}', WaitForSignal("go", 3)),
        (
            '{"type":"StartChildWorkflow","workflow_type":"T","workflow_id":"c","input":"x"}',
            StartChild("T", "c", "default", '"x"'),
        ),
        ('{"type":"CompleteWorkflow"}', CompleteWorkflow(None)),
        ('{"type":"CompleteWorkflow","result":0}', CompleteWorkflow("0")),
        ('{"type":"FailWorkflow"}', FailWorkflow("workflow handler raised an error")),
        ('{"type":"FailWorkflow","error":"a\\u0000"}', FailWorkflow("a\ufffd")),
        (
            '{"type":"FailWorkflow","error":"no","failure": {"message":"\\u0000"}}',
            FailWorkflow("no", '{"message":"\\u0000"}'),
        ),
        ('{"type":"FailWorkflow","error":"no","failure":null}', FailWorkflow("no")),
        ('{"type":"CancelWorkflow","reason":null}', CancelWorkflow(None)),
    ],
)
def test_commands(text: str, command: Command) -> None:
    assert read(text) == (command,)
    assert read('{"type":"Novelty"}', text) == (command,)  # the slow way reads the same


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("5", BadShape),
        ("{}", BadShape),
        ('{"type":5}', BadShape),
        ('{"type":"ScheduleActivity","name":"pay"}', BadShape),
        ('{"type":"ScheduleActivity","seq":1}', BadShape),
        ('{"type":"ScheduleActivity","seq":null,"name":"pay"}', BadShape),
        ('{"type":"ScheduleActivity","seq":1.5,"name":"pay"}', BadShape),
        ('{"type":"ScheduleActivity","seq":true,"name":"pay"}', BadShape),
        ('{"type":"ScheduleActivity","seq":1,"name":"pay","max_attempts":2.5}', BadShape),
        ('{"type":"ScheduleActivity","seq":0,"name":"pay"}', BadValue),
        ('{"type":"ScheduleActivity","seq":9007199254740993,"name":"pay"}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":" "}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"pay","task_queue":""}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"pay","max_attempts":0}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","initial_interval_secs":-1}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","backoff_coefficient":0}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","start_to_close_secs":1e11}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","start_to_close_secs":1e400}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","heartbeat_timeout_secs":0}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","max_interval_secs":0}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","max_interval_secs":1e11}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","jitter":1.01}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","jitter":-0.1}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","jitter":"some"}', BadShape),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","non_retryable":"X"}', BadShape),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","non_retryable":[1]}', BadShape),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","non_retryable":{"X":1}}', BadShape),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","non_retryable":["X"," "]}', BadValue),
        ('{"type":"ScheduleActivity","seq":1,"name":"p","non_retryable":["\\u0000"]}', BadValue),
        ('{"type":"RecordStep","seq":1,"name":"s","error":"no","failure":"X"}', BadShape),
        ('{"type":"RecordStep","seq":1,"name":"s","error":"no","retry_in_secs":-1}', BadValue),
        ('{"type":"FailWorkflow","failure":[1]}', BadShape),
        ('{"type":"ScheduleTimer"}', BadShape),
        ('{"type":"ScheduleTimer","seq":1,"duration_secs":"1"}', BadShape),
        ('{"type":"ScheduleTimer","seq":1,"duration_secs":2e10}', BadValue),
        ('{"type":"WaitForSignal"}', BadShape),
        ('{"type":"WaitForSignal","name":"go","timer_seq":0}', BadValue),
        ('{"type":"StartChildWorkflow","workflow_type":"T"}', BadShape),
        ('{"type":"StartChildWorkflow","workflow_type":"T","workflow_id":" "}', BadValue),
        ('{"type":"FailWorkflow","error":5}', BadShape),
    ],
)
def test_commands_that_refuse_their_batch(text: str, kind: type[Refusal]) -> None:
    for before in (TIMER, '{"type":"Novelty"}'):
        body = f'{{"lease":"c1","commands":[{before},{text}],"worker_id":"w"}}'.encode()
        batch = READER.read(body)
        with pytest.raises(Refusal) as refused:
            batch.checked()
        assert type(refused.value) is kind
        assert str(refused.value).startswith("command 1: ")  # as it was sent, skipped or not
        rejection = batch.sender("wf").rejection(refused.value)
        assert rejection == RejectCommands("wf", "w", str(refused.value), "c1")


def test_shape_comes_before_values_across_the_batch() -> None:
    blank, shapeless = '{"type":"WaitForSignal","name":""}', '{"type":"ScheduleTimer"}'
    with pytest.raises(BadShape, match="command 1"):
        read(blank, shapeless)
    huge = '{"type":"ScheduleTimer","seq":1,"duration_secs":1e400}'
    with pytest.raises(BadShape, match="command 1"):
        read(huge, shapeless)


def test_unknown_types_are_logged_and_skipped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert read('{"type":"Novelty","seq":"x"}', TIMER) == (ScheduleTimer(1, 0),)
    assert "Novelty" in caplog.text


@pytest.mark.parametrize(
    ("body", "worker_id", "lease"),
    [
        ('{"worker_id":"w"}', "w", None),
        ('{"worker_id":"w","commands":{}}', "w", None),
        ('{"worker_id":"w","commands":null,"lease":"c1"}', "w", "c1"),
        ('{"worker_id":"w","commands":[],"lease":5}', "w", None),
    ],
)
def test_batches_whose_sender_is_known(body: str, worker_id: str, lease: str | None) -> None:
    batch = READER.read(body.encode())
    with pytest.raises(BadShape) as refused:
        batch.checked()
    rejection = batch.sender("wf").rejection(refused.value)
    assert (rejection.worker_id, rejection.lease) == (worker_id, lease)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("{", BadValue),
        ('{"worker_id":"w","commands":[{"type":5}', BadValue),
        ('{"worker_id":"w","commands":5, garbage', BadValue),
        ('{"worker_id":"w","lease":5, garbage', BadValue),
        ('{"worker_id":5, garbage', BadValue),
        ('{"worker_id":"w","commands":[5], garbage', BadValue),
        ("[]", BadShape),
        ('{"commands":[]}', BadShape),
        ('{"worker_id":5,"commands":[{}]}', BadShape),
    ],
)
def test_batches_of_nobody(body: str, kind: type[Refusal]) -> None:
    with pytest.raises(Refusal) as refused:
        READER.read(body.encode())
    assert type(refused.value) is kind


HALF = '{"type":"CompleteWorkflow","result":"\\ud800"}'
FROM_W = '{"worker_id":"w","commands":'


def deep(depth: int) -> str:
    """A value that is nested so deep."""
    return "[" * depth + "]" * depth


def nested(depth: int) -> str:
    """A command whose payload is nested so deep."""
    return f'{{"type":"CompleteWorkflow","result":{deep(depth)}}}'


@pytest.mark.parametrize(
    "bad", [HALF, nested(498), nested(600), '{"type":"Novelty","x":"\\udfff"}']
)
@pytest.mark.parametrize("before", [0, 1, 2, 7])
def test_a_payload_that_no_json_may_hold_shows_with_its_index(bad: str, before: int) -> None:
    fine = nested(497)
    assert len(read(*[fine] * 3)) == 3
    commands = ",".join([*[fine] * before, bad, "5", HALF, fine])
    batch = READER.read(f'{{"lease":"c1","commands":[{commands}],"worker_id":"w"}}'.encode())
    with pytest.raises(BadValue, match=rf"^command {before}: the body is n") as refused:
        batch.checked()
    rejection = batch.sender("wf").rejection(refused.value)
    assert rejection == RejectCommands("wf", "w", str(refused.value), "c1")


def test_each_command_is_refused_for_what_is_wrong_with_it() -> None:
    for commands, why in (((nested(600), HALF), "nested"), ((HALF, nested(600)), "surrogate")):
        with pytest.raises(BadValue, match=rf"^command 0: .*{why}"):
            read(*commands)


@pytest.mark.parametrize(
    "rest",
    [
        '[],"x":"\\ud800"}',
        '5,"x":"\\ud800"}',
        f'["5"],"lease":5,"x":{deep(500)}}}',
    ],
)
def test_beside_the_commands_it_has_no_index(rest: str) -> None:
    batch = READER.read(f"{FROM_W}{rest}".encode())
    with pytest.raises(BadValue, match=r"^the body is n") as refused:
        batch.checked()
    assert batch.sender("wf").rejection(refused.value).worker_id == "w"


@pytest.mark.parametrize(
    "body",
    [
        '{"worker_id":"\\ud800","commands":[]}',
        '{"worker_id":"w","lease":"\\ud800","commands":[]}',
        f'{{"worker_id":5,"commands":[{HALF}]}}',
        f"{FROM_W}[{HALF}]",
        f"{FROM_W}[NaN,{HALF}]}}",
        f"{FROM_W}[{nested(100_000)}]}}",
        f'{FROM_W}["\xff{HALF}"]}}',
    ],
)
def test_whose_sender_cannot_be_read_is_nobodys(body: str) -> None:
    with pytest.raises(BadValue, match=r"^the body is n"):
        READER.read(body.encode("latin-1")).sender("wf")


def test_what_is_skipped_moves_no_index() -> None:
    body = b'{"worker_id":"w","commands":[{"type":"Zork"},%s]}' % TIMER.encode()
    batch = READER.read(body)
    operation = batch.sender("wf").submission(batch.checked(), batch.places())
    assert operation == SubmitCommands("wf", "w", (ScheduleTimer(1, 0),), places=(1,))


def test_the_whole_batch() -> None:
    batch = READER.read(b'{"worker_id":"w","commands":[],"lease":"c7"}')
    operation = batch.sender("a/b").submission(batch.checked(), batch.places())
    assert operation == SubmitCommands("a/b", "w", (), "c7")


@pytest.mark.parametrize(
    ("id", "body"),
    [
        ("a\0", '{"worker_id":"w","commands":%s}'),
        ("\udcff", '{"worker_id":"w","commands":%s,"lease":"c1"}'),
        ("wf", '{"worker_id":"w","commands":%s,"lease":"c\\u0000"}'),
        ("wf", '{"worker_id":"\\u0000","commands":%s}'),
        ("wf", '{"worker_id":" ","commands":%s}'),
    ],
)
def test_an_unsound_sender_is_refused_before_the_commands(id: str, body: str) -> None:
    for commands, kind in (("[]", BadValue), ("[5]", BadShape), ("5", BadShape)):
        batch = READER.read((body % commands).encode())
        with pytest.raises(Refusal) as refused:
            batch.sender(id)
        assert type(refused.value) is kind


def test_a_flood_of_unknown_types_is_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert read(*['{"type":"%s"}' % ("N" * 200)] * 1_000) == ()
    [record] = caplog.records
    assert "1000 commands" in record.getMessage()
    assert len(record.getMessage()) < 300
