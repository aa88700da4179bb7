"""Queries: what is asked for beside a body, one definition each, read as `parameters.py` says.

Like a body, each is named in the route table, which hands it to its handler; values that a type
alone cannot judge are checked by a method.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from assay.model.states import RunStatus
from assay.wire.codec import object_in_text
from assay.wire.fields import JsonText
from assay.wire.parameters import Query
from assay.wire.values import LONGEST_HOLD_SECS, MAIN

PAGE = 50
LONGEST_PAGE = 1_000


class Scope(Struct, frozen=True):
    """In which namespace something is looked for; a blank name counts as absent."""

    namespace: str = MAIN


class Hold(Struct, frozen=True):
    """How long an answer may be held."""

    wait_secs: Annotated[float, Meta(ge=0, le=LONGEST_HOLD_SECS)] = 0.0


class Page(Struct, frozen=True):
    """Which part of a history is asked for; without any of its parameters, all of it."""

    limit: (
        Annotated[
            int,
            Meta(ge=1, description=f"{PAGE} in a page; above {LONGEST_PAGE} counts as that."),
        ]
        | None
    ) = None
    cursor: Annotated[int, Meta(description="The `seq` to go on from, itself left out.")] | None = (
        None
    )
    order: Literal["asc", "desc"] | None = None

    @property
    def size(self) -> int | None:
        """How many events at most."""
        if self.limit is not None:
            return min(self.limit, LONGEST_PAGE)
        return None if self.cursor is None and self.order is None else PAGE

    @property
    def descending(self) -> bool:
        """Whether the newest come first."""
        return self.order == "desc"


class RunFilter(Struct, frozen=True):
    """Which runs are listed, and which part of them; a name that is blank counts as absent."""

    namespace: str = MAIN
    status: RunStatus | None = None
    type: str | None = None
    claimed_by: Annotated[str, Meta(description="The worker that claimed a task last.")] | None = (
        None
    )
    search_attrs: (
        Annotated[JsonText, Meta(description="An object: attributes that a run must all have.")]
        | None
    ) = None
    limit: Annotated[int, Meta(ge=1, le=LONGEST_PAGE)] = PAGE
    offset: Annotated[int, Meta(ge=0)] = 0

    def attributes(self) -> str | None:
        """The search attributes as a JSON object."""
        given = self.search_attrs
        return None if given is None else object_in_text("search_attrs", given)


class Watch(Struct, frozen=True):
    """Which events are wanted; what is absent admits all."""

    namespace: str | None = None
    ns: Annotated[str, Meta(description="The same as `namespace`.")] | None = None
    kind: Annotated[tuple[str, ...], Meta(description="Any of these.")] = ()
    workflow_id: str | None = None


SCOPE = Query(Scope, blank_is_absent=frozenset({"namespace"}))
RUNS = Query(RunFilter, blank_is_absent=frozenset({"namespace", "type", "claimed_by"}))
HOLD = Query(Hold)
PAGE_OF_EVENTS = Query(Page)
WATCH = Query(Watch)
