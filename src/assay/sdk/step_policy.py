"""When an inline step is tried again: the options of an activity, applied by its own worker."""

import random

import msgspec
from msgspec import Struct

from assay.model.time import LONGEST_SECONDS
from assay.sdk.application_error import delay_asked
from assay.sdk.faults import WorkflowMisuse
from assay.sdk.options import StepOptions, error_names


class StepPolicy(Struct, frozen=True):
    """How often, after how long, and how long an attempt may take."""

    max_attempts: int = 3
    initial_interval_secs: float = 1.0
    backoff_coefficient: float = 2.0
    max_interval_secs: float | None = None
    jitter: float = 0.0
    non_retryable: frozenset[str] = frozenset()
    start_to_close_secs: float = 300.0

    def is_final(self, attempt: int, error: BaseException) -> bool:
        """Whether nothing follows this failed attempt."""
        if attempt >= self.max_attempts or getattr(error, "retryable", True) is False:
            return True
        return any(kind.__name__ in self.non_retryable for kind in type(error).__mro__)

    def delay(self, attempt: int, error: BaseException, dice: random.Random) -> float:
        """How long to wait for the next; an error may say so itself (`retry_after`)."""
        asked = delay_asked(error)
        if asked is not None:
            return asked
        try:
            secs = self.initial_interval_secs * self.backoff_coefficient ** (attempt - 1)
        except OverflowError:
            secs = LONGEST_SECONDS
        if self.max_interval_secs is not None:
            secs = min(secs, self.max_interval_secs)
        return min(secs * (1.0 - self.jitter * dice.random()), LONGEST_SECONDS)


DEFAULT = StepPolicy()


def policy_of(opts: StepOptions) -> StepPolicy:
    """The options of a call, once they are found good."""
    if not opts:
        return DEFAULT
    given = {name: value for name, value in opts.items() if value is not None}
    fields = {name: value for name, value in given.items() if name not in ("name", "result")}
    fields["non_retryable"] = error_names(opts.get("non_retryable") or ())
    try:
        policy = msgspec.convert(fields, StepPolicy)
    except msgspec.ValidationError as error:
        raise WorkflowMisuse(f"step: {error}") from None
    if policy.max_attempts < 1 or policy.initial_interval_secs < 0:
        raise WorkflowMisuse("step: max_attempts must be 1 or more, delays 0 or more")
    if not (0 <= policy.jitter <= 1 and policy.backoff_coefficient > 0):
        raise WorkflowMisuse("step: jitter lies between 0 and 1, backoff_coefficient above 0")
    if not policy.start_to_close_secs > 0:
        raise WorkflowMisuse("step: start_to_close_secs must be above 0")
    return policy
