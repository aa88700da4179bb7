"""What a workflow and an activity are: a function, the name it goes by, and its types."""

import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar, overload

from assay.sdk.faults import DefinitionFault
from assay.sdk.signatures import signature_kinds

NAME = "__assay_name__"
KIND = "__assay_kind__"
Function = TypeVar("Function", bound=Callable[..., Any])


class WorkflowDefinition:
    """A workflow: `async def (ctx, input)`; the input may be left out."""

    def __init__(self, name: str, handler: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        if not inspect.iscoroutinefunction(_plain(handler)):
            raise DefinitionFault(
                f"workflow {name!r} must be `async def (ctx, input)`: a plain function cannot wait "
                f"for anything. Write it as async def{_place(handler)}"
            )
        self.name = name
        self.handler = handler
        self.place = _place(handler)
        self.takes_input = takes_input("workflow", name, handler)
        kinds, self.result_kind = signature_kinds(handler)
        self.input_kind = kinds[0] if kinds else Any

    def call(self, ctx: object, given: object) -> Coroutine[Any, Any, Any]:
        """Its code, about to begin."""
        return self.handler(ctx, given) if self.takes_input else self.handler(ctx)


class ActivityDefinition:
    """An activity: `(ctx, input)`, `async def` or not; the input may be left out."""

    def __init__(self, name: str, handler: Callable[..., Any]) -> None:
        self.name = name
        self.handler = handler
        self.is_async = inspect.iscoroutinefunction(_plain(handler))
        self.takes_input = takes_input("activity", name, handler)
        kinds, self.result_kind = signature_kinds(handler)
        self.input_kind = kinds[0] if kinds else Any

    def call(self, ctx: object, given: object) -> Any:
        """Do it."""
        return self.handler(ctx, given) if self.takes_input else self.handler(ctx)


def takes_input(what: str, name: str, handler: Callable[..., Any]) -> bool:
    """Whether a handler has a place for an input; one that fits no form is refused."""
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):
        return True  # built in: nobody can tell
    try:
        signature.bind(None, None)
    except TypeError:
        pass
    else:
        return True
    try:
        signature.bind(None)
    except TypeError:
        raise DefinitionFault(
            f"{what} {name!r} must take (ctx, input) or (ctx), not {signature}{_place(handler)}"
        ) from None
    return False


def name_of(target: object) -> str:
    """What a workflow or an activity is called on the wire."""
    if isinstance(target, str):
        return target
    name = getattr(target, NAME, None) or getattr(target, "__name__", None)
    if not isinstance(name, str):
        raise DefinitionFault(f"{target!r} is neither a name nor a decorated function")
    return name


def name_of_step(function: Callable[..., Any]) -> str:
    """What a step is called that was given no name: its function, or the class of an object."""
    while isinstance(function, partial):
        function = function.func
    return name_of(function) if hasattr(function, "__name__") else type(function).__name__


@overload
def workflow(target: Function) -> Function: ...
@overload
def workflow(target: str | None = None) -> Callable[[Function], Function]: ...
def workflow(target: Any = None) -> Any:
    """Mark a function as a workflow; with a name, or by its own."""
    return _marked("workflow", target)


@overload
def activity(target: Function) -> Function: ...
@overload
def activity(target: str | None = None) -> Callable[[Function], Function]: ...
def activity(target: Any = None) -> Any:
    """Mark a function as an activity; with a name, or by its own."""
    return _marked("activity", target)


def _marked(kind: str, target: Any) -> Any:
    def mark(function: Function, name: str | None = None) -> Function:
        setattr(function, NAME, name or function.__name__)
        setattr(function, KIND, kind)
        if kind == "workflow":
            WorkflowDefinition(name_of(function), function)
        else:
            ActivityDefinition(name_of(function), function)
        return function

    if callable(target):
        return mark(target)
    return lambda function: mark(function, target)


def _plain(handler: Any) -> Any:
    """Behind partials, and for an object that can be called its method."""
    while isinstance(handler, partial):
        handler = handler.func
    return handler if inspect.isroutine(handler) else getattr(handler, "__call__", handler)  # noqa: B004 - the method itself is looked at


def _place(handler: Any) -> str:
    code = getattr(_plain(handler), "__code__", None)
    return "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
