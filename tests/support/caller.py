"""Requests whose status is checked, and fresh names, for one test."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar
from urllib.parse import quote

from tests.support.http import NOTHING, Answer, Http, Json

T = TypeVar("T")

UNTIL_SECS = 15.0
LOOK_SECS = 0.02


class Caller:
    """One test's view of a server: its own queue, its own ids."""

    prefix = "/api/v1"

    def __init__(self, http: Http) -> None:
        self.http = http
        self.mark = secrets.token_hex(5)
        self.queue = f"queue-{self.mark}"
        self._names = 0

    def fresh(self, word: str = "run") -> str:
        """A name that nothing else has."""
        self._names += 1
        return f"{word}-{self.mark}-{self._names}"

    async def ask(
        self,
        method: str,
        path: str,
        body: object = NOTHING,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request below the prefix and return whatever is answered."""
        return await self.http.request(method, self.prefix + path, body, headers=headers)

    async def send(
        self, method: str, path: str, body: object = NOTHING, status: int = 200
    ) -> Answer:
        """Send a request below the prefix; another status than the expected one fails."""
        answer = await self.ask(method, path, body)
        assert answer.status == status, f"{method} {path} {body!r}: {answer}"
        if status >= 400:
            assert answer.error, answer
        return answer

    async def get(self, path: str) -> Json:
        return (await self.send("GET", path)).json()


def at(run_id: str, *parts: object) -> str:
    """The path of a run, or of what is below it."""
    return "/workflows/" + "/".join(quote(str(part), safe="") for part in (run_id, *parts))


def commands_of(run_id: str) -> str:
    """The path to which a run's command batches go."""
    return f"/workflow-tasks/{quote(run_id, safe='')}/commands"


async def until(
    look: Callable[[], Awaitable[T]],
    good: Callable[[T], bool] = bool,
    secs: float = UNTIL_SECS,
) -> T:
    """Look again and again until what is seen is good; for what no held request tells."""
    async with asyncio.timeout(secs):
        while True:
            seen = await look()
            if good(seen):
                return seen
            await asyncio.sleep(LOOK_SECS)
