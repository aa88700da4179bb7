"""Which requests are sent again, against a transport whose every answer is scripted."""

from __future__ import annotations

import asyncio

import pytest

from assay.sdk.faults import AnswerLost, EngineUnreachable, NotAnswered, RequestTimeout
from assay.sdk.retrying import Retrying
from assay.sdk.transport import ANSWER_SECS, Reply

OK = Reply(200, b"")
Said = Reply | Exception


class Line:
    """A transport that answers from a list, and notes when it was asked."""

    def __init__(self, *answers: Said) -> None:
        self.left = list(answers)
        self.asked_at: list[float] = []

    async def request(
        self, method: str, path: str, body: bytes | None = None, *, secs: float = ANSWER_SECS
    ) -> Reply:
        self.asked_at.append(asyncio.get_running_loop().time())
        said = self.left.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    def from_thread(self) -> None:
        return None

    async def close(self) -> None: ...


def ask(line: Line, method: str, *, repeatable: bool = False, patience: float = 5.0) -> Reply:
    retrying = Retrying(line, patience_secs=patience, chance=lambda: 1.0)
    return asyncio.run(retrying.request(method, "/", repeatable=repeatable))


LOST: list[Said] = [AnswerLost(), NotAnswered(), Reply(500, b"")]
UNDONE: list[Said] = [EngineUnreachable(), Reply(503, b"")]


@pytest.mark.parametrize("said", [*UNDONE, *LOST])
@pytest.mark.parametrize(("method", "repeatable"), [("GET", False), ("POST", True)])
def test_what_may_be_done_twice_is_sent_again(said: Said, method: str, repeatable: bool) -> None:
    assert ask(Line(said, OK), method, repeatable=repeatable) == OK


@pytest.mark.parametrize("said", UNDONE)
def test_what_has_not_been_done_is_sent_again_whatever_it_is(said: Said) -> None:
    assert ask(Line(said, said, OK), "POST") == OK


@pytest.mark.parametrize("said", LOST)
def test_what_may_have_happened_is_not_sent_again(said: Said) -> None:
    line = Line(said, OK)
    if isinstance(said, Exception):
        with pytest.raises(type(said)):
            ask(line, "POST")
    else:
        assert ask(line, "POST") == said
    assert len(line.asked_at) == 1


@pytest.mark.parametrize("said", [Reply(404, b""), Reply(409, b""), RequestTimeout()])
def test_what_was_answered_or_took_its_time_is_not_sent_again(said: Said) -> None:
    line = Line(said, OK)
    if isinstance(said, Exception):
        with pytest.raises(RequestTimeout):
            ask(line, "GET")
    else:
        assert ask(line, "GET") == said
    assert len(line.asked_at) == 1


def test_pauses_grow_and_patience_ends() -> None:
    line = Line(*[EngineUnreachable() for _ in range(9)])
    with pytest.raises(EngineUnreachable):
        ask(line, "GET", patience=0.4)
    pauses = [
        later - sooner for sooner, later in zip(line.asked_at, line.asked_at[1:], strict=False)
    ]
    assert len(pauses) == 3
    for pause, least in zip(pauses, (0.05, 0.1, 0.2), strict=True):
        assert least * 0.9 < pause < least + 0.1


def test_the_last_answer_is_given_when_patience_ends() -> None:
    line = Line(EngineUnreachable(), Reply(503, b"stopping"), Reply(503, b"stopped"))
    assert ask(line, "GET", patience=0.12) == (503, b"stopping")


def test_dead_connections_cost_no_time() -> None:
    line = Line(*[NotAnswered() for _ in range(5)], OK)
    assert ask(line, "GET") == OK
    assert line.asked_at[-1] - line.asked_at[0] < 0.04
