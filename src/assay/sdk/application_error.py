"""An error that says what is to follow."""

import math

from assay.model.time import LONGEST_SECONDS


class ApplicationError(Exception):
    """Fail an attempt of an activity or a step, and say whether and when another one follows.

    `retryable=False` makes the failure final; `retry_after` (seconds) replaces the computed delay.
    Any error of yours may have these attributes just as well.
    """

    def __init__(
        self, message: str = "", *, retryable: bool = True, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after


def delay_asked(error: BaseException) -> float | None:
    """So long it wants the next attempt to wait, if it says so; a moment gone by is now."""
    asked = getattr(error, "retry_after", None)
    if not isinstance(asked, (int, float)):
        return None
    secs = float(min(max(asked, 0.0), LONGEST_SECONDS))
    return None if math.isnan(secs) else secs
