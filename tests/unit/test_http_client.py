"""The tests' own HTTP client against a server of a few lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.support.http import NOTHING, Http, Lost, request_bytes

SECS = 5.0
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def against(serve: Serve, story: Callable[[Http], Awaitable[None]]) -> None:
    """Run a story against a server that treats each connection by `serve`."""

    async def both() -> None:
        async def treat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await serve(reader, writer)
            except (EOFError, ConnectionError):
                pass  # the client hung up
            finally:
                writer.close()

        server = await asyncio.start_server(treat, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(SECS), server, Http("127.0.0.1", port) as http:
            await story(http)

    asyncio.run(both())


def saying(*answers: bytes) -> Serve:
    """A server that answers the requests of each connection from a list, then hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()

    return serve


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'7\r\n{"task"\r\n7;x=1\r\n: null}\r\n0\r\nTrailer: 1\r\n\r\n'
)
CLOSING = b"HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n[1]"


def test_bodies_by_length_chunks_and_end_of_connection() -> None:
    async def story(http: Http) -> None:
        assert (await http.request("GET", "/")).json() is None
        assert (await http.request("GET", "/")).json() == {"task": None}
        answer = await http.request("GET", "/")
        assert (answer.status, answer.json()) == (201, [1])

    against(saying(PLAIN, CHUNKED, CLOSING), story)


def test_connections_are_kept_and_used_again() -> None:
    opened = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        await saying(*[PLAIN] * 10)(reader, writer)

    async def story(http: Http) -> None:
        for _ in range(3):
            await http.request("GET", "/")
        await asyncio.gather(*(http.request("GET", "/") for _ in range(3)))

    against(serve, story)
    assert opened == 3


def test_a_connection_that_ended_meanwhile_is_not_used_again() -> None:
    async def story(http: Http) -> None:
        for _ in range(3):
            await http.request("GET", "/")
            await asyncio.sleep(0.02)  # lets the server's end of the connection arrive

    against(saying(PLAIN), story)


def test_an_answer_cut_short_is_lost() -> None:
    async def story(http: Http) -> None:
        with pytest.raises(Lost):
            await http.request("GET", "/")

    against(saying(PLAIN[:-2]), story)


def test_nobody_there_is_lost() -> None:
    async def story(http: Http) -> None:
        with pytest.raises(Lost):
            await Http("127.0.0.1", 1).request("GET", "/")

    against(saying(), story)


def test_a_late_answer_is_a_time_out() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def story(http: Http) -> None:
        with pytest.raises(TimeoutError):
            await http.request("GET", "/", timeout=0.05)

    against(serve, story)


def test_half_closing_still_reads_what_was_answered() -> None:
    async def story(http: Http) -> None:
        connection = await http.open()
        await connection.send(request_bytes("GET", "/"))
        connection.finish()
        assert (await connection.answer()).body == b"null"
        with pytest.raises(Lost):
            await connection.answer()

    against(saying(PLAIN), story)


def test_hanging_up_reaches_the_server() -> None:
    noticed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        noticed.set()

    async def story(http: Http) -> None:
        connection = await http.open()
        await connection.send(b"GET / HTTP/1.1\r\nhalf a requ")
        connection.hang_up()
        await noticed.wait()

    against(serve, story)


def test_requests_are_written_as_asked() -> None:
    assert b"content" not in request_bytes("POST", "/", NOTHING)
    assert request_bytes("POST", "/", None).endswith(b"content-length: 4\r\n\r\nnull")
    bare = request_bytes("POST", "/", b"{}", {"content-type": ""})
    assert bare == b"POST / HTTP/1.1\r\nhost: assay\r\ncontent-length: 2\r\n\r\n{}"
