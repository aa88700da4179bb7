"""What the model knows of a run, its activities and its timers: plain words, whole seconds."""

from dataclasses import dataclass, field

OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT")
LEASE, CLOSES_AFTER, SILENT_FOR = 30, 20, 10


@dataclass
class Work:
    """An activity; `until` is when a running attempt has been silent for too long."""

    name: str
    most: int
    since: int
    no: int
    due: int
    status: str = "PENDING"
    attempt: int = 1
    worker: str | None = None
    began: int = 0
    until: int = 0
    told: int | None = None
    late: int = 0


@dataclass
class Alarm:
    """A timer."""

    fires: int
    since: int
    state: str = "open"
    silenced: tuple[int, int] | None = None


@dataclass
class Flow:
    """A run. `ready` is from when on it is offered, `until` when its lease expires."""

    no: int
    parent: str | None
    ready: int | None
    status: str = "PENDING"
    history: list[str] = field(default_factory=list)
    void: set[int] = field(default_factory=set)
    about: dict[int, tuple[str, int]] = field(default_factory=dict)
    works: dict[int, Work] = field(default_factory=dict)
    alarms: dict[int, Alarm] = field(default_factory=dict)
    waits: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    asked: int | None = None
    asked_last: int = 0
    worker: str | None = None
    claimed: bool = False
    until: int | None = None
    was_ready: int = 0
    seen: int = 0
    shown: int = 0
    unanswered: dict[str, int] = field(default_factory=dict)
    lost: int = 0
    lapsed: bool = False
    blocked: str = ""
    ended: int = 0

    @property
    def is_open(self) -> bool:
        return self.status not in OVER

    @property
    def is_stale(self) -> bool:
        """Claimed before the latest cancel request."""
        return self.seen < self.asked_last

    @property
    def is_early(self) -> bool:
        """A batch that may be the answer to a claim from before the first cancel request."""
        return self.asked is not None and self.shown < self.asked

    def add(self, kind: str, about: tuple[str, int] | None = None) -> int:
        self.history.append(kind)
        if about is not None:
            self.about[len(self.history)] = about
        return len(self.history)

    def wants(self, work: Work) -> bool:
        return self.is_open and (self.asked is None or self.asked < work.since)
