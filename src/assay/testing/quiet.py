"""When nobody on a loop has anything to do but those who wait for just that."""

import asyncio

QUIET_TURNS = 2  # of the loop, one after the other
MOST_TURNS = 1000  # somebody who never rests is not waited for
UNSEEN_TURNS = 50  # of a loop that does not show what it has to do


class Quiet:
    """Those of one environment who wait for quiet; each has one thing to do: to look again."""

    def __init__(self) -> None:
        self._looking = 0

    async def comes(self) -> None:
        """Until it is quiet."""
        ready = getattr(asyncio.get_running_loop(), "_ready", None)
        wanted = UNSEEN_TURNS if ready is None else QUIET_TURNS
        quiet = 0
        self._looking += 1
        try:
            for _ in range(MOST_TURNS):
                await asyncio.sleep(0)
                quiet = quiet + 1 if ready is None or len(ready) < self._looking else 0
                if quiet == wanted:
                    break
        finally:
            self._looking -= 1
