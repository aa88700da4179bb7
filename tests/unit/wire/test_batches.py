"""Command batches: commands in, operations or a refusal that names the index."""

import logging

import pytest

from assay.errors import BadShape, BadValue, Refusal
from assay.model.commands import (
    CancelWorkflow,
    Command,
    CompleteWorkflow,
    FailWorkflow,
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


def test_the_whole_batch() -> None:
    batch = READER.read(b'{"worker_id":"w","commands":[],"lease":"c7"}')
    operation = batch.sender("a/b").submission(batch.checked())
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
