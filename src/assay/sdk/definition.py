"""What a workflow and an activity are: a function, the name it goes by, and its types."""

import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar, overload

from assay.sdk.convert import Codec
from assay.sdk.convert.models import Payload
from assay.sdk.faults import DefinitionFault, PayloadError
from assay.sdk.signatures import signature_kinds

NAME = "__assay_name__"
KIND = "__assay_kind__"
LEFT_OUT = object()
"""In the place of an input: the function's own default is to be taken."""
Function = TypeVar("Function", bound=Callable[..., Any])


class Definition:
    """What workflows and activities have in common: a function that may take an input."""

    def __init__(self, what: str, name: str, handler: Callable[..., Any]) -> None:
        self.name = name
        self.handler = handler
        forms = _forms(what, name, handler)
        self.takes_input = 2 in forms
        self.needs_input = 1 not in forms
        kinds, self.result_kind = signature_kinds(handler)
        self.input_kind = kinds[0] if kinds else Any

    def read(self, codec: Codec, payload: Payload) -> Any:
        """The input as it takes it; for null, if it cannot be that, the function's own default."""
        try:
            return codec.decode(payload, self.input_kind)
        except PayloadError:
            if self.needs_input or codec.decode(payload) is not None:
                raise
            return LEFT_OUT

    def call(self, ctx: object, given: object) -> Any:
        """Do it."""
        is_given = self.takes_input and given is not LEFT_OUT
        return self.handler(ctx, given) if is_given else self.handler(ctx)


class WorkflowDefinition(Definition):
    """A workflow: `async def (ctx, input)`; the input may be left out."""

    def __init__(self, name: str, handler: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        if not inspect.iscoroutinefunction(_plain(handler)):
            raise DefinitionFault(
                f"workflow {name!r} must be `async def (ctx, input)`: a plain function cannot wait "
                f"for anything. Write it as async def{_place(handler)}"
            )
        super().__init__("workflow", name, handler)
        self.place = _place(handler)


class ActivityDefinition(Definition):
    """An activity: `(ctx, input)`, `async def` or not; the input may be left out."""

    def __init__(self, name: str, handler: Callable[..., Any]) -> None:
        super().__init__("activity", name, handler)
        self.is_async = inspect.iscoroutinefunction(_plain(handler))


def _forms(what: str, name: str, handler: Callable[..., Any]) -> set[int]:
    """With how many arguments a handler can be called; one that fits no form is refused."""
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):
        return {2}  # built in: nobody can tell
    forms = {number for number in (1, 2) if _fits(signature, number)}
    if not forms:
        raise DefinitionFault(
            f"{what} {name!r} must take (ctx, input) or (ctx), not {signature}{_place(handler)}"
        )
    return forms


def _fits(signature: inspect.Signature, number: int) -> bool:
    try:
        signature.bind(*[None] * number)
    except TypeError:
        return False
    return True


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
