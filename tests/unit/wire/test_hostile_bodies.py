"""The largest bodies a client may send, made to be slow to read: each is judged in one pass."""

from time import process_time

import pytest

from assay.errors import Refusal
from assay.wire.batches import BatchBody, CommandBatch, UnreadBatch
from assay.wire.codec import Body
from assay.wire.requests import CompleteTask, EndWorkflow, Poll, RegisterWorker, SendSignal

LARGEST = 2 * 1024 * 1024
MOST_SECS = 2.0  # for one body and all readers; measured: 0.6 at most

READERS = (
    Body(EndWorkflow, optional=True),
    Body(SendSignal, optional=True),
    Body(CompleteTask, optional=True),
    Body(Poll),
    Body(RegisterWorker),
    BatchBody(),
)


def full(unit: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    """The unit as often as it fits."""
    room = LARGEST - len(before) - len(after)
    return before + unit * (room // len(unit)) + after


def batch(unit: bytes, first: bytes = b"5") -> bytes:
    """Commands as many as fit."""
    return full(b"," + unit, b'{"worker_id":"w","commands":[' + first, b"]}")


HOSTILE = {
    "space and a letter": full(b" ", after=b"x"),
    "space": full(b" "),
    "space in an object": full(b" ", b"{", b"}"),
    "space in an open object": full(b" ", b"{"),
    "space between brackets": full(b"[ ] "),
    "mixed space": full(b" \t\r\n", b"[", b"{}"),
    "an open string of escaped quotes": full(b'\\"', b"[" * 501 + b'"'),
    "open strings": full(b'"', b"[" * 501),
    "escaped backslashes": full(b"\\\\", b"[" * 501 + b'"'),
    "one more backslash": full(b"\\", b"[" * 501 + b'"'),
    "a payload of escapes": full(rb"\n", b'{"payload":"', b'"}'),
    "a payload of escaped quotes": full(rb"\"", b'{"x":' + b"[{}," * 9 + b'"', b'"' + b"]" * 9),
    "pairs": full(rb"\ud83d\ude00", b'{"payload":"', b'"}'),
    "halves of pairs": full(rb"\ud83d", b'{"payload":"', b'"}'),
    "brackets that open": full(b"["),
    "brackets that close": full(b"]"),
    "flat brackets": full(b"[],", b'{"payload":[', b"[]]}"),
    "brackets in strings": full(b'"[",', b'{"payload":[', b"[]]}"),
    "digits": full(b"9", b'{"queue":"q","worker_id":"w","attempt":1,"wait_secs":', b"}"),
    "digits of an integer": full(b"9", b'{"attempt":', b"}"),
    "a long fraction": full(b"9", b'{"queue":"q","worker_id":"w","wait_secs":0.', b"}"),
    "zeros before an exponent": full(b"0", b'{"attempt":1', b"e-999999999}"),
    "one name": full(b"a", b'{"queue":"', b'","worker_id":"w"}'),
    "one blank name": full(b" ", b'{"queue":"', b'","worker_id":"w"}'),
    "one name of wide space": full("\u3000".encode(), b'{"queue":"', b'","worker_id":"w"}'),
    "one name of bytes": full(b"\xff", b'{"queue":"', b'","worker_id":"w"}'),
    "the same key": full(b'"reason":null,', b"{", b'"reason":5}'),
    "small keys": full(b'"":0,', b"{", b'"":0}'),
    "names of a worker": full(b'"a",', b'{"identity":"i","queue":"q","workflows":[', b'" "]}'),
    "commands of no shape": batch(b"5"),
    "commands of a wrong value": batch(
        b'{"type":"ScheduleTimer","seq":1,"duration_secs":1e400}', b'{"type":""}'
    ),
    "commands of an unknown type": batch(b'{"type":""}', b'{"type":""}'),
    "commands and half a pair": batch(b"5", rb'"\ud800"'),
    "commands and half a pair at the end": full(
        b"5,", b'{"worker_id":"w","commands":[', rb'"\ud800"]}'
    ),
    "commands of half pairs": batch(rb'"\ud800"', rb'"\ud800"'),
    "commands and a deep one": batch(b"5", b"[" * 600 + b"]" * 600),
    "commands and a fault of the grammar": batch(b"5") + b",",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_the_largest_bodies_are_judged_at_once(data: bytes) -> None:
    began = process_time()
    for reader in READERS:
        try:
            body = reader.read(data)
            if isinstance(body, CommandBatch | UnreadBatch):
                body.checked()
            elif isinstance(body, Poll):
                body.check()
        except Refusal:
            continue
    assert process_time() - began < MOST_SECS
