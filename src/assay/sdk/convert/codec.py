"""The codec: what a client and a worker ask to write a value, and to read one."""

from typing import Any, Protocol

from assay.sdk.convert.blame import blame
from assay.sdk.convert.kinds import reader
from assay.sdk.convert.misfit import misfit
from assay.sdk.convert.models import Payload
from assay.sdk.convert.writing import write


class Codec(Protocol):
    """Python values to JSON texts and back; what cannot be done raises PayloadError."""

    def encode(self, value: object) -> bytes:
        """The value as JSON."""
        ...

    def decode(self, text: Payload | None, kind: Any = Any) -> Any:
        """A value of that kind; no text is null, no kind is plain JSON values."""
        ...


class JsonCodec:
    """JSON as msgspec writes and reads it, and pydantic for models of pydantic."""

    def encode(self, value: object) -> bytes:
        """The value as JSON, or a PayloadError that says where it is none, and what to do."""
        try:
            return write(value)
        except Exception as error:
            raise blame(value, error) from error

    def decode(self, text: Payload | None, kind: Any = Any) -> Any:
        """A value of that kind, or a PayloadError that says where the text does not fit."""
        read = reader(kind)
        try:
            return read(b"null" if text is None else text)
        except Exception as error:
            raise misfit(kind, error) from error


DEFAULT = JsonCodec()
