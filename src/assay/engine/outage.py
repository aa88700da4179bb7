"""A database that is away: said once when it goes and once when it is back."""

import logging

from assay.errors import StoreFault


class Outage:
    """What cannot be done for now; `log` is told of its beginning and of its end."""

    def __init__(self, log: logging.Logger, gone: str, back: str) -> None:
        self._log = log
        self._gone = gone
        self._back = back
        self._failures = 0

    def note(self, fault: StoreFault) -> None:
        """It has failed, perhaps again."""
        if self._failures == 0:
            self._log.warning("%s; this is said once until it can be: %s", self._gone, fault)
        self._failures += 1

    def is_over(self) -> None:
        """It has succeeded."""
        if self._failures > 0:
            self._log.warning("%s, after %d failed attempts", self._back, self._failures)
            self._failures = 0
