"""The client's HTTP against a server of a few lines: bytes, connections, and how they end."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time

import pytest

from assay.errors import UsageFault
from assay.sdk import http, http_connection
from assay.sdk.faults import (
    AnswerLost,
    ClientFault,
    EngineUnreachable,
    NotAnswered,
    RequestTimeout,
)
from assay.sdk.http import HttpTransport
from assay.sdk.http_address import read_url
from tests.unit.sdk.scripted import (
    CLOSING,
    CUT,
    PLAIN,
    SECS,
    Run,
    Scripted,
    answer,
    asking,
    read_request,
    saying,
)

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'7\r\n{"task"\r\n7;x=1\r\n: null}\r\n0\r\nTrailer: 1\r\n\r\n'
)
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"


def test_a_request_is_written_as_it_should_be(run: Run) -> None:
    server = saying(PLAIN, PLAIN, PLAIN)

    async def story() -> None:
        async with asking(server, token="assay_1") as transport:
            await transport.request("GET", "/workflows/a%2Fb?x=1")
            await transport.request("POST", "/workflows/a/cancel")
            await transport.request("PATCH", "/schedules/s", b'{"a":1}')

    run(story())
    head = f"host: 127.0.0.1:{server.port}\r\nauthorization: Bearer assay_1\r\n"
    json = "content-type: application/json\r\n"
    assert [request.decode() for request in server.asked] == [
        f"GET /api/v1/workflows/a%2Fb?x=1 HTTP/1.1\r\n{head}\r\n",
        f"POST /api/v1/workflows/a/cancel HTTP/1.1\r\n{head}content-length: 0\r\n\r\n",
        f"PATCH /api/v1/schedules/s HTTP/1.1\r\n{head}{json}content-length: 7\r\n\r\n" + '{"a":1}',
    ]


def test_bodies_by_length_in_chunks_and_none_at_all(run: Run) -> None:
    large = b"x" * 1_000_000

    async def story() -> None:
        said = (PLAIN, CHUNKED, answer(204), INTERIM + PLAIN, answer(200, large), CLOSING)
        async with asking(saying(*said)) as transport:
            assert await transport.request("GET", "/") == (200, b"null")
            assert await transport.request("GET", "/") == (200, b'{"task": null}')
            assert await transport.request("DELETE", "/") == (204, b"")
            assert await transport.request("GET", "/") == (200, b"null")
            assert await transport.request("POST", "/", large) == (200, large)
            assert await transport.request("GET", "/") == (201, b"[1]")

    run(story())


def test_connections_are_kept_and_as_many_as_are_needed(run: Run) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await read_request(reader)
            writer.write(PLAIN)

    server = Scripted(serve)

    async def story() -> None:
        async with asking(server) as transport:
            for _ in range(5):
                await transport.request("GET", "/")
            assert server.opened == 1
            await asyncio.gather(*(transport.request("GET", "/") for _ in range(3)))
            await asyncio.gather(*(transport.request("GET", "/") for _ in range(3)))
            assert server.opened == 3

    run(story())


def test_small_requests_are_not_held_back(run: Run) -> None:
    async def story() -> None:
        async with asking(saying(PLAIN)) as transport:
            await transport.request("GET", "/")
            [connection] = transport._connections
            held = connection._transport.get_extra_info("socket")
            assert held.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    run(story())


def test_a_connection_that_the_server_ends_is_not_used_again(run: Run) -> None:
    server = saying(CLOSING, PLAIN)

    async def story() -> None:
        async with asking(server) as transport:
            await transport.request("GET", "/")
            await transport.request("GET", "/")
        assert server.opened == 2

    run(story())


def test_a_server_that_was_started_again_is_found(run: Run) -> None:
    server = saying(PLAIN, PLAIN)

    async def story() -> None:
        async with asking(server) as transport:
            await transport.request("GET", "/")
            await server.stop()
            await server.start()
            await transport.request("POST", "/")
        assert server.opened == 2

    run(story())


def test_an_end_that_a_busy_loop_has_not_heard_of_is_heard_first(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "DOUBTFUL_SECS", 0.1)
    busy, ended = threading.Event(), threading.Event()

    def serve(listener: socket.socket) -> None:
        for connection in range(2):
            peer, _ = listener.accept()
            with peer:
                peer.recv(1000)
                peer.sendall(PLAIN)
                if connection == 0:
                    busy.wait(SECS)
            ended.set()

    async def story() -> None:
        async with contextlib.AsyncExitStack() as stack:
            transport = HttpTransport(f"http://127.0.0.1:{listener.getsockname()[1]}")
            stack.push_async_callback(transport.close)
            await transport.request("GET", "/")
            busy.set()
            ended.wait(SECS)
            time.sleep(0.15)  # noqa: ASYNC251 - a loop that is kept busy
            assert (await transport.request("POST", "/")).status == 200

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,), daemon=True)
        server.start()
        run(story())
        server.join(SECS)


def test_nobody_there_is_unreachable_and_nothing_was_sent(run: Run) -> None:
    async def story() -> None:
        transport = HttpTransport("http://127.0.0.1:1")
        with pytest.raises(
            EngineUnreachable, match=r"unreachable at http://127\.0\.0\.1:1"
        ) as caught:
            await transport.request("GET", "/")
        assert not caught.value.sent
        assert isinstance(caught.value, ConnectionError)
        await transport.close()

    run(story())


@pytest.mark.parametrize("said", [CUT, PLAIN[:-1], PLAIN[:10], b"SSH-2.0-nobody\r\n"])
def test_an_answer_that_is_cut_short_is_lost(run: Run, said: bytes) -> None:
    async def story() -> None:
        async with asking(saying(said)) as transport:
            with pytest.raises(AnswerLost) as caught:
                await transport.request("POST", "/x")
            assert type(caught.value) is AnswerLost
            assert caught.value.sent
            assert "POST /x" in str(caught.value)

    run(story())


def test_a_kept_connection_that_ends_without_a_byte_is_told_apart(run: Run) -> None:
    async def story() -> None:
        async with asking(saying(PLAIN, CUT)) as transport:
            await transport.request("GET", "/")
            with pytest.raises(NotAnswered):
                await transport.request("GET", "/")
        async with asking(saying(PLAIN, PLAIN[:4])) as transport:
            await transport.request("GET", "/")
            with pytest.raises(AnswerLost) as caught:
                await transport.request("GET", "/")
            assert type(caught.value) is AnswerLost

    run(story())


def test_what_comes_too_late_is_a_time_out(run: Run) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(PLAIN)
        server.asked.append(await read_request(reader))
        await reader.read()  # the client hangs up
        server.asked.append(b"gone")

    server = Scripted(serve)

    async def story() -> None:
        async with asking(server) as transport:
            await transport.request("GET", "/")
            began = time.monotonic()
            with pytest.raises(RequestTimeout, match="GET /slow") as caught:
                await transport.request("GET", "/slow", secs=0.1)
            assert isinstance(caught.value, TimeoutError)
            assert 0.09 < time.monotonic() - began < 2
            await until_gone()

    async def until_gone() -> None:
        while server.asked[-1] != b"gone":
            await asyncio.sleep(0.005)

    run(story())


def test_a_longer_time_may_follow_a_shorter_one(run: Run) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for pause in (0, 0.3):
            await read_request(reader)
            await asyncio.sleep(pause)
            writer.write(PLAIN)

    async def story() -> None:
        async with asking(Scripted(serve)) as transport:
            await transport.request("GET", "/", secs=0.1)
            await transport.request("GET", "/", secs=5)

    run(story())


def test_who_is_cancelled_hangs_up(run: Run) -> None:
    gone = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        await reader.read()
        gone.append(True)

    async def story() -> None:
        async with asking(Scripted(serve)) as transport:
            task = asyncio.create_task(transport.request("GET", "/"))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while not gone:
                await asyncio.sleep(0.005)

    run(story())


def test_what_nobody_asked_for_answers_nothing(run: Run) -> None:
    server = saying(PLAIN + answer(500, b"not yours"), PLAIN)

    async def story() -> None:
        async with asking(server) as transport:
            assert (await transport.request("GET", "/")).status == 200
            assert (await transport.request("GET", "/")).status == 200
        assert server.opened == 2

    run(story())


def test_idle_connections_are_ended(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connection, "IDLE_SECS", 0.05)

    async def story() -> None:
        async with asking(saying(PLAIN)) as transport:
            await transport.request("GET", "/", secs=0.06)
            assert transport._idle
            while transport._connections:
                await asyncio.sleep(0.005)
            assert not transport._idle

    run(story())


def test_closing_ends_what_is_under_way_and_what_comes_after(run: Run) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def story() -> None:
        async with asking(Scripted(serve)) as transport:
            tasks = [asyncio.create_task(transport.request("GET", "/")) for _ in range(3)]
            await asyncio.sleep(0.05)
            await transport.close()
            for task in tasks:
                with pytest.raises(ClientFault, match="closed"):
                    await task
            with pytest.raises(ClientFault, match="closed"):
                await transport.request("GET", "/")
            await transport.close()

    run(story())


def test_a_client_belongs_to_one_loop() -> None:
    transport = HttpTransport("http://127.0.0.1:1")

    async def ask() -> None:
        await transport.request("GET", "/")

    with pytest.raises(EngineUnreachable):
        asyncio.run(ask())
    with pytest.raises(UsageFault, match="event loop"):
        asyncio.run(ask())
    asyncio.run(transport.close())


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "authority"),
    [
        ("http://engine", "engine", 80, "", "engine"),
        ("http://engine:8080/", "engine", 8080, "", "engine:8080"),
        ("http://engine:8080//", "engine", 8080, "/", "engine:8080"),
        ("https://engine/a b/c/", "engine", 443, "/a%20b/c", "engine"),
        ("https://engine/a%2Fb", "engine", 443, "/a%2Fb", "engine"),
        ("http://[::1]:8080", "::1", 8080, "", "[::1]:8080"),
        ("http://bücher.example", "xn--bcher-kva.example", 80, "", "xn--bcher-kva.example"),
    ],
)
def test_urls_are_read(url: str, host: str, port: int, path: str, authority: str) -> None:
    assert read_url(url) == (host, port, url.startswith("https"), path, authority)


@pytest.mark.parametrize(
    "url",
    ["", "engine:8080", "ftp://engine", "http://", "http://e:port", "http://u:p@e", "http://e?x=1"],
)
def test_urls_of_nothing_are_refused(url: str) -> None:
    with pytest.raises(UsageFault, match="not the URL of an engine"):
        HttpTransport(url)


@pytest.mark.parametrize("token", ["a\r\nb", "ä"])
def test_tokens_that_would_break_a_request_are_refused(token: str) -> None:
    with pytest.raises(UsageFault, match="token"):
        HttpTransport("http://engine", token)
