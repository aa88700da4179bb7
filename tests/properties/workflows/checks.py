"""What must be true of a story once it has been told."""

import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from assay.model.events import Event
from assay.model.run import Run
from assay.model.states import RunStatus
from assay.wire.exchange.answer import Entry, entries_text
from tests.properties.workflows.ideal import certain, ideal
from tests.properties.workflows.programs import Program, kinds
from tests.properties.workflows.replays import Copy, Point
from tests.properties.workflows.will import Will
from tests.properties.workflows.world import World, Wrong

COPIES = 4
_read_entries = msgspec.json.Decoder(list[Entry]).decode
CANCELLING = {"first", "deadline", "wait for", "background", "within"}
NUMBERED = {
    "ActivityScheduled": ("activity_seq",),
    "TimerScheduled": ("timer_seq",),
    "SideEffectRecorded": ("side_effect_seq",),
    "StepCompleted": ("step_seq",),
    "StepFailed": ("step_seq",),
    "StepAttemptFailed": ("step_seq", "attempt"),
    "PatchRecorded": ("patch_id",),
    "SearchAttributesUpserted": ("upsert_seq",),
    "ChildWorkflowStarted": ("child_workflow_id",),
    "ChildWorkflowCompleted": ("child_workflow_id",),
    "ChildWorkflowFailed": ("child_workflow_id",),
    "ActivityCompleted": ("activity_seq",),
    "ActivityFailed": ("activity_seq",),
    "TimerFired": ("timer_seq",),
    "TimerCancelled": ("timer_seq",),
}


class Story:
    """A world in which everything has ended, and what was said on the way there."""

    def __init__(self, program: Program, world: World, will: Will, points: list[Point]) -> None:
        self.program = program
        self.world = world
        self.will = will
        self.points = points

    def check(self, dice: Random) -> None:
        """All of it."""
        for run in self.world.runs.values():
            once(self.standing(run))
            obeys(self.standing(run))
        if self.world.cuts and not kinds(self.program) & CANCELLING:
            raise Wrong(f"cleanup was cancelled: {self.world.cuts}")
        self._result()
        self._signals()
        by_run: dict[str, list[Point]] = {}
        for point in self.points:
            by_run.setdefault(point.workflow_id, []).append(point)
        for run in self.world.runs.values():
            if run.id in by_run:
                Replays(self, run, by_run[run.id]).check(dice)

    def standing(self, run: Run, until: int = 1 << 60) -> list[Event]:
        """The events that stood when that one was the last."""
        voided = self.world.voided
        return [
            event
            for event in self.world.events[run.no]
            if event.seq <= until and voided.get((run.no, event.seq), until + 1) > until
        ]

    # -- results ----------------------------------------------------------------------------------

    def _result(self) -> None:
        last = self.world.chain[-1]
        end = self.standing(last)[-1]
        program = self.program
        if last.status is RunStatus.CANCELLED:
            if not (self.will.cancelled or program.ending == "quit"):
                raise Wrong("it is cancelled, and nobody asked for it")
            return
        wanted = {
            "raise": RunStatus.FAILED,
            "quit": RunStatus.CANCELLED,
        }.get(program.ending, RunStatus.COMPLETED)
        if last.status is not wanted:
            raise Wrong(f"it ends {last.status}: {end.payload}")
        if len(self.world.chain) != program.rounds:
            raise Wrong(f"{len(self.world.chain)} rounds instead of {program.rounds}")
        if wanted is RunStatus.COMPLETED:
            value = certain(json.loads(end.payload or "null"))
            if value != ideal(program):
                raise Wrong(f"it comes to {value} instead of {ideal(program)}")

    def _signals(self) -> None:
        """Each was taken by one wait, in the order of its name, also by successors."""
        taken: list[str] = []
        for run in self.world.chain[1:]:
            taken = json.loads(self.world.events[run.no][0].payload or "")["taken"]
        last = self.world.chain[-1]
        if last.status is RunStatus.COMPLETED:
            taken = json.loads(self.standing(last)[-1].payload or "")["race"]
        for name, sent in self.will.sent.items():
            mine = [token for token in taken if token.startswith(name)]
            if mine != sent[: len(mine)]:
                raise Wrong(f"of {sent} were taken {mine}")


