"""Operations on their way out, each with the call that waits for its outcome."""

import asyncio

import msgspec

from assay.wire.exchange.operations import Operations, Outcome, SignalRun, StartRun

LARGE = 1_500_000  # bytes; beyond that an operation goes alone
_encode = msgspec.json.encode


class Message:
    """An operation, as it is written, and since when it has been failing."""

    __slots__ = ("failing_since", "future", "operation", "text")

    def __init__(
        self, text: bytes, operation: Operations, future: "asyncio.Future[Outcome]"
    ) -> None:
        self.text = text
        self.operation = operation
        self.future = future
        self.failing_since: float | None = None

    def failing_for(self, now: float) -> float:
        """How long ago it failed for the first time, which may be now."""
        if self.failing_since is None:
            self.failing_since = now
        return now - self.failing_since

    @property
    def is_large(self) -> bool:
        """Too large to share a request."""
        return len(self.text) > LARGE

    @property
    def may_repeat(self) -> bool:
        """Whether doing it twice is the same as doing it once.

        Reports of workers have their fences, a signal its `request_id`; a start that takes whatever
        run there is has its id.
        """
        operation = self.operation
        if isinstance(operation, StartRun):
            return bool(operation.workflow_id) and operation.if_exists == "use"
        return not isinstance(operation, SignalRun) or bool(operation.request_id)


def message(operation: Operations) -> Message:
    """An operation with a future for its outcome."""
    future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    return Message(_encode(operation), operation, future)
