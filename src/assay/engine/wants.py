"""Who waits for what: polls that are held until there is a task for them."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from assay.errors import AssayError
from assay.model.activity import Activity
from assay.model.run import Run
from assay.model.task import Claim
from assay.store.port import Look
from assay.store.views import ActivityView


class WantState(Enum):
    """Where a poll stands."""

    WAITING = "waiting"
    GRANTED = "granted"
    ANSWERED = "answered"


class Grant:
    """A claim with the row it was made on, as it stands after the claim.

    `view` is the whole record of an activity, where nothing has to be read for it.
    """

    __slots__ = ("claim", "row", "view")

    def __init__(self, claim: Claim, row: Run | Activity, view: ActivityView | None = None) -> None:
        self.claim = claim
        self.row = row
        self.view = view


class Want:
    """One poll. `answer` is called once: with a grant, with None (nothing for you), or an error.

    `gone`: its client has hung up; `expired`: its time was up while a task was on its way.
    """

    __slots__ = ("answer", "expired", "gone", "held", "look", "order", "state", "worker_id")

    def __init__(
        self,
        look: Look,
        worker_id: str,
        *,
        held: bool,
        answer: Callable[[Grant | AssayError | None], None],
    ) -> None:
        self.look = look
        self.worker_id = worker_id
        self.held = held
        self.answer = answer
        self.state = WantState.WAITING
        self.gone = False
        self.expired = False
        self.order = 0


class Wants:
    """All waiting polls, first come first served on each queue."""

    def __init__(self) -> None:
        self._waiting: dict[Look, deque[Want]] = {}
        self.arrivals = 0
        self.unserved: dict[Look, None] = {}

    def __len__(self) -> int:
        return sum(len(wants) for wants in self._waiting.values())

    def add(self, want: Want) -> None:
        """A poll arrives: its queue is to be looked at."""
        self.arrivals += 1
        want.order = self.arrivals
        self._waiting.setdefault(want.look, deque()).append(want)
        self.unserved[want.look] = None

    def put_back(self, wants: list[Want]) -> None:
        """What these were granted did not come about: they wait again, before all others."""
        for want in reversed(wants):
            if want.gone or want.expired:
                want.state = WantState.ANSWERED
                want.answer(None)
                continue
            want.state = WantState.WAITING
            self._waiting.setdefault(want.look, deque()).appendleft(want)
            self.unserved[want.look] = None

    def look_again(self, queue: str | None = None) -> None:
        """Something may be ready (on a queue): serve its waiting polls anew."""
        for look, wants in self._waiting.items():
            if wants and (queue is None or look.queue == queue):
                self.unserved[look] = None

    def count(self, look: Look) -> int:
        """How many wait there."""
        return len(self._waiting.get(look, ()))

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
        """Take the longest waiting out: it is to get a task in this batch."""
        want = self._waiting[look].popleft()
        want.state = WantState.GRANTED
        return want

    def withdraw(self, want: Want) -> bool:
        """Stop waiting. False if a task is on its way already: the answer will come."""
        if want.state is not WantState.WAITING:
            want.expired = True
            return False
        want.gone = True
        want.state = WantState.ANSWERED
        wants = self._waiting.get(want.look)
        if wants is not None:
            with suppress(ValueError):
                wants.remove(want)
            if not wants:
                del self._waiting[want.look]
        return True

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
        return [want for wants in self._waiting.values() for want in wants]

    def looks(self) -> list[Look]:
        """The queues somebody waits on."""
        return list(self._waiting)
