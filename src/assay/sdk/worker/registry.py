"""What a worker can do: workflows and activities by their names."""

from collections.abc import Callable
from typing import Any

from assay.sdk.definition import (
    KIND,
    ActivityDefinition,
    WorkflowDefinition,
    name_of,
)
from assay.sdk.faults import DefinitionFault


class Registry:
    """Definitions by name; a name is given once."""

    def __init__(self) -> None:
        self.workflows: dict[str, WorkflowDefinition] = {}
        self.activities: dict[str, ActivityDefinition] = {}
        self.listeners: list[Callable[[], None]] = []  # workers that run already

    def define(self, name: str | Callable[..., Any], handler: Callable[..., Any]) -> None:
        """A workflow."""
        known = name_of(name)
        _check_mark("workflow", handler)
        self._refuse_twice("workflow", known, self.workflows.get(known), handler)
        self.workflows[known] = WorkflowDefinition(known, handler)
        self._tell()

    def activity(self, name: str | Callable[..., Any], handler: Callable[..., Any]) -> None:
        """An activity."""
        known = name_of(name)
        _check_mark("activity", handler)
        self._refuse_twice("activity", known, self.activities.get(known), handler)
        self.activities[known] = ActivityDefinition(known, handler)
        self._tell()

    def _tell(self) -> None:
        for listener in self.listeners:
            listener()

    def _refuse_twice(
        self,
        what: str,
        name: str,
        known: WorkflowDefinition | ActivityDefinition | None,
        handler: Callable[..., Any],
    ) -> None:
        if known is not None and known.handler is not handler:
            raise DefinitionFault(
                f"there are two {what}s called {name!r}: {_where(known.handler)} and "
                f"{_where(handler)}; give one of them another name"
            )


def _check_mark(wanted: str, handler: Callable[..., Any]) -> None:
    """What is marked as the other kind is in the wrong place."""
    mark = getattr(handler, KIND, wanted)
    if mark != wanted:
        raise DefinitionFault(
            f"{name_of(handler)!r} is marked as {_a(mark)} and cannot be {_a(wanted)}: "
            f"{_where(handler)}"
        )


def _a(kind: str) -> str:
    return f"an {kind}" if kind == "activity" else f"a {kind}"


def _where(handler: Callable[..., Any]) -> str:
    code = getattr(handler, "__code__", None)
    return repr(handler) if code is None else f"{code.co_filename}:{code.co_firstlineno}"
