"""Known or new: whatever order records come in, and however they share batches and decisions."""

from hypothesis import given
from hypothesis import strategies as st

from assay.model.commands import (
    Command,
    RecordPatch,
    RecordSideEffect,
    RecordStep,
    UpsertSearchAttributes,
)
from assay.model.events import EventType
from tests.unit.core.desk import Desk, said

seqs = st.integers(1, 4)
effects = st.builds(RecordSideEffect, seqs, st.just("dice"), st.just("7"))
steps = st.builds(
    RecordStep,
    seqs,
    st.just("charge"),
    st.integers(1, 3),
    st.just("7"),
    st.sampled_from([None, "broke"]),
    st.booleans(),
    st.sampled_from([0.0, 5.0]),
).map(lambda each: each if each.error or each.final else _failed(each))
patches = st.builds(RecordPatch, st.sampled_from(["a", "b"]))
upserts = st.builds(UpsertSearchAttributes, st.just('{"a":1}'), seqs)
batches = st.lists(st.lists(effects | steps | patches | upserts, max_size=5), max_size=6)


def _failed(command: RecordStep) -> RecordStep:
    seq, name, attempt = command.seq, command.name, command.attempt
    return RecordStep(seq, name, attempt, None, "broke", False, command.retry_in_secs)


class Book:
    """What is in history, by a rule of one line for each kind."""

    def __init__(self) -> None:
        self.entries: list[tuple[EventType, object]] = []
        self._known: set[object] = set()
        self.wakes = False

    def note(self, command: Command) -> None:
        match command:
            case RecordSideEffect(seq=seq):
                if self._is_new(("effect", seq)):
                    self._add(EventType.SIDE_EFFECT_RECORDED, seq)
                    self.wakes = True
            case RecordStep(seq=seq, attempt=attempt, final=final):
                if ("final", seq) in self._known or ("attempt", seq, attempt) in self._known:
                    return
                self._known.add(("final", seq) if final else ("attempt", seq, attempt))
                self._add(_kind(command), (seq, attempt))
                self.wakes |= final or command.retry_in_secs == 0
            case RecordPatch(id=id):
                if self._is_new(("patch", id)):
                    self._add(EventType.PATCH_RECORDED, id)
            case UpsertSearchAttributes(seq=seq):
                if self._is_new(("upsert", seq)):
                    self._add(EventType.SEARCH_ATTRIBUTES_UPSERTED, seq)

    def _is_new(self, key: object) -> bool:
        new = key not in self._known
        self._known.add(key)
        return new

    def _add(self, kind: EventType, about: object) -> None:
        self.entries.append((kind, about))


def _kind(command: RecordStep) -> EventType:
    if command.error is None:
        return EventType.STEP_COMPLETED
    return EventType.STEP_FAILED if command.final else EventType.STEP_ATTEMPT_FAILED


def entries(desk: Desk) -> list[tuple[EventType, object]]:
    """What history holds, in the same words."""
    found: list[tuple[EventType, object]] = []
    for event in desk.events()[1:]:
        text = said(event)
        keys = ("side_effect_seq", "patch_id", "upsert_seq")
        single = [text[key] for key in keys if key in text]
        found.append((event.type, single[0] if single else (text["step_seq"], text["attempt"])))
    return found


@given(batches)
def test_every_record_is_in_history_once(given_batches: list[list[Command]]) -> None:
    desk, book = Desk(), Book()
    desk.start()
    for batch in given_batches:
        book.wakes = False
        desk.step(*batch)
        for command in batch:
            book.note(command)
        assert entries(desk) == book.entries
        pure = all(isinstance(command, UpsertSearchAttributes) for command in batch)
        if not pure:
            assert (desk.at().ready_at is not None) is book.wakes
