"""A crowd listens to the event stream while servers are written to, stopped dead and started again.

Everybody drops the connection again and again and comes back with the last id, often at another
server. In the end all of them have heard the same: every event once, ids ascending.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.api import Api
from tests.support.http import Http, Lost
from tests.support.server import Server
from tests.support.sse import Ear, Heard, listen, open_ear

LISTENERS = 200
WRITERS = 8
RUNS_EACH = 12
SECS = 60.0
SOON_SECS = 1.5  # the contract says one second; a busy test machine is not light load
FILTERS = ("", "", "kind=workflow_started", "kind=workflow_terminated&kind=signal_received")


class Crowd:
    """Listeners, each with a filter, and what each has heard."""

    def __init__(self, servers: Sequence[Server], seed: int) -> None:
        self._servers = servers
        self._dice = random.Random(seed)
        self._connected = 0
        self.heard: list[tuple[str, list[Heard]]] = []

    async def one(self, last_run: str) -> None:
        """Listen from now on, with interruptions, until that run has come and gone."""
        query = self._dice.choice(FILTERS)
        heard: list[Heard] = []
        self.heard.append((query, heard))
        ear: Ear | None = await self._ear(query, None)
        self._connected += 1
        while True:
            try:
                ear = ear or await self._ear(query, heard[-1].id if heard else 0)
                for _ in range(self._dice.randint(1, 80)):
                    heard.append(await ear.next(secs=SECS))
                    if heard[-1].data["workflow_id"] == last_run:
                        return
            except (EOFError, OSError):
                await asyncio.sleep(0.05)  # the server is gone for a moment
            finally:
                if ear is not None:
                    ear.hang_up()
                ear = None

    async def all_there(self) -> None:
        while self._connected < LISTENERS:
            await asyncio.sleep(0.01)

    async def _ear(self, query: str, cursor: int | None) -> Ear:
        server = self._dice.choice(self._servers)
        ear = await listen(server.host, server.port, query, cursor=cursor)
        if isinstance(ear, Ear):
            return ear
        assert ear.status == 503, ear
        raise EOFError("it is just being started")


async def write_on(api: Api, name: str) -> list[str]:
    """Start runs, signal and terminate them; the runs whose start was acknowledged."""
    started = []
    for number in range(RUNS_EACH):
        run = f"{name}-{number}"
        try:
            await api.start(run)
            started.append(run)
            await api.signal(run, "go")
            await api.terminate(run)
        except (Lost, AssertionError, TimeoutError):
            await asyncio.sleep(0.3)  # the server is gone, or is just being started
    return started


async def listen_while_written(servers: Sequence[Server], broken: Server) -> None:
    """One server is killed in the middle, and started again."""
    crowd = Crowd(servers, seed=len(servers))
    listeners = [asyncio.create_task(crowd.one("the-end")) for _ in range(LISTENERS)]
    await crowd.all_there()
    doors = [Http(server.host, server.port) for server in servers]
    writers = [
        asyncio.create_task(write_on(Api(doors[number % len(doors)]), f"run-{number}"))
        for number in range(WRITERS)
    ]
    await asyncio.sleep(0.3)
    broken.kill()
    await asyncio.to_thread(broken.start)  # returns when it is ready
    started = [run for runs in await asyncio.gather(*writers) for run in runs]
    last = Api(doors[0])
    await last.start("the-end")
    await last.signal("the-end", "go")
    await asyncio.wait_for(asyncio.gather(*listeners), SECS)
    for door in doors:
        await door.__aexit__(None, None, None)
    check(crowd, await everything(servers[0]), started)


async def everything(server: Server) -> list[Heard]:
    """The whole stream, read in one go."""
    heard: list[Heard] = []
    async with await open_ear(server.host, server.port, cursor=0) as ear:
        while not heard or heard[-1].data["workflow_id"] != "the-end":
            heard.append(await ear.next())
        heard.append(await ear.next())
    return heard


def check(crowd: Crowd, told: list[Heard], started: list[str]) -> None:
    assert [heard.id for heard in told] == list(range(1, len(told) + 1))
    starts = [each.data["workflow_id"] for each in told if each.kind == "workflow_started"]
    assert len(set(starts)) == len(starts)
    assert set(started) <= set(starts)
    assert len(started) > WRITERS * RUNS_EACH // 3
    for query, heard in crowd.heard:
        kinds = {word.removeprefix("kind=") for word in query.split("&")} - {""}
        expected = [each for each in told if not kinds or each.kind in kinds]
        end = next(n for n, each in enumerate(expected) if each.data["workflow_id"] == "the-end")
        assert heard == expected[: end + 1], query


def test_a_crowd_at_two_servers_misses_nothing_and_hears_nothing_twice(
    postgres_url: str, tmp_path: Path
) -> None:
    servers = [Server(postgres_url, tmp_path / f"{name}.log") for name in ("one", "two")]
    with servers[0].running(), servers[1].running():
        asyncio.run(asyncio.wait_for(listen_while_written(servers, servers[1]), SECS))


def test_a_crowd_at_one_file_misses_nothing_and_hears_nothing_twice(tmp_path: Path) -> None:
    server = Server(f"sqlite://{tmp_path / 'assay.db'}", tmp_path / "server.log")
    with server.running():
        asyncio.run(asyncio.wait_for(listen_while_written([server], server), SECS))


def test_a_frozen_server_holds_up_nobody_and_catches_up(postgres_url: str, tmp_path: Path) -> None:
    """It is stopped again and again while it commits and numbers; the other's stream goes on."""
    frozen, other = (Server(postgres_url, tmp_path / f"{name}.log") for name in ("one", "two"))

    async def story() -> None:
        async with (
            Http(frozen.host, frozen.port) as http_frozen,
            Http(other.host, other.port) as http_other,
            await open_ear(frozen.host, frozen.port) as far,
            await open_ear(other.host, other.port) as near,
        ):
            one, two = Api(http_frozen), Api(http_other)
            runs: list[str] = []
            for turn in range(5):
                names = [f"run-{turn}-{number}" for number in range(10)]
                under_way = [asyncio.create_task(one.start(name)) for name in names]
                await asyncio.sleep(0.002 * turn)
                frozen.process.send_signal(signal.SIGSTOP)
                asked_at = time.monotonic()
                runs += [*names, run := await two.start()]
                while (await near.next()).data["workflow_id"] != run:
                    pass
                assert time.monotonic() - asked_at < SOON_SECS
                frozen.process.send_signal(signal.SIGCONT)
                await asyncio.gather(*under_way)
            last = await one.start()
            heard: list[Heard] = []
            while not heard or heard[-1].data["workflow_id"] != last:
                heard.append(await far.next())
            assert [each.id for each in heard] == list(range(1, len(heard) + 1))
            assert sorted(each.data["workflow_id"] for each in heard) == sorted([*runs, last])

    with frozen.running(), other.running():
        try:
            asyncio.run(asyncio.wait_for(story(), SECS))
        finally:
            frozen.process.send_signal(signal.SIGCONT)
