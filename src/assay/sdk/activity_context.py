"""What an activity is told of its attempt, and how it says that it is alive."""

from collections.abc import Awaitable, Callable, Generator
from typing import Any


class Beat:
    """A heartbeat on its way: await it for the engine's answer, or ask what is known already.

    True says that the run is being cancelled, or is over.
    """

    __slots__ = ("_answer", "_known")

    def __init__(self, known: bool, answer: Awaitable[bool]) -> None:  # noqa: FBT001 - what it stands for
        self._known = known
        self._answer = answer

    def __bool__(self) -> bool:
        return self._known

    def __await__(self) -> Generator[Any, None, bool]:
        return self._answer.__await__()


class ActivityContext:
    """The first argument of every activity."""

    __slots__ = ("_beat", "activity_id", "attempt", "heartbeat_details", "workflow_id")

    def __init__(
        self,
        *,
        workflow_id: str,
        activity_id: int,
        attempt: int,
        heartbeat_details: Any,
        beat: Callable[[Any], Any],
    ) -> None:
        self.workflow_id = workflow_id
        self.activity_id = activity_id
        self.attempt = attempt
        self.heartbeat_details = heartbeat_details  # the last of any attempt before
        self._beat = beat

    def heartbeat(self, details: Any = None) -> Any:
        """Say that this attempt is alive; `details` are handed to the next one if it fails.

        True when the run is being cancelled. In an `async def` activity it may be awaited for the
        engine's answer; without that it says what was known before.
        """
        return self._beat(details)
