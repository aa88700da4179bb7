"""Signatures: the kinds that a function of a user takes and gives, read from its annotations.

What cannot be told is Any, never an error: annotations may name things that exist for type
checkers only, and such a name must not cost the other parameters their kinds.
"""

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
ENDLESS = (typing.NoReturn, typing.Never)  # a function that never returns has no kind to read

Kinds = dict[str, Any]


def signature_kinds(function: Callable[..., Any], skip: int = 1) -> tuple[list[Any], Any]:
    """The kinds of the positional parameters after the first `skip`, and of what is returned.

    Of an `async def` that is what it gives when awaited, as its annotation says.
    """
    try:
        names = _positional(function)
        hints = _hints(_underlying(function))
    except (TypeError, ValueError):  # builtins do not tell, and what is no function cannot
        return [], Any
    given = hints.get("return", Any)
    return [hints.get(name, Any) for name in names][skip:], Any if given in ENDLESS else given


def result_kind(function: Any) -> Any:
    """The kind of what a function returns; most functions made on the spot say nothing of it."""
    if isinstance(function, types.FunctionType):
        return _known_result(function) if function.__annotations__ else Any
    return signature_kinds(function)[1]


@functools.lru_cache(maxsize=1024)
def _known_result(function: types.FunctionType) -> Any:
    return signature_kinds(function)[1]


def _positional(function: Callable[..., Any]) -> list[str]:
    """The names of the parameters that can still be given by position."""
    parameters = _signature(function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind in POSITIONAL]


def _underlying(function: Any) -> Any:
    """What the annotations were written at, below partials, methods, wrappers, objects."""
    while True:
        function = inspect.unwrap(function)
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif inspect.isroutine(function) or inspect.isclass(function):
            return function
        else:
            function = type(function).__call__


def _hints(function: Any) -> Kinds:
    """The annotations that can be resolved."""
    if not isinstance(function, types.FunctionType):
        return {}
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 -- an annotation can be any expression of the user
        return _hints_one_by_one(function)


def _hints_one_by_one(function: types.FunctionType) -> Kinds:
    """The same when some of them fail."""
    hints: Kinds = {}
    alone = types.FunctionType(
        function.__code__, function.__globals__, None, None, function.__closure__
    )
    for name, annotation in _annotations(function).items():
        alone.__annotations__ = {name: annotation}
        try:
            hints |= typing.get_type_hints(alone, include_extras=True)
        except Exception:  # noqa: BLE001, S112 -- the same; Any is the answer then
            continue
    return hints


if sys.version_info >= (3, 14):  # annotations are evaluated when asked for, and fail then
    import annotationlib

    _LENIENT = annotationlib.Format.FORWARDREF

    def _signature(function: Callable[..., Any]) -> inspect.Signature:
        return inspect.signature(function, annotation_format=_LENIENT)

    def _annotations(function: types.FunctionType) -> Kinds:
        return annotationlib.get_annotations(function, format=_LENIENT)

else:
    _signature = inspect.signature
    _annotations = inspect.get_annotations