def once(events: list[Event]) -> None:
    """Nothing is in a history twice, and what has ended had begun."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for event in events:
        if event.type in NUMBERED:
            said = json.loads(event.payload or "null")
            kind = "Step" if event.type in ("StepCompleted", "StepFailed") else str(event.type)
            kind = {"ActivityFailed": "ActivityCompleted"}.get(kind, kind)
            kind = {"ChildWorkflowFailed": "ChildWorkflowCompleted"}.get(kind, kind)
            seen[kind, *(said[name] for name in NUMBERED[event.type])] += 1
    twice = [key for key, times in seen.items() if times > 1]
    if twice:
        raise Wrong(f"in history more than once: {twice}")


def obeys(events: list[Event]) -> None:
    """A run that was asked to stop does not go on as a new one: no program here wants to."""
    kinds = [str(event.type) for event in events]
    if "WorkflowCancelRequested" in kinds and kinds[-1] == "WorkflowContinuedAsNew":
        raise Wrong("it has gone on, though it was asked to stop")


class Replays:
    """One run: the live copies against others that were fed in other portions."""

    def __init__(self, story: Story, run: Run, points: list[Point]) -> None:
        self._run = run
        self._story = story
        self._points = points
        self._workflow = story.world.registry.workflows[run.type]
        self._patches = "patched" in kinds(story.program)
        self._cache: dict[int, Entry] = {}
        self._copies: list[Copy] = []

    def check(self, dice: Random) -> None:
        try:
            self._check(dice)
        finally:
            for copy in self._copies:
                copy.close()

    def _check(self, dice: Random) -> None:
        points = self._points
        chosen = dice.sample(range(len(points)), min(COPIES, len(points)))
        for at in sorted({*chosen, len(points) - 1}):
            self._from_scratch(at)
        for at in dice.sample(range(len(points)), min(2, len(points))):
            self._in_step(at, dice, coarse=False)
        self._in_step(0, dice, coarse=False)
        self._in_step(0, dice, coarse=True)
        if not self._patches:
            self._one_by_one(dice)

    def _from_scratch(self, at: int) -> None:
        """A copy that is fed the whole prefix at once stands where the live one stood."""
        point = self._points[at]
        entries = self._entries(point.seq)
        if self._is_ahead(point, entries):
            return
        copy = self._copy()
        copy.feed(entries)
        said = copy.say(point.now)
        self._same(point, copy, f"from scratch at {point.seq}")
        before = {word for each in self._points[: at + 1] for word in each.said}
        new = [word for word in said if word not in before]
        if new:
            raise Wrong(f"{self._run.id} at {point.seq}: only a replay from scratch asks {new}")
        known = keys_of_history(entries)
        again = [word for word in said if key_of(word) in known]
        if again:
            raise Wrong(f"{self._run.id} at {point.seq}: history holds {again} already")
        missing = [word for word in point.said if word not in said and not _is_early(word, entries)]
        if copy.replay.is_over:  # then it need not cancel timers
            missing = [word for word in missing if b"CancelTimer" not in word]
        if missing:
            raise Wrong(
                f"{self._run.id} at {point.seq}: a replay from scratch does not ask {missing}"
            )

    def _in_step(self, first: int, dice: Random, *, coarse: bool) -> None:
        """A copy that takes over at some point goes on like the live ones, point by point."""
        copy, fed = self._copy(), 0
        for at in range(first, len(self._points)):
            point = self._points[at]
            entries = self._entries(point.seq)
            is_last = at == len(self._points) - 1
            if (
                (coarse and not is_last and dice.random() < 0.5)
                or point.seq < fed
                or self._is_ahead(point, entries)
            ):
                continue
            if self._was_voided(fed, point.seq) or copy.replay.is_over:
                copy, fed = self._copy(), 0
            if fed and self._patches and point.state["patches"] != copy.state["patches"]:
                new = set(point.state["patches"]) - set(copy.state["patches"])
                known = {
                    name: value for name, value in point.state["patches"].items() if name not in new
                }
                if known != copy.state["patches"]:
                    break  # what it had said was lost with its worker
            copy.feed([entry for entry in entries if entry.seq > fed])
            copy.say(point.now)
            fed = point.seq
            if self._patches and copy.state["patches"] != point.state["patches"]:
                break  # the same: the worker saw the calls in other company
            self._same(point, copy, f"in step from {self._points[first].seq}, at {point.seq}")

    def _one_by_one(self, dice: Random) -> None:
        """Events in any portions: the same place."""
        wanted = {point.seq: point for point in self._points}
        copy, fed = self._copy(), 0
        portion: list[Entry] = []
        last = self._points[-1].seq
        for entry in self._entries(last):
            portion.append(entry)
            point = wanted.get(entry.seq)
            if point is None and dice.random() < 0.5:
                continue
            copy.feed(portion)
            portion, fed = [], entry.seq
            is_whole = not any(
                by <= last and seq <= fed < by
                for (no, seq), by in self._story.world.voided.items()
                if no == self._run.no
            )
            if point is not None and is_whole:
                copy.say(point.now)
                self._same(point, copy, f"in other portions, at {fed}")
            if copy.replay.is_over:
                break

    # -- parts ------------------------------------------------------------------------------------

    def _copy(self) -> Copy:
        self._copies.append(Copy(self._workflow, self._run.id))
        return self._copies[-1]

    def _entries(self, until: int) -> list[Entry]:
        events = self._story.standing(self._run, until)
        for event in events:
            if event.seq not in self._cache:
                text = entries_text([event])
                (self._cache[event.seq],) = _read_entries(f"[{text}]".encode())
        return [self._cache[event.seq] for event in events]

    def _is_ahead(self, point: Point, entries: list[Entry]) -> bool:
        """The live copy knows of a patch it has spoken of, and history does not yet."""
        recorded = {
            msgspec.json.decode(entry.payload)["patch_id"]
            for entry in entries
            if entry.type == "PatchRecorded"
        }
        said = {word for word in point.said if b"RecordPatch" in word}
        return any(
            value
            and name not in recorded
            and not any(f'"{name}"'.encode() in word for word in said)
            for name, value in point.state["patches"].items()
        )

    def _was_voided(self, after: int, until: int) -> bool:
        return any(
            no == self._run.no and after < by <= until
            for (no, _), by in self._story.world.voided.items()
        )

    def _same(self, point: Point, copy: Copy, how: str) -> None:
        differences = list(differing(point.state, copy.state))
        if differences:
            raise Wrong(f"{self._run.id} {how}: {differences}")


def key_of(word: bytes) -> tuple[Any, ...]:
    """What a command asks for."""
    said = msgspec.json.decode(word)
    if isinstance(said, list):
        return "RecordSideEffect", said[0]
    match said["type"]:
        case "WaitForSignal":
            return "WaitForSignal", said["name"], said.get("timer_seq")
        case "StartChildWorkflow":
            return "StartChildWorkflow", said["workflow_id"]
        case "RecordPatch":
            return "RecordPatch", said["id"]
        case kind:
            return kind, said.get("seq")


KEYS = {
    "ActivityScheduled": ("ScheduleActivity", "activity_seq"),
    "TimerScheduled": ("ScheduleTimer", "timer_seq"),
    "TimerCancelled": ("CancelTimer", "timer_seq"),
    "ChildWorkflowStarted": ("StartChildWorkflow", "child_workflow_id"),
    "SideEffectRecorded": ("RecordSideEffect", "side_effect_seq"),
    "PatchRecorded": ("RecordPatch", "patch_id"),
    "SearchAttributesUpserted": ("UpsertSearchAttributes", "upsert_seq"),
}


def keys_of_history(entries: list[Entry]) -> set[tuple[Any, ...]]:
    """What history holds: of waits only those that nothing has answered since."""
    keys: set[tuple[Any, ...]] = set()
    waits: set[tuple[str, str, int | None]] = set()
    for entry in entries:
        said = msgspec.json.decode(entry.payload)
        if entry.type in KEYS:
            command, field = KEYS[entry.type]
            keys.add((command, said[field]))
        elif entry.type == "WorkflowAwaitingSignal":
            waits.add(("WaitForSignal", said["signal"], said.get("timer_seq")))
        elif entry.type == "SignalReceived":
            waits = {key for key in waits if key[1] != said["signal"]}
        elif entry.type == "TimerFired":
            waits = {key for key in waits if key[2] != said["timer_seq"]}
    return keys | waits


def _is_early(word: bytes, entries: list[Entry]) -> bool:
    """The live copy cancels a timer that has gone out and is not in history yet."""
    said = msgspec.json.decode(word)
    if not isinstance(said, dict) or said["type"] != "CancelTimer":
        return False
    scheduled = (entry for entry in entries if entry.type == "TimerScheduled")
    return all(msgspec.json.decode(each.payload)["timer_seq"] != said["seq"] for each in scheduled)


def differing(live: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    """What is not the same, with both."""
    for name in sorted({*live, *other}):
        if live.get(name) != other.get(name):
            yield f"{name} is {live.get(name)!r} live, {other.get(name)!r} here"
