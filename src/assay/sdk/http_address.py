"""Where an engine is, taken apart."""

from typing import NamedTuple
from urllib.parse import quote, urlsplit

from assay.errors import UsageFault

PORTS = {"http": 80, "https": 443}


class Address(NamedTuple):
    """Where an engine is."""

    host: str
    port: int
    secure: bool
    path: str
    authority: str


def read_url(url: str) -> Address:
    """The parts of a URL; exactly one slash at its end is left out."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
        port = parts.port
    except ValueError as error:
        raise UsageFault(f"{url!r} is not the URL of an engine: {error}") from None
    if parts.scheme not in PORTS or not host or parts.username is not None:
        raise UsageFault(f"{url!r} is not the URL of an engine: http(s)://HOST[:PORT][/PATH]")
    if parts.query or parts.fragment:
        raise UsageFault(f"{url!r} is not the URL of an engine: it ends in a query or a fragment")
    named = f"[{host}]" if ":" in host else host
    authority = named if port is None else f"{named}:{port}"
    path = quote(parts.path.removesuffix("/"), safe="/%:@!$&'()*+,;=~")
    port = PORTS[parts.scheme] if port is None else port
    return Address(host, port, parts.scheme == "https", path, authority)
