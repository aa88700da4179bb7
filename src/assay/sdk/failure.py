"""An error as it travels: its type, message and traceback, and those of its causes."""

import traceback

import msgspec
from msgspec import Raw, Struct

LONGEST_TRACE = 16_000  # characters of one traceback: its end says most
LONGEST_TEXT = 16_000  # characters of one message: its beginning does
CUT = " […]"
DEEPEST_CAUSE = 8  # causes of causes that are told

_NULL = Raw(b"null")


class Failure(Struct, omit_defaults=True):
    """One error. `cause` is what it was raised from, or what was being handled then."""

    type: str
    message: str
    traceback: str | None = None
    cause: "Failure | None" = None


class _Raised(Struct, rename={"failure": "assay:raised"}):
    failure: Failure


_RAISED = b'{"assay:raised":'
_decode_raised = msgspec.json.Decoder(_Raised).decode
_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(Failure).decode


def failure_of(error: BaseException, depth: int = 0) -> Failure:
    """What there is to tell of an error."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    frames = "".join(traceback.format_tb(error.__traceback__))
    return Failure(
        type=type(error).__name__,
        message=_said(error),
        traceback=readable(frames[-LONGEST_TRACE:]) or None,
        cause=None if cause is None or depth >= DEEPEST_CAUSE else failure_of(cause, depth + 1),
    )


def text_of(error: BaseException) -> str:
    """What an error says; one that says nothing says its type."""
    return _said(error) or type(error).__name__


def _said(error: BaseException) -> str:
    """Its message, if it has one: `__str__` is the user's own and may raise."""
    try:
        return cut(readable(str(error)), LONGEST_TEXT)
    except Exception:  # noqa: BLE001 - see above
        return ""


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
