"""Bodies: their size, their media type, and clients that leave half-way."""

import asyncio
from collections.abc import Iterator

import pytest

from assay.server.asgi import Header, Received, Scope
from assay.server.body import DISCARDED_BYTES, LARGEST_BODY, HungUp, is_json, read_body
from assay.server.problems import Turned

JSON: list[Header] = [(b"content-type", b"application/json")]
MIB = b"x" * (1 << 20)


class Pieces:
    """A body that comes in pieces; after them the client is gone, or goes on for ever."""

    def __init__(self, *pieces: bytes, whole: bool = True, endless: bool = False) -> None:
        self.taken = 0
        self._endless = endless
        self._messages = self._all(pieces, whole=whole)

    def _all(self, pieces: tuple[bytes, ...], *, whole: bool) -> Iterator[Received]:
        for place, piece in enumerate(pieces):
            more = self._endless or not whole or place < len(pieces) - 1
            yield {"type": "http.request", "body": piece, "more_body": more}
        while self._endless:
            yield {"type": "http.request", "body": MIB, "more_body": True}
        while True:
            yield {"type": "http.disconnect"}

    async def receive(self) -> Received:
        message = next(self._messages)
        self.taken += len(message.get("body", b""))
        return message


def read(body: Pieces, headers: list[Header] = JSON, *, required: bool = True) -> bytes:
    scope: Scope = {"headers": headers}
    return asyncio.run(read_body(scope, body.receive, required=required))


def refused(body: Pieces, headers: list[Header] = JSON, *, required: bool = True) -> int:
    with pytest.raises(Turned) as turned:
        read(body, headers, required=required)
    return turned.value.status


def test_pieces_are_put_together() -> None:
    assert read(Pieces(b"ab")) == b"ab"
    assert read(Pieces(b"a", b"", b"b")) == b"ab"
    assert read(Pieces(MIB, MIB)) == MIB + MIB


def test_a_body_that_is_too_large() -> None:
    assert refused(Pieces(MIB, MIB, b"x")) == 413
    assert refused(Pieces(MIB + MIB + b"x")) == 413
    assert refused(Pieces(MIB, MIB, b"x"), [(b"content-type", b"text/plain")]) == 413


def test_a_body_without_an_end_is_not_read_for_ever() -> None:
    endless = Pieces(b"x", endless=True)
    assert refused(endless) == 413
    assert endless.taken <= LARGEST_BODY + DISCARDED_BYTES + 2 * len(MIB)


def test_who_asks_before_sending_is_refused_before_sending() -> None:
    body = Pieces(MIB, MIB, MIB)
    length = (b"content-length", b"%d" % (3 << 20))
    assert refused(body, [*JSON, length, (b"expect", b"100-continue")]) == 413
    assert body.taken == 0


def test_who_declares_too_much_and_sends_nothing_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never() -> Received:
        return await asyncio.Future()

    monkeypatch.setattr("assay.server.body.DISCARD_SECS", 0.01)
    scope: Scope = {"headers": [*JSON, (b"content-length", b"9" * 19)]}
    with pytest.raises(Turned, match="larger than"):
        asyncio.run(read_body(scope, never, required=True))


def test_a_client_that_leaves() -> None:
    for body in (Pieces(), Pieces(b"a", whole=False)):
        with pytest.raises(HungUp):
            read(body)


@pytest.mark.parametrize(
    ("media", "body", "required", "good"),
    [
        (b"application/json", b"{}", True, True),
        (b"application/json", b"", True, True),
        (b"", b"{}", True, False),
        (b"", b"", True, False),
        (b"", b"{}", False, True),
        (b"", b"", False, True),
        (b"text/plain", b"{}", False, False),
        (b"text/plain", b"", False, True),
        (b"text/plain", b"", True, True),
    ],
)
def test_media_types(*, media: bytes, body: bytes, required: bool, good: bool) -> None:
    headers = [(b"content-type", media)] if media else []
    if good:
        assert read(Pieces(body), headers, required=required) == body
    else:
        assert refused(Pieces(body), headers, required=required) == 415


def test_which_types_are_json() -> None:
    for good in ("application/json", "APPLICATION/JSON; charset=utf-8", "application/a+json"):
        assert is_json(good)
    for bad in ("text/json", "application/jsonx", "application/xml", "", "+json"):
        assert not is_json(bad)
