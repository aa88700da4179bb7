"""One thing the event stream tells, apart from its number and its moment."""

from collections.abc import Mapping

from msgspec import Struct

Details = Mapping[str, str | int | None]


class Frame(Struct, frozen=True, array_like=True, gc=False):
    """What happened to which run. The number and the moment are those of the commit it is part of.

    `kind` is a word: what a later version tells can be passed on by this one.
    """

    kind: str
    namespace: str
    workflow_id: str
    details: Details
