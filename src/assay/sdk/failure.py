"""An error as it travels: its type, message and traceback, and those of its causes.

A group also tells of its members, and its message goes on with that of the first one.
"""

import traceback
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Raw, Struct

LONGEST_TRACE = 16_000  # characters of one traceback: its end says most
LONGEST_TEXT = 16_000  # characters of one message: its beginning does
CUT = " […]"
DEEPEST_CAUSE = 8  # causes of causes that are told
MOST_TOLD = 16  # errors in all, members of groups and their causes: a batch has room for them

_NULL = Raw(b"null")


class Failure(Struct, omit_defaults=True):
    """One error. `cause` is what it was raised from, or what was being handled then.

    `members` are those of a group.
    """

    type: str
    message: str
    traceback: str | None = None
    cause: "Failure | None" = None
    members: "list[Failure]" = []


class _Raised(Struct, rename={"failure": "assay:raised"}):
    failure: Failure


_RAISED = b'{"assay:raised":'
_decode_raised = msgspec.json.Decoder(_Raised).decode
_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(Failure).decode


def failure_of(error: BaseException) -> Failure:
    """What there is to tell of an error."""
    return _told(error, 0, iter(range(1, MOST_TOLD)))


def _told(error: BaseException, depth: int, room: Iterator[int]) -> Failure:
    """One error, and what is below it while there is room."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    frames = "".join(traceback.format_tb(error.__traceback__))

    def told(errors: Iterable[BaseException]) -> list[Failure]:
        return [_told(each, depth + 1, room) for each in errors if next(room, None)]

    is_last = depth >= DEEPEST_CAUSE
    return Failure(
        type=type(error).__name__,
        message=_said(error, depth),
        traceback=readable(frames[-LONGEST_TRACE:]) or None,
        cause=None if cause is None or is_last else next(iter(told([cause])), None),
        members=[] if is_last else told(members),
    )


def text_of(error: BaseException, depth: int = 0) -> str:
    """What an error says; one that says nothing says its type."""
    return _said(error, depth) or type(error).__name__


def _said(error: BaseException, depth: int) -> str:
    """Its message, if it has one: `__str__` is the user's own and may raise."""
    try:
        said = readable(str(error))
    except Exception:  # noqa: BLE001 - see above
        return ""
    if isinstance(error, BaseExceptionGroup) and depth < DEEPEST_CAUSE:
        said = f"{said}: {text_of(error.exceptions[0], depth + 1)}"
    return cut(said, LONGEST_TEXT)


def written(failure: Failure) -> Raw:
    """As JSON."""
    return Raw(_encode(failure))


def read(raw: Raw) -> Failure | None:
    """From JSON; what is none of ours tells nothing."""
    if raw == _NULL:
        return None
    try:
        return _decode(raw)
    except msgspec.ValidationError:
        return None


def as_value(failure: Failure) -> Raw:
    """In the place of a value that there is none of, because its function has raised."""
    return Raw(_encode(_Raised(failure)))


def of_value(raw: Raw) -> Failure | None:
    """What was raised in the place of a value; nothing if it is one."""
    return _decode_raised(raw).failure if bytes(raw).startswith(_RAISED) else None


def cut(text: str, longest: int) -> str:
    """Its beginning, if it is longer than that."""
    return text if len(text) <= longest else f"{text[: longest - len(CUT)]}{CUT}"


def readable(text: str) -> str:
    """Without halves of characters, which no wire can carry."""
    return text.encode("utf-8", "replace").decode()
