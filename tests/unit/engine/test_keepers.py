"""Workers that take several tasks and keep runs alive: who gets what, in which commit, and when."""

from typing import cast

import pytest

from assay.core.claim import KEPT_FOR
from assay.engine import batch as batches
from assay.engine import windows
from assay.engine.requests import Answer
from assay.engine.wants import Grant, Since, Want
from assay.errors import AssayError
from assay.model.commands import Command, RecordSideEffect, ScheduleActivity
from assay.model.ids import claim_token
from assay.model.operations import Cancel, Signal, Start, SubmitCommands
from assay.model.retry import RetryPolicy
from assay.model.run import Run
from assay.model.time import MICROS
from assay.store.port import Look, Stale, Unknown
from tests.unit.engine import bench as benches
from tests.unit.engine.bench import LEASE, RUNS, WORK, Bench, says

PAY = ScheduleActivity(1, "pay", "default", None, RetryPolicy())


class Keeper:
    """A worker that exchanges: its want, and what it was given."""

    def __init__(self, bench: Bench, worker: str = "w1", look: Look = RUNS) -> None:
        self.bench = bench
        self.grants: list[Grant] = []
        self.want = Want(look, worker, held=True, answer=self._answer, several=True)
        bench.engine.index.kept.watch(worker)

    def _answer(self, grant: Grant | AssayError | None) -> None:
        assert isinstance(grant, Grant)
        self.grants.append(grant)

    def offer(self, room: int) -> list[str]:
        """Take so many; which it is given now."""
        self.bench.engine.want_several(self.want, room)
        self.bench.run()
        return self.given()

    def given(self) -> list[str]:
        """What has come since this was last asked."""
        new, self.grants = self.grants, []
        self.last = new[-1] if new else None
        return [grant.row.id if isinstance(grant.row, Run) else grant.row.name for grant in new]

    def leave(self) -> None:
        self.bench.engine.wants.retire(self.want)

    def submit(
        self, *commands: Command, id: str = "wf", keeps: bool = True, holds: bool = False
    ) -> Answer:
        """Under the claim that the row has now."""
        run = self.bench.stored(id)
        lease = claim_token(run.claim_token or 0)
        caller = self.bench.submit(
            SubmitCommands(id, self.want.worker_id, commands, lease, keeps, holds)
        )
        self.bench.run()
        return caller.answers

    @property
    def grant(self) -> Grant:
        assert self.last is not None
        return self.last


