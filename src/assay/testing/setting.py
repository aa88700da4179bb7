"""How an environment is set up, and how moments and spans are told."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

from msgspec import Struct

from assay.errors import UsageFault
from assay.model.time import MICROS, micros
from assay.sdk.convert import DEFAULT, Codec
from assay.sdk.worker.options import KEPT_RUNS

START = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE_SECS = 2.0


class Setting(Struct, frozen=True, kw_only=True):
    """What the options say, and their defaults."""

    workflows: Sequence[Callable[..., Any]] = ()
    activities: Sequence[Callable[..., Any]] = ()
    start: float | datetime = START
    queue: str = "default"
    namespace: str = "main"
    codec: Codec = DEFAULT
    seed: int = 1
    kept_runs: int = KEPT_RUNS
    may_block: bool = False
    patience_secs: float = PATIENCE_SECS


class Options(TypedDict, total=False):
    """The options of an environment.

    workflows, activities    what its worker runs; more may be registered later
    start                    where time begins: Unix seconds, or a datetime with a time zone
    queue, namespace, codec  as with `assay.open`
    seed                     jitter and ids come out otherwise with another one
    kept_runs                0: every task replays its run from the beginning, which finds code that
                             is not deterministic
    may_block                a run that is blocked does not fail the test
    patience_secs            so long of the host's time after nothing is due, `NothingDue` is raised
    """

    workflows: Sequence[Callable[..., Any]]
    activities: Sequence[Callable[..., Any]]
    start: float | datetime
    queue: str
    namespace: str
    codec: Codec
    seed: int
    kept_runs: int
    may_block: bool
    patience_secs: float


def moment_of(moment: float | datetime) -> int:
    """A moment, in microseconds."""
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise UsageFault(f"a moment needs a time zone: {moment!r}")
        moment = moment.timestamp()
    return round(moment * MICROS)


def span_of(secs: float | timedelta) -> int:
    """A span of time, in microseconds."""
    span = secs.total_seconds() if isinstance(secs, timedelta) else secs
    if not span >= 0:
        raise UsageFault(f"time goes on, not back: {secs!r}")
    return micros(span)
