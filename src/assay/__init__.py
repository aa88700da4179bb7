"""assay: a durable workflow engine.

    connect, blocking           a client of an engine that is served
    open                        an engine in this process
    workflow, activity          mark functions as what they are
    ApplicationError            fail an attempt, and say what follows
    ActivityOptions             annotate options that several calls share; StepOptions likewise

Names are loaded when they are first used: a server does not load the SDK, nor a client an engine.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from assay import blocking, errors, testing
    from assay.embedded.app import App, open  # noqa: A004 - assay.open reads as the builtin does
    from assay.errors import AssayError
    from assay.sdk.activity_context import ActivityContext
    from assay.sdk.application_error import ApplicationError
    from assay.sdk.client import Client, connect
    from assay.sdk.client.handle import WorkflowHandle
    from assay.sdk.context import WorkflowContext
    from assay.sdk.definition import activity, workflow
    from assay.sdk.faults import (
        ActivityFailed,
        BadRequest,
        CallFailed,
        ChildFailed,
        ClientFault,
        Conflict,
        EngineUnreachable,
        Mismatch,
        NotFound,
        PayloadError,
        RequestRefused,
        RequestTimeout,
        SideEffectFailed,
        StepFailed,
        WorkflowCancelled,
        WorkflowFailed,
        WorkflowMisuse,
        WorkflowTerminated,
        WorkflowTimedOut,
    )
    from assay.sdk.options import ActivityOptions, StepOptions

_HOMES = {
    "ActivityContext": "assay.sdk.activity_context",
    "ActivityFailed": "assay.sdk.faults",
    "ActivityOptions": "assay.sdk.options",
    "App": "assay.embedded.app",
    "ApplicationError": "assay.sdk.application_error",
    "AssayError": "assay.errors",
    "BadRequest": "assay.sdk.faults",
    "CallFailed": "assay.sdk.faults",
    "ChildFailed": "assay.sdk.faults",
    "Client": "assay.sdk.client",
    "ClientFault": "assay.sdk.faults",
    "Conflict": "assay.sdk.faults",
    "EngineUnreachable": "assay.sdk.faults",
    "Mismatch": "assay.sdk.faults",
    "NotFound": "assay.sdk.faults",
    "PayloadError": "assay.sdk.faults",
    "RequestRefused": "assay.sdk.faults",
    "RequestTimeout": "assay.sdk.faults",
    "SideEffectFailed": "assay.sdk.faults",
    "StepFailed": "assay.sdk.faults",
    "StepOptions": "assay.sdk.options",
    "WorkflowCancelled": "assay.sdk.faults",
    "WorkflowContext": "assay.sdk.context",
    "WorkflowFailed": "assay.sdk.faults",
    "WorkflowHandle": "assay.sdk.client.handle",
    "WorkflowMisuse": "assay.sdk.faults",
    "WorkflowTerminated": "assay.sdk.faults",
    "WorkflowTimedOut": "assay.sdk.faults",
    "activity": "assay.sdk.definition",
    "connect": "assay.sdk.client",
    "open": "assay.embedded.app",
    "workflow": "assay.sdk.definition",
}
_MODULES = ("blocking", "errors", "testing")

__all__ = [
    "ActivityContext",
    "ActivityFailed",
    "ActivityOptions",
    "App",
    "ApplicationError",
    "AssayError",
    "BadRequest",
    "CallFailed",
    "ChildFailed",
    "Client",
    "ClientFault",
    "Conflict",
    "EngineUnreachable",
    "Mismatch",
    "NotFound",
    "PayloadError",
    "RequestRefused",
    "RequestTimeout",
    "SideEffectFailed",
    "StepFailed",
    "StepOptions",
    "WorkflowCancelled",
    "WorkflowContext",
    "WorkflowFailed",
    "WorkflowHandle",
    "WorkflowMisuse",
    "WorkflowTerminated",
    "WorkflowTimedOut",
    "activity",
    "blocking",
    "connect",
    "errors",
    "open",
    "testing",
    "workflow",
]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"assay.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"assay has no {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
