"""Every error of the SDK, as one tree.

AssayError                       (assay.errors)
├── ClientFault                  a call could not be made, or not be answered as it should
│   ├── EngineUnreachable        no connection could be made; nothing was sent
│   │   └── AnswerLost           the request was sent, its answer did not come; it may be done
│   │       └── NotAnswered      the same on a kept connection, before any byte of an answer
│   ├── RequestTimeout           the time is up
│   └── RequestRefused           the engine says no; `status` and `body` say how
│       ├── BadRequest           400, 413, 415, 422: the request itself is wrong
│       ├── Unauthorized         401, 403: not with this token
│       ├── NotFound             404: no such thing
│       ├── Conflict             409: not in the state that the thing is in
│       └── ServerFault          5xx: the engine or its database failed
├── PayloadError                 a value cannot be JSON, or JSON is no such value
├── DefinitionFault              a function cannot be a workflow or an activity, or has a name twice
├── WorkflowMisuse               workflow code does what cannot be replayed; the run is blocked
│   └── Mismatch                 it asks for something else than its history holds
├── CallFailed                   something that a workflow has called failed for good
│   ├── ActivityFailed           an activity, with all its attempts
│   ├── StepFailed               an inline step, with all its attempts
│   ├── SideEffectFailed         the function of a side effect has raised, or its value is no JSON
│   └── ChildFailed              a child run: it failed, was cancelled, or its time was over
└── WorkflowFailed               the run did not complete; `status` and `error` say why
    ├── WorkflowCancelled        it was cancelled
    ├── WorkflowTerminated       somebody terminated it
    └── WorkflowTimedOut         the time its starter gave it was over

`EngineUnreachable` is a `ConnectionError` and `RequestTimeout` a `TimeoutError` too, for those who
catch by the builtin names. `BadRequest`, `NotFound` and `Conflict` are refusals of `assay.errors`
too: to who catches those it is the same whether an engine in this process says no or one far away.
"""

from __future__ import annotations

import json
from typing import ClassVar

from assay import errors
from assay.errors import AssayError
from assay.sdk.failure import Failure

LONGEST_SAID = 500  # of a body that is not ours, in a message


class ClientFault(AssayError):
    """A call could not be made, or not be answered as it should."""

    code = "client"


class EngineUnreachable(ClientFault, ConnectionError):
    """No connection to the engine could be made; nothing was sent."""

    code = "unreachable"
    sent: ClassVar[bool] = False


class AnswerLost(EngineUnreachable):
    """The connection ended before the whole answer was here; the request may have been done."""

    code = "answer_lost"
    sent = True


class NotAnswered(AnswerLost):
    """A kept connection ended before any byte of the answer came.

    Mostly the engine had closed it just then and has not seen the request; that is likely, never
    certain.
    """

    code = "not_answered"


class RequestTimeout(ClientFault, TimeoutError):
    """The time is up; the request may have been done."""

    code = "timeout"


class RequestRefused(ClientFault):
    """The engine answered with another status than success."""

    code = "refused"

    def __init__(self, status: int, body: str) -> None:
        self.status = status
        self.body = body
        super().__init__(f"HTTP {status}: {said(body)}")

    def __reduce__(self) -> tuple[type[RequestRefused], tuple[int, str]]:
        return type(self), (self.status, self.body)


class BadRequest(RequestRefused, errors.Refusal):
    """The request itself is wrong."""

    code = "bad_request"


class Unauthorized(RequestRefused):
    """Not with this token."""

    code = "unauthorized"


class NotFound(RequestRefused, errors.NotFound):
    """There is no such thing."""

    code = "not_found"


class Conflict(RequestRefused, errors.Conflict):
    """The state that the thing is in forbids it."""

    code = "conflict"


class ServerFault(RequestRefused):
    """The engine or its database failed."""

    code = "server_fault"


class PayloadError(AssayError):
    """A value cannot be written as JSON, or JSON cannot be read as the type that is wanted."""

    code = "payload"


class DefinitionFault(AssayError):
    """A function cannot be a workflow or an activity."""

    code = "definition"


class WorkflowMisuse(AssayError):
    """Workflow code does something that a replay could not do again alike."""

    code = "misuse"


class Mismatch(WorkflowMisuse):
    """Workflow code asks for something else than its history holds."""

    code = "mismatch"


class CallFailed(AssayError):
    """Something that a workflow has called failed for good.

    `name` says what was called, `error` what it said; `failure` holds the error's type, message,
    causes and traceback where the worker told them.
    """

    code = "call_failed"
    what: ClassVar[str] = "call"

    def __init__(self, name: str, error: str | None, failure: Failure | None = None) -> None:
        self.name = name
        self.error = error
        self.failure = failure
        super().__init__(f"{self.what} '{name}' failed: {error}")

    def __reduce__(self) -> tuple[type[CallFailed], tuple[str, str | None, Failure | None]]:
        return type(self), (self.name, self.error, self.failure)


class ActivityFailed(CallFailed):
    """An activity failed, and has no attempts left."""

    code = "activity_failed"
    what = "activity"


class StepFailed(CallFailed):
    """An inline step failed, and has no attempts left."""

    code = "step_failed"
    what = "step"


class SideEffectFailed(CallFailed):
    """The function of a side effect has raised, or what it returned cannot be JSON."""

    code = "side_effect_failed"
    what = "side effect"


class ChildFailed(CallFailed):
    """A child run did not complete."""

    code = "child_failed"
    what = "child workflow"


class WorkflowFailed(AssayError):
    """A run ended otherwise than by completing."""

    code = "workflow_failed"

    def __init__(self, workflow_id: str, status: str, error: str | None = None) -> None:
        self.workflow_id = workflow_id
        self.status = status
        self.error = error
        why = "" if error is None else f": {error}"
        super().__init__(f"workflow {workflow_id!r} is {status}{why}")

    def __reduce__(self) -> tuple[type[WorkflowFailed], tuple[str, str, str | None]]:
        return type(self), (self.workflow_id, self.status, self.error)


class WorkflowCancelled(WorkflowFailed):
    """The run was cancelled; `error` is the reason, if one was given."""

    code = "workflow_cancelled"


class WorkflowTerminated(WorkflowFailed):
    """Somebody terminated the run; `error` is the reason."""

    code = "workflow_terminated"


class WorkflowTimedOut(WorkflowFailed):
    """The time that its starter gave the run was over."""

    code = "workflow_timed_out"


_BY_STATUS: dict[int, type[RequestRefused]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Unauthorized,
    404: NotFound,
    409: Conflict,
    413: BadRequest,
    415: BadRequest,
    422: BadRequest,
}


def refusal(status: int, body: bytes) -> RequestRefused:
    """The error for an answer that is no success."""
    text = body.decode(errors="replace")
    if status >= 500:
        return ServerFault(status, text)
    return _BY_STATUS.get(status, RequestRefused)(status, text)


def said(body: str) -> str:
    """What an error body says: its text if it is one of ours, else the beginning of it."""
    try:
        said = json.loads(body)["error"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return body[:LONGEST_SAID]
    return said if isinstance(said, str) else body[:LONGEST_SAID]
