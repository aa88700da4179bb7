"""The simulator finds what is broken on purpose: each mutant takes one guard or rule away."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from assay.core import activity_outcome, cancel, close_run, due, failed_attempt, report, retry_run
from assay.core import claim as claim_module
from assay.core.claim import (
    claim_run,
    close_claim,
    expire_run_claim,
    is_run_claimable,
    undo_run_claim,
)
from assay.core.draft import Draft
from assay.core.view import WholeRun
from assay.engine import batch as batch_module
from assay.engine import windows as window_module
from assay.engine.batch import BatchInHand
from assay.engine.cases import Cases
from assay.engine.engine import Engine
from assay.engine.index import Index
from assay.engine.kept import Kept
from assay.engine.wants import Grant, Since, Want, Wants
from assay.engine.windows import Window
from assay.model.activity import Activity
from assay.model.operations import DONE, Done, Fence, SubmitCommands, UndoWorkflowClaim
from assay.model.run import Run
from assay.model.states import ActivityStatus
from assay.model.task import Claim
from assay.store.port import CommitOutcome, Stale, Unknown
from assay.store.sqlite import commit
from assay.store.sqlite.store import SqliteStore
from tests.faults.simulation.memory import LATEST
from tests.faults.simulation.trace import Broken
from tests.faults.simulation.world import simulate

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]
SEEDS = 120
MUTANTS: list[tuple[str, Mutant]] = []


def mutant(mode: str) -> Callable[[Mutant], Mutant]:
    def add(mutate: Mutant) -> Mutant:
        MUTANTS.append((mode, mutate))
        return mutate

    return add


def nothing(*_: object, **__: object) -> None:
    """What a rule does that was taken away."""


# -- the store -----------------------------------------------------------------------------------


@mutant("shared")
def runs_are_written_without_their_version(patch: Patch) -> None:
    patch.setattr(commit.RUN, "update", commit.RUN.update.replace("AND ver =", "AND 0 <="))


@mutant("shared")
def activities_are_written_without_their_version(patch: Patch) -> None:
    patch.setattr(commit.ACTIVITY, "update", commit.ACTIVITY.update.replace("ver = ?", "0 <= ?"))


@mutant("shared")
def a_settled_batch_may_still_arrive(patch: Patch) -> None:
    def settle(store: SqliteStore, instance: int, no: int) -> bool:
        query = "SELECT 1 FROM batch WHERE instance = ? AND no = ?"
        return bool(store._connection.execute(query, (instance, no)).fetchall())

    patch.setattr(SqliteStore, "settle_now", settle)


# -- the engine ----------------------------------------------------------------------------------


@mutant("exclusive")
def an_unknown_outcome_is_tried_again(patch: Patch) -> None:
    committed = Engine.committed

    def again(engine: Engine, outcome: CommitOutcome) -> Any:
        return committed(engine, Stale() if isinstance(outcome, Unknown) else outcome)

    patch.setattr(Engine, "committed", again)


@mutant("shared")
def guesses_are_taken_for_the_truth(patch: Patch) -> None:
    begin = Engine.begin

    def begin_sure(engine: Engine, now: int) -> Any:
        engine.parts.exclusive = True
        return begin(engine, now)

    patch.setattr(Engine, "begin", begin_sure)


@mutant("exclusive")
def memory_keeps_what_was_handed_out(patch: Patch) -> None:
    patch.setattr(Window, "remove", nothing)


@mutant("exclusive")
def memory_keeps_timers_that_fired(patch: Patch) -> None:
    patch.setattr(Cases, "_absorb_timer", nothing)


@mutant("exclusive")
def a_failed_batch_forgets_its_deadlines(patch: Patch) -> None:
    patch.setattr(BatchInHand, "put_back_deadlines", nothing)


@mutant("exclusive")
def a_failed_batch_forgets_who_waits(patch: Patch) -> None:
    patch.setattr(Wants, "put_back", nothing)


@mutant("shared")
def nobody_hears_of_what_others_made_ready(patch: Patch) -> None:
    patch.setattr(Engine, "hint", nothing)


@mutant("exclusive")
def starts_that_wait_are_left_to_the_sweep(patch: Patch) -> None:
    patch.setattr(Index, "have_ended", nothing)


# -- claims --------------------------------------------------------------------------------------


@mutant("exclusive")
def a_claim_is_handed_out_while_it_is_held(patch: Patch) -> None:
    patch.setattr(
        batch_module,
        "is_run_claimable",
        lambda run, now: is_run_claimable(replace(run, claim_until=None), now),
    )


@mutant("exclusive")
def an_activity_is_claimed_before_its_delay_is_over(patch: Patch) -> None:
    def is_claimable(activity: Activity, now: int) -> bool:
        return activity.status is ActivityStatus.PENDING

    patch.setattr(batch_module, "is_activity_claimable", is_claimable)


@mutant("exclusive")
def an_expired_lease_closes_the_claim(patch: Patch) -> None:
    def expire(draft: Draft, run: Run) -> None:
        expire_run_claim(draft, run)
        draft.put(close_claim(draft.runs[run.no]))

    patch.setattr(due, "expire_run_claim", expire)


@mutant("shared")
def anything_is_due_at_once(patch: Patch) -> None:
    def has_come(draft: Draft, at: int | None) -> bool:
        return at is not None

    patch.setattr(due, "_has_come", has_come)


@mutant("exclusive")
def a_report_counts_whatever_its_token(patch: Patch) -> None:
    held = activity_outcome.held_activity

    def held_by_anybody(draft: Draft, no: int, fence: Fence) -> tuple[Activity, Run]:
        return held(draft, no, Fence())

    for module in (activity_outcome, failed_attempt):
        patch.setattr(module, "held_activity", held_by_anybody)


@mutant("exclusive")
def an_undo_closes_whatever_claim_there_is(patch: Patch) -> None:
    def undo(draft: Draft, operation: UndoWorkflowClaim) -> Done:
        run = draft.run(operation.no)
        if run is not None and run.claim_token is not None:
            undo_run_claim(draft, run)
        return DONE

    patch.setattr("assay.core.decide.undo_workflow_claim", undo)


# -- runs that workers keep alive ----------------------------------------------------------------


@mutant("exclusive")
def what_is_new_begins_one_event_late(patch: Patch) -> None:
    patch.setattr(batch_module, "Since", lambda seq, token: Since(seq + 1, token))


@mutant("shared")
def whoever_claims_a_run_is_taken_for_its_keeper(patch: Patch) -> None:
    claimed = BatchInHand._claimed_run

    def claimed_run(hand: BatchInHand, draft: Draft, want: Want, run: Run) -> Grant:
        grant = claimed(hand, draft, want, run)
        if want.several and run.kept_token is not None:
            grant.since = Since(run.claim_seq, run.kept_token)
        return grant

    patch.setattr(BatchInHand, "_claimed_run", claimed_run)


@mutant("exclusive")
def what_is_kept_is_kept_for_ever(patch: Patch) -> None:
    for module in (claim_module, window_module):
        patch.setattr(module, "KEPT_FOR", 1000 * LATEST)


@mutant("shared")
def what_is_kept_elsewhere_is_kept_for_ever(patch: Patch) -> None:
    patch.setattr(window_module, "KEPT_FOR", 1000 * LATEST)


@mutant("exclusive")
def what_is_kept_is_anybodys_at_once(patch: Patch) -> None:
    for module in (claim_module, window_module):
        patch.setattr(module, "KEPT_FOR", 0)


@mutant("exclusive")
def a_claim_that_goes_on_is_a_new_one(patch: Patch) -> None:
    def claim(draft: Draft, run: Run, worker_id: str, lease: int) -> Claim:
        return claim_run(draft, replace(run, kept_token=None), worker_id, lease)

    patch.setattr(batch_module, "claim_run", claim)


@mutant("exclusive")
def a_lease_that_is_over_leaves_a_keeper(patch: Patch) -> None:
    def expire(draft: Draft, run: Run) -> None:
        expire_run_claim(draft, run)
        draft.put(replace(draft.runs[run.no], kept_token=run.kept_token))

    patch.setattr(due, "expire_run_claim", expire)


@mutant("exclusive")
def who_had_not_seen_its_news_is_not_given_another_task(patch: Patch) -> None:
    submit = report.submit_commands

    def submit_blindly(draft: Draft, operation: SubmitCommands, lease: int) -> Done:
        return submit(draft, replace(operation, seen=None), lease)

    patch.setattr("assay.core.decide.submit_commands", submit_blindly)


@mutant("exclusive")
def news_of_kept_runs_are_not_remembered(patch: Patch) -> None:
    patch.setattr(Kept, "note", nothing)


@mutant("exclusive")
def keepers_hear_only_what_they_hold_on(patch: Patch) -> None:
    def none(_: Kept, __: str) -> dict[int, int]:
        return {}

    patch.setattr(Kept, "of", none)


# -- endings -------------------------------------------------------------------------------------


@mutant("exclusive")
def a_parent_is_not_told(patch: Patch) -> None:
    patch.setattr(close_run, "tell_parent", nothing)


@mutant("exclusive")
def timers_outlive_their_run(patch: Patch) -> None:
    patch.setattr(close_run, "silence", nothing)


@mutant("exclusive")
def a_cascade_ends_early(patch: Patch) -> None:
    patch.setattr(cancel, "_leave_for_later", nothing)


@mutant("exclusive")
def a_retry_leaves_old_attempts_behind(patch: Patch) -> None:
    patch.setattr(Draft, "forget_attempts", nothing)


@mutant("exclusive")
def a_retry_leaves_the_end_standing(patch: Patch) -> None:
    def voided(whole: WholeRun, target: Activity, failed_seq: int) -> set[int]:
        return set()

    patch.setattr(retry_run, "_voided", voided)


@pytest.mark.parametrize(
    ("mode", "mutate"), MUTANTS, ids=lambda value: getattr(value, "__name__", value)
)
def test_the_simulator_finds(mode: str, mutate: Mutant, monkeypatch: Patch) -> None:
    mutate(monkeypatch)
    for seed in range(SEEDS):
        try:
            simulate(seed, mode)
        except Broken:
            return
    pytest.fail(f"{SEEDS} stories went well without the rule")
