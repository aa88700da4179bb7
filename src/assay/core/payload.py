"""How event payloads are written: plain values, and JSON texts that travel untouched."""

import msgspec

_encode = msgspec.json.encode


def raw(text: str | None) -> msgspec.Raw | None:
    """A user's JSON text as a value inside a payload."""
    return None if text is None else msgspec.Raw(text.encode())


def failure_of(text: str | None) -> dict[str, msgspec.Raw]:
    """The field of a payload that says more of an error, where there is more to say."""
    return {} if text is None else {"failure": msgspec.Raw(text.encode())}


def payload(**fields: object) -> str:
    """A payload object with these fields, in this order."""
    return _encode(fields).decode()
