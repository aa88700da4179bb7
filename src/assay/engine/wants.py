"""Who waits for what: polls that are held until there is a task, workers that take several."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from assay.errors import AssayError
from assay.model.activity import Activity
from assay.model.events import Event
from assay.model.run import Run
from assay.model.task import Claim, TaskKind
from assay.store.port import Look
from assay.store.views import ActivityView


class WantState(Enum):
    """Where a poll stands."""

    WAITING = "waiting"
    GRANTED = "granted"
    ANSWERED = "answered"


class Since(NamedTuple):
    """Up to which event, and under which claim, a worker has seen a run that it keeps alive."""

    seq: int
    token: int


class Grant:
    """A claim with the row it was made on, as it stands after the claim.

    `view` is the whole record of an activity, where nothing has to be read for it; `events` are
    those of a run that its worker has not seen (after `since`), where all of them are at hand.
    `spends`: it takes up room that its worker had to offer.
    """

    __slots__ = ("claim", "events", "row", "since", "spends", "view")

    def __init__(self, claim: Claim, row: Run | Activity, view: ActivityView | None = None) -> None:
        self.claim = claim
        self.row = row
        self.view = view
        self.since: Since | None = None
        self.events: list[Event] | None = None
        self.spends = True


class Want:
    """One poll; or (`several`) what one worker takes of a queue, as long as it has `room`.

    `answer` is called for each task; a plain poll gets one, or None (nothing for it), or an error.
    `gone`: its client has hung up; `expired`: its time was up while a task was on its way. Who
    takes several keeps runs alive, and may hear of those whose claim it holds whatever its room.
    """

    __slots__ = (
        "answer", "expired", "gone", "held", "in_hand", "look", "order", "room", "several", "state",
        "worker_id",
    )  # fmt: skip

    def __init__(
        self,
        look: Look,
        worker_id: str,
        *,
        held: bool,
        answer: Callable[[Grant | AssayError | None], None],
        several: bool = False,
    ) -> None:
        self.look = look
        self.worker_id = worker_id
        self.held = held
        self.answer = answer
        self.several = several
        self.state = WantState.WAITING
        self.gone = False
        self.expired = False
        self.order = 0
        self.room = 0 if several else 1
        self.in_hand = 0  # granted in the batch under way, and taken off the room

    @property
    def keeps(self) -> bool:
        """Its worker keeps runs alive."""
        return self.several and self.look.kind is TaskKind.WORKFLOW


class Wants:
    """All that wait, first come first served on each queue."""

    def __init__(self) -> None:
        self._waiting: dict[Look, deque[Want]] = {}
        self.keepers: dict[str, Want] = {}
        self.arrivals = 0
        self.unserved: dict[Look, None] = {}

    def __len__(self) -> int:
        return sum(len(wants) for wants in self._waiting.values()) + len(self.keepers)

    def add(self, want: Want) -> None:
        """Somebody arrives, or comes again with other room: the queue is to be looked at."""
        self.arrivals += 1
        want.order = self.arrivals
        want.state, want.gone = WantState.WAITING, False
        if want.keeps:
            self.keepers[want.worker_id] = want
        if want.room > 0:
            self._waiting.setdefault(want.look, deque()).append(want)
        self.unserved[want.look] = None

    def put_back(self, granted: Sequence[tuple[Want, bool]]) -> None:
        """What these were granted did not come about: they wait again, before all others.

        With each: whether the grant had taken up room.
        """
        for want, spends in reversed(granted):
            if spends:
                want.in_hand -= 1
                want.room += 1
            if want.gone or want.expired:
                self._leave(want)
                continue
            self.unserved[want.look] = None
            if spends and want.room == 1:
                want.state = WantState.WAITING
                self._waiting.setdefault(want.look, deque()).appendleft(want)

    def look_again(self, queue: str | None = None) -> None:
        """Something may be ready (on a queue): serve its waiting polls anew."""
        for look, wants in self._waiting.items():
            if wants and (queue is None or look.queue == queue):
                self.unserved[look] = None
        for want in self.keepers.values():
            if queue is None or want.look.queue == queue:
                self.unserved[want.look] = None

    def count(self, look: Look) -> int:
        """How many wait there."""
        return len(self._waiting.get(look, ()))

    def is_wanted(self, look: Look) -> bool:
        """Whether news on that queue matter to anybody."""
        return self.count(look) > 0 or any(want.look == look for want in self.keepers.values())

    def first(self, look: Look) -> Want | None:
        """The one that has waited longest and is still there."""
        wants = self._waiting.get(look)
        while wants:
            if not wants[0].gone:
                return wants[0]
            wants.popleft()
        if wants is not None:
            del self._waiting[look]
        return None

    def grant(self, look: Look) -> Want:
        """The longest waiting is to get a task in this batch; who takes more waits on, last."""
        waiting = self._waiting[look]
        want = waiting.popleft()
        want.room -= 1
        want.in_hand += 1
        if want.room > 0:
            waiting.append(want)
        else:
            want.state = WantState.GRANTED
        return want

    def grant_to(self, want: Want, *, spends: bool) -> None:
        """This worker is to get news of a run it keeps."""
        if spends:
            want.in_hand += 1
            want.room -= 1
            if want.room == 0:
                self._drop(want)

    def withdraw(self, want: Want) -> bool:
        """Stop waiting. False if a task is on its way already: the answer will come."""
        if want.state is not WantState.WAITING:
            want.expired = True
            return False
        want.gone = True
        want.state = WantState.ANSWERED
        self._drop(want)
        return True

    def retire(self, want: Want) -> None:
        """A worker that takes several is not there for now; what is on its way still comes."""
        want.gone, want.room = True, 0
        self._drop(want)
        if self.keepers.get(want.worker_id) is want:
            del self.keepers[want.worker_id]

    def has_plain(self, look: Look) -> bool:
        """Whether a plain poll waits there: those get the oldest task first (contract §8.1)."""
        return any(not want.several for want in self._waiting.get(look, ()))

    def has_unheld(self, look: Look) -> bool:
        """Whether somebody there is to be answered at once."""
        return any(not want.held for want in self._waiting.get(look, ()))

    def unheld(self, look: Look, arrivals: int) -> list[Want]:
        """Take out those that asked for what is there now and found nothing.

        Who came after the first `arrivals` has not been looked after yet.
        """
        wants = self._waiting.get(look)
        if not wants:
            return []
        leaving = [want for want in wants if not want.held and want.order <= arrivals]
        if leaving:
            staying = deque(want for want in wants if want not in leaving)
            if staying:
                self._waiting[look] = staying
            else:
                del self._waiting[look]
        return leaving

    def all(self) -> list[Want]:
        """Everybody who waits."""
        waiting = [want for wants in self._waiting.values() for want in wants]
        return [*waiting, *(want for want in self.keepers.values() if want.room <= 0)]

    def looks(self) -> list[Look]:
        """The queues somebody waits on."""
        return list(self._waiting)

    def keepers_of(self, looks: Iterable[Look]) -> list[Want]:
        """The workers on these queues that keep runs alive."""
        if not self.keepers:
            return []
        wanted = frozenset(looks)
        return [want for want in self.keepers.values() if want.look in wanted]

    def _leave(self, want: Want) -> None:
        if not want.several and want.state is not WantState.ANSWERED:
            want.state = WantState.ANSWERED
            want.answer(None)

    def _drop(self, want: Want) -> None:
        wants = self._waiting.get(want.look)
        if wants is not None:
            with suppress(ValueError):
                wants.remove(want)
            if not wants:
                del self._waiting[want.look]
