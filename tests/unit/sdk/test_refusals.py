"""The client's errors: which one a status is, what they say, and that they travel."""

from __future__ import annotations

import copy
import pickle

import pytest

from assay.errors import AssayError
from assay.sdk.faults import (
    AnswerLost,
    BadRequest,
    ClientFault,
    Conflict,
    EngineUnreachable,
    NotAnswered,
    NotFound,
    RequestRefused,
    RequestTimeout,
    ServerFault,
    Unauthorized,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowTerminated,
    WorkflowTimedOut,
    refusal,
)

KINDS = {
    302: RequestRefused,
    400: BadRequest,
    401: Unauthorized,
    403: Unauthorized,
    404: NotFound,
    405: RequestRefused,
    409: Conflict,
    410: RequestRefused,
    413: BadRequest,
    415: BadRequest,
    422: BadRequest,
    500: ServerFault,
    503: ServerFault,
}
ALL: list[AssayError] = [
    EngineUnreachable("nobody there"),
    AnswerLost("half an answer"),
    NotAnswered("no answer"),
    RequestTimeout("too late"),
    Conflict(409, '{"error":"taken"}'),
    WorkflowFailed("w", "FAILED", "broken"),
    WorkflowCancelled("w", "CANCELLED"),
    WorkflowTerminated("w", "FAILED", "enough"),
    WorkflowTimedOut("w", "TIMED_OUT", "timed out"),
]


@pytest.mark.parametrize(("status", "kind"), KINDS.items())
def test_a_status_has_its_error(status: int, kind: type[RequestRefused]) -> None:
    fault = refusal(status, b'{"error":"because"}')
    assert type(fault) is kind
    assert (fault.status, fault.body) == (status, '{"error":"because"}')
    assert str(fault) == f"HTTP {status}: because"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
        (b"", ""),
        (b"[1]", "[1]"),
        (b'{"error":5}', '{"error":5}'),
        (b"\xff", "\ufffd"),
        (b"[" * 100_000, "[" * 500),
    ],
)
def test_bodies_that_are_not_ours_are_shown(body: bytes, said: str) -> None:
    assert str(refusal(502, body)) == f"HTTP 502: {said}"


def test_they_can_be_caught_by_the_builtin_names() -> None:
    assert issubclass(EngineUnreachable, ConnectionError)
    assert issubclass(RequestTimeout, TimeoutError)
    assert not issubclass(WorkflowFailed, ClientFault)
    assert not EngineUnreachable("").sent
    assert NotAnswered("").sent


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: type(fault).__name__)
def test_they_survive_a_copy_and_a_journey(fault: AssayError) -> None:
    for made in (copy.copy(fault), pickle.loads(pickle.dumps(fault))):  # noqa: S301 - our own
        assert type(made) is type(fault)
        assert (str(made), vars(made)) == (str(fault), vars(fault))
