"""The seam between the SDK and an engine: one request, one answer, wherever the engine is."""

from typing import NamedTuple, Protocol

ANSWER_SECS = 30.0  # how long an answer may take that nobody asked to be held


class Reply(NamedTuple):
    """What came back, whatever it says."""

    status: int
    body: bytes


class ThreadTransport(Protocol):
    """A way to an engine for one thread alone."""

    def post(self, path: str, body: bytes) -> int:
        """Send a body to a path; the status of the answer."""

    def close(self) -> None:
        """End it, from that same thread."""


class Transport(Protocol):
    """A way to an engine. Over HTTP it is `http.py`."""

    async def request(
        self, method: str, path: str, body: bytes | None = None, *, secs: float = ANSWER_SECS
    ) -> Reply:
        """Send a request, once, and give the answer to it.

        The path is relative to the prefix of the interface and percent-encoded already, with its
        query: `/workflows/a%2Fb?x=1`. A body is JSON; None is no body at all. Raises
        `EngineUnreachable` or one of its kinds when there is no answer, `RequestTimeout` when there
        is none within `secs`.
        """

    def from_thread(self) -> ThreadTransport | None:
        """A way of its own for a thread beside the loop; None: the engine is on this very loop."""

    async def close(self) -> None:
        """End it. Requests under way fail, and nothing is left behind."""
