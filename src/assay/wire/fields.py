"""The types of fields, with what the description of the interface says of them.

What is said here is not checked by the decoder: a value out of bounds is no wrong shape, and is
refused by the rules of `values.py` once the whole body has the right one.
"""

from typing import Annotated

from msgspec import Meta, Raw, Struct

from assay.model.schedule import OverlapPolicy
from assay.model.time import LONGEST_SECONDS
from assay.wire.values import DEFAULT_QUEUE, LONGEST_HOLD_SECS, LONGEST_NAME, MAIN


def said(**schema: object) -> Meta:
    """Words of JSON Schema for a field; with a type among them they stand for its whole schema."""
    return Meta(extra_json_schema=schema)


class Nothing(Struct, forbid_unknown_fields=True):
    """An empty object: how some clients write an empty list."""


Whole = Annotated[int | float, said(type="integer")]
"""An integer: `3.0` counts as 3 (see `values.whole`)."""

Seq = Annotated[int | float, said(type="integer", minimum=1)]

Object = Annotated[Raw, said(type="object")]
"""A JSON object kept as its text (see `codec.check_object`)."""

ObjectOrNull = Annotated[Raw, said(type=["object", "null"])]
Failure = Annotated[
    Raw,
    said(
        type=["object", "null"],
        description="More than the error's text: `type`, `message`, `traceback`, `cause` and, of a "
        "group, `members`.",
    ),
]
"""The object of an error, kept as its text (see `codec.check_failure`)."""

JsonText = Annotated[str, said(contentMediaType="application/json")]

Time = Annotated[float, said(description="Unix seconds, UTC.")]
Seconds = Annotated[float, said(minimum=0, maximum=LONGEST_SECONDS)]
Span = Annotated[float, said(exclusiveMinimum=0, maximum=LONGEST_SECONDS)]
Share = Annotated[float, said(minimum=0, maximum=1)]
HoldSecs = Annotated[float, said(minimum=0, maximum=LONGEST_HOLD_SECS, default=0)]

Name = Annotated[str, said(minLength=1, maxLength=LONGEST_NAME)]
Label = Annotated[str, said(maxLength=LONGEST_NAME)]
Namespace = Annotated[str, said(default=MAIN)]
Queue = Annotated[str, said(default=DEFAULT_QUEUE, minLength=1, maxLength=LONGEST_NAME)]
Overlap = Annotated[str, said(enum=list(OverlapPolicy))]
