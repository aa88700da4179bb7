"""What the model knows of a run: its history, activities and timers, in plain words."""

from dataclasses import dataclass, field

from assay.model.time import MICROS

LEASE = 30 * MICROS
CLOSES_AFTER = 20 * MICROS
OPEN = ("PENDING", "RUNNING", "WAITING")
ENDED = {
    "COMPLETED": "WorkflowCompleted",
    "FAILED": "WorkflowFailed",
    "CANCELLED": "WorkflowCancelled",
}


@dataclass
class Told:
    """An event: its type, which activity or timer it is about, and whether a retry took it back."""

    kind: str
    about: int = 0
    void: bool = False


@dataclass
class Work:
    """An activity."""

    run: str
    no: int
    seq: int
    name: str
    most: int
    planned: int
    scheduled_at: int
    ready_at: int | None
    status: str = "PENDING"
    attempt: int = 1
    told: int | None = None
    late: int | None = None
    worker: str | None = None
    token: int | None = None
    until: int | None = None


@dataclass
class Alarm:
    """A timer."""

    no: int
    seq: int
    fire_at: int
    planned: int
    state: str = "open"
    silenced: tuple[int, int] | None = None


@dataclass
class Story:
    """A run."""

    id: str
    no: int
    parent: str | None
    ready_at: int | None
    status: str = "PENDING"
    history: list[Told] = field(default_factory=list)
    work: dict[int, Work] = field(default_factory=dict)
    alarms: dict[int, Alarm] = field(default_factory=dict)
    waits: set[tuple[str, int | None]] = field(default_factory=set)
    heard_of: set[str] = field(default_factory=set)
    cancelled: int | None = None
    cancelled_last: int = 0
    ended_at: int = 0
    token: int | None = None
    worker: str | None = None
    until: int | None = None
    seen: int = 0
    ready_before: int | None = None
    unanswered: dict[str, int] = field(default_factory=dict)
    failures: int = 0
    blocked: str | None = None

    @property
    def is_open(self) -> bool:
        return self.status in OPEN

    def tell(self, kind: str, about: int = 0) -> int:
        self.history.append(Told(kind, about))
        return len(self.history)