@pytest.fixture(params=[True, False], ids=["exclusive", "shared"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(exclusive=request.param)


def keeping(bench: Bench, *, holds: bool = False, room: int = 0) -> Keeper:
    """w1 keeps the run `wf`, and is there."""
    keeper = Keeper(bench)
    bench.start("wf")
    assert keeper.offer(1) == ["wf"]
    keeper.submit(PAY, holds=holds)
    assert keeper.offer(room) == []
    return keeper


def told(grant: Grant) -> list[int] | None:
    """The events that were at hand."""
    return None if grant.events is None else [event.seq for event in grant.events]


# -- several -------------------------------------------------------------------------------------


def test_it_takes_what_is_there_and_what_comes_as_far_as_it_has_room(bench: Bench) -> None:
    bench.start("a", "b", "c")
    keeper = Keeper(bench)
    assert keeper.offer(2) == ["a", "b"]
    assert keeper.offer(2) == ["c"]
    bench.start("d", "e")
    assert keeper.given() == ["d"]
    assert keeper.offer(0) == []
    assert keeper.offer(1) == ["e"]


def test_all_of_it_in_one_commit(bench: Bench) -> None:
    bench.start("a", "b", "c")
    commits = len(bench.commits)
    assert Keeper(bench).offer(5) == ["a", "b", "c"]
    assert len(bench.commits) == commits + 1


def test_attempts_too(bench: Bench) -> None:
    keeper, work = Keeper(bench), Keeper(bench, "w1", WORK)
    assert work.offer(2) == []
    bench.start("wf")
    assert keeper.offer(1) == ["wf"]
    more = [ScheduleActivity(seq, f"pay{seq}", "default", None, RetryPolicy()) for seq in (1, 2, 3)]
    commits = len(bench.commits)
    keeper.submit(*more)
    assert work.given() == ["pay1", "pay2"]
    assert len(bench.commits) == commits + 1, "handed over in the commit that makes them"


def test_it_shares_with_who_polls(bench: Bench) -> None:
    keeper = Keeper(bench)
    assert keeper.offer(9) == []
    polls = [bench.want(worker=f"p{n}") for n in range(2)]
    bench.run()
    for n in range(5):
        bench.submit(Start("order", f"run{n}"))
    bench.run()
    assert [poll.run.id for poll in polls] == ["run1", "run2"]
    assert keeper.given() == ["run0", "run3", "run4"]


def test_who_has_left_gets_nothing(bench: Bench) -> None:
    keeper = Keeper(bench)
    keeper.offer(5)
    keeper.leave()
    bench.start("wf")
    assert keeper.given() == []
    assert bench.poll(worker="p").run.id == "wf"


@pytest.mark.parametrize("outcome", [Stale(), Unknown("gone")])
def test_what_did_not_come_about_is_given_once_all_the_same(bench: Bench, outcome: object) -> None:
    if bench.engine.parts.exclusive and isinstance(outcome, Stale):
        return  # nobody else writes there
    keeper = Keeper(bench)
    bench.start("a", "b", "c")
    bench.tell.append(says(cast("Stale", outcome)))
    given = keeper.offer(2)
    bench.run()
    given += keeper.given()
    assert given == ["a", "b"]
    assert (keeper.want.room, keeper.want.in_hand) == (0, 0)
    assert keeper.offer(1) == ["c"]


def test_room_that_is_offered_while_a_grant_is_under_way_is_not_counted_twice(
    bench: Bench,
) -> None:
    keeper = Keeper(bench)
    bench.start("a", "b", "c", "d")
    bench.engine.want_several(keeper.want, 2)
    step = bench.to_commit()
    bench.engine.want_several(keeper.want, 2)  # said before those had arrived
    bench.drive(bench.take(step))
    bench.run()
    assert keeper.given() == ["a", "b"]
    bench.engine.want_several(keeper.want, 3 - 2)  # and one more, as the session has it
    bench.run()
    assert keeper.given() == ["c"]


def test_a_stopped_engine_gives_nothing_more(bench: Bench) -> None:
    answers: list[Grant | AssayError | None] = []
    want = Want(RUNS, "w1", held=True, answer=answers.append, several=True)
    bench.engine.want_several(want, 3)
    bench.run()
    bench.submit(Start("order", "wf"))
    step = bench.to_commit()
    bench.engine.stop()
    bench.drive(bench.take(step))
    assert [answer for answer in answers if answer is not None]
    assert bench.engine.wants.all() == []


# -- kept ----------------------------------------------------------------------------------------


def test_news_come_in_the_commit_that_makes_them_with_all_that_is_new(bench: Bench) -> None:
    keeper = keeping(bench, room=1)
    token = bench.stored("wf").kept_token
    commits = len(bench.commits)
    bench.do(Signal("wf", "go"))
    assert keeper.given() == ["wf"]
    assert len(bench.commits) == commits + 1
    assert keeper.grant.since == Since(1, token or 0)
    assert keeper.grant.spends
    assert told(keeper.grant) is None, "one of its events is of an earlier commit"
    token = keeper.grant.claim.token
    keeper.submit(RecordSideEffect(1, "dice", "6"))
    assert keeper.offer(1) == ["wf"]
    assert keeper.grant.since == Since(3, token)


def test_events_of_this_very_commit_need_not_be_read(bench: Bench) -> None:
    keeper = Keeper(bench)
    assert keeper.offer(2) == []
    bench.start("wf")
    assert keeper.given() == ["wf"]
    assert (told(keeper.grant), keeper.grant.since) == ([1], None)
    token = keeper.grant.claim.token
    keeper.submit(RecordSideEffect(1, "dice", "6"))
    assert keeper.given() == ["wf"]
    assert (told(keeper.grant), keeper.grant.since) == ([2], Since(1, token))


def test_a_keeper_without_room_waits_and_so_do_the_others_for_a_second(bench: Bench) -> None:
    keeper = keeping(bench)
    waiting = bench.poll(worker="p", held=True)
    bench.do(Signal("wf", "go"))
    assert keeper.given() == []
    bench.later(0.9)
    bench.run()
    assert waiting.waits
    assert bench.engine.next_wake() == bench.now + MICROS // 10
    bench.later(0.1)
    bench.run()
    assert waiting.run.claimed_by == "p"
    assert waiting.grant is not None
    assert waiting.grant.since is None
    assert keeper.offer(1) == []


def test_room_within_the_second_is_in_time(bench: Bench) -> None:
    keeper = keeping(bench)
    bench.do(Signal("wf", "go"))
    bench.later(0.5)
    assert keeper.offer(1) == ["wf"]


def test_a_keeper_that_is_away_is_waited_for_as_long(bench: Bench) -> None:
    keeper = keeping(bench)
    keeper.leave()
    rival = Keeper(bench, "w2")
    assert rival.offer(1) == []
    bench.do(Signal("wf", "go"))
    assert rival.given() == []
    bench.later(KEPT_FOR / MICROS)
    bench.run()
    assert rival.given() == ["wf"]
    assert rival.grant.since is None


def test_who_comes_back_in_time_has_it_though_it_was_away(bench: Bench) -> None:
    keeper = keeping(bench)
    keeper.leave()
    bench.do(Signal("wf", "go"))
    bench.later(0.5)
    assert keeper.offer(1) == ["wf"]
    assert keeper.grant.since is not None


def test_a_keeper_that_was_not_watched_is_known_by_the_rows(bench: Bench) -> None:
    """A new engine: what it keeps is found with what is ready."""
    keeping(bench)
    bench.do(Signal("wf", "go"))
    again = Bench(bench.store, exclusive=bench.engine.parts.exclusive)
    again.now = bench.now
    keeper = Keeper(again)
    assert keeper.offer(1) == ["wf"]
    assert keeper.grant.since is not None


def test_its_own_runs_come_before_what_is_new(bench: Bench) -> None:
    keeper = keeping(bench)
    bench.start("other")
    bench.later(0.1)
    bench.do(Signal("wf", "go"))
    assert keeper.offer(1) == ["wf"]
    assert keeper.offer(1) == ["other"]


def test_a_plain_poll_of_the_keeper_brings_all(bench: Bench) -> None:
    """A poll is of any client: it may have come to that id again, and know nothing."""
    keeping(bench)
    bench.do(Signal("wf", "go"))
    bench.later(1)
    poll = bench.poll(worker="w1")
    assert poll.grant is not None
    assert (poll.run.id, poll.grant.since) == ("wf", None)


# -- held on -------------------------------------------------------------------------------------


def test_who_holds_on_hears_news_whatever_its_room(bench: Bench) -> None:
    keeper = keeping(bench, holds=True)
    token = bench.stored("wf").claim_token
    commits = len(bench.commits)
    bench.do(Signal("wf", "go"))
    assert keeper.given() == ["wf"]
    assert len(bench.commits) == commits + 1
    assert (keeper.grant.claim.token, keeper.grant.spends) == (token, False)
    assert (keeper.want.room, keeper.want.in_hand) == (0, 0)
    assert bench.stored("wf").claim_until == bench.now + LEASE
    bench.do(Signal("wf", "more"))
    assert keeper.given() == [], "until it answers"
    keeper.submit(holds=True)
    assert keeper.given() == ["wf"]


def test_nobody_else_hears_them_however_long_it_takes(bench: Bench) -> None:
    keeper = keeping(bench, holds=True)
    keeper.leave()
    rival, waiting = Keeper(bench, "w2"), bench.poll(worker="p", held=True)
    rival.offer(1)
    bench.do(Signal("wf", "go"))
    for _ in range(3):
        bench.later(2)
        bench.run()
    assert waiting.waits
    assert rival.given() == []
    assert keeper.offer(0) == ["wf"], "it was away, and is back"


def test_its_lease_expires_and_others_have_it(bench: Bench) -> None:
    keeper = keeping(bench, holds=True)
    keeper.leave()
    bench.do(Signal("wf", "go"))
    waiting = bench.poll(worker="p", held=True)
    bench.later(LEASE / MICROS)
    bench.run()
    assert waiting.run.id == "wf"


def test_a_cancel_request_reaches_who_holds_on(bench: Bench) -> None:
    keeper = keeping(bench, holds=True)
    bench.do(Cancel("wf"))
    assert keeper.given() == ["wf"]


def test_a_new_engine_finds_news_for_who_holds_on_without_room(bench: Bench) -> None:
    keeper = keeping(bench, holds=True)
    keeper.leave()
    bench.do(Signal("wf", "go"))
    again = Bench(bench.store, exclusive=bench.engine.parts.exclusive)
    again.now = bench.now
    assert Keeper(again).offer(0) == ["wf"]


# -- many of them --------------------------------------------------------------------------------


def test_without_room_what_waits_is_not_even_looked_at(bench: Bench) -> None:
    """Or a signal to each of ten thousand runs would cost all of them each time."""
    kept_with_news(bench, 20)
    again = Bench(bench.store, exclusive=bench.engine.parts.exclusive)
    again.now = bench.now
    keeper = Keeper(again)
    assert keeper.offer(0) == []
    assert sum(len(load.keys) for load in again.loads) == 0
    assert keeper.offer(2) == ["kept0", "kept1"]
    assert sum(len(load.keys) for load in again.loads) <= 4
    assert keeper.offer(3) == ["kept2", "kept3", "kept4"]


def test_what_another_instance_has_moved_is_looked_at_once() -> None:
    bench = Bench(exclusive=False)
    keeper = keeping(bench)
    bench.do(Signal("wf", "go"))
    other = Bench(bench.store, exclusive=False)
    other.now = bench.now
    bench.later(1)
    other.later(1)
    assert other.poll(worker="p").run.id == "wf"
    assert keeper.offer(1) == []
    loads = len(bench.loads)
    for _ in range(3):
        assert keeper.offer(1) == []
    assert len(bench.loads) == loads


# -- windows that do not hold everything ---------------------------------------------------------


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of three tasks."""
    for module in (batches, windows, benches):
        monkeypatch.setattr(module, "WINDOW_TASKS", 3)


def kept_with_news(bench: Bench, count: int, *, holds: bool = False) -> Keeper:
    """So many runs that w1 keeps have news, and it is away."""
    keeper, ids = Keeper(bench), [f"kept{n}" for n in range(count)]
    bench.start(*ids)
    assert keeper.offer(count) == ids
    for id in ids:
        keeper.submit(id=id, holds=holds)
    keeper.leave()
    for id in ids:
        bench.do(Signal(id, "go"))
    return keeper


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("holds", [False, True])
def test_what_is_kept_for_others_hides_nothing_that_is_ready(bench: Bench, holds: bool) -> None:
    kept_with_news(bench, 4, holds=holds)
    bench.later(0.1)
    bench.start("open1", "open2")
    again = Bench(bench.store, exclusive=bench.engine.parts.exclusive)
    again.now = bench.now
    waiting = [again.want(worker=f"p{n}") for n in range(2)]
    again.run()
    assert [poll.run.id for poll in waiting] == ["open1", "open2"]


@pytest.mark.usefixtures("small_windows")
def test_a_window_full_of_what_others_hold_does_not_keep_the_engine_busy(bench: Bench) -> None:
    kept_with_news(bench, 4, holds=True)
    again = Bench(bench.store, exclusive=bench.engine.parts.exclusive)
    again.now = bench.now
    waiting = again.want(worker="p")
    assert again.run() <= 2
    assert waiting.waits
