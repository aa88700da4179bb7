"""Cases are sent, and their answers held against what they may be."""

import asyncio
from collections.abc import Iterable

from tests.properties.door.furnished import PREFIXES
from tests.properties.door.requests import HELD, Case
from tests.support.http import NOTHING, Answer, Lost
from tests.support.inside import House, changed

AT_ONCE = 64  # beside each other, so that they meet in batches
PATIENCE_SECS = 0.02  # then a held poll is left


async def play(house: House, cases: Iterable[Case]) -> None:
    """Send all of them; the refused ones together must leave no trace."""
    before = await house.tables.rows()
    played = list(cases)
    refused = [case for case in played if case.is_refused]
    await ask_all(house, refused)
    if changes := changed(before, await house.tables.rows()):
        await find_culprit(house, refused)
        raise AssertionError(f"{changes} by one of {shown(refused[0])} ..., but only once")
    await ask_all(house, [case for case in played if not case.is_refused])


async def ask_all(house: House, cases: list[Case]) -> None:
    for start in range(0, len(cases), AT_ONCE):
        await asyncio.gather(*(ask(house, case) for case in cases[start : start + AT_ONCE]))


async def find_culprit(house: House, cases: list[Case]) -> None:
    for case in cases:
        before = await house.tables.rows()
        await ask(house, case)
        after = await house.tables.rows()
        assert not changed(before, after), shown(case)


async def ask(house: House, case: Case) -> Answer:
    """One case, by one of the prefixes."""
    answer = await answer_to(house, case, PREFIXES[len(case.body or b"") % 2])
    assert answer.status in case.expected, f"{answer} to {shown(case)}"
    check_form(answer)
    return answer


async def answer_to(house: House, case: Case, prefix: str) -> Answer:
    body = NOTHING if case.body is None else case.body
    try:
        return await house.http.request(
            case.method, prefix + case.path, body, headers=case.headers, timeout=PATIENCE_SECS
        )
    except Lost:
        return Answer(HELD, {"content-length": "0"}, b"")


def check_form(answer: Answer) -> None:
    """An error has its body, an answer says how long it is."""
    if answer.status >= 400:
        assert answer.headers["content-type"] == "application/json", answer
        assert set(answer.json()) == {"error"}, answer
        assert answer.error.strip(), answer
    elif not answer.body:
        assert answer.status == 204 or answer.headers["content-length"] == "0", answer


def shown(case: Case) -> str:
    return f"{case.method} {case.path[:300]} {(case.body or b'')[:300]!r} {dict(case.headers)}"
