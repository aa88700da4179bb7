"""An error that says what is to follow."""


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
