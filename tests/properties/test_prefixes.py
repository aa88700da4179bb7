"""Every route is there under both prefixes, and answers the same (contract §2.1)."""

import asyncio
from collections.abc import Coroutine, Iterator

from assay.server.route import Route
from assay.server.routes.table import ROUTES
from tests.properties.door.asking import AT_ONCE, answer_to
from tests.properties.door.bodies import body_cases
from tests.properties.door.furnished import PREFIXES, furnished
from tests.properties.door.paths import method_cases, query_cases, segment_cases
from tests.properties.door.requests import Case, Targets, path_of
from tests.properties.door.soundness import check_life, check_world
from tests.properties.door.states import state_cases
from tests.properties.door.world import World
from tests.support.http import Answer
from tests.support.inside import House

Call = Coroutine[None, None, Answer]


def calm_cases(route: Route, targets: Targets) -> Iterator[Case]:
    """What can be asked twice: looks, and what is refused."""
    if route.method == "GET":
        yield Case("GET", path_of(route, targets), None, frozenset())
    cases = [*query_cases(route, targets), *segment_cases(route)]
    if route.takes is not None:
        cases += body_cases(route, targets)
    yield from (case for case in cases if case.is_refused or case.method == "GET")


def batched(calls: list[Call]) -> Iterator[list[Call]]:
    for start in range(0, len(calls), AT_ONCE):
        yield calls[start : start + AT_ONCE]


def test_every_route_answers_the_same_under_both(database: str) -> None:
    async def story(house: House, world: World) -> None:
        cases = [case for route in ROUTES.routes for case in calm_cases(route, world.targets)]
        cases += [*state_cases(world), *(case for case, _ in method_cases(world.targets))]
        shorter, longer = (prefix.encode() for prefix in PREFIXES)
        calls = [answer_to(house, case, prefix) for case in cases for prefix in PREFIXES]
        answers = [answer for some in batched(calls) for answer in await asyncio.gather(*some)]
        for case, first, second in zip(cases, answers[::2], answers[1::2], strict=True):
            assert first.status == second.status, case
            assert first.body == second.body.replace(longer, shorter), case
            assert first.headers.keys() == second.headers.keys(), case

    furnished(database, story)


def test_the_longer_prefix_is_as_good_as_the_shorter(database: str) -> None:
    """A world made through it is like any other."""

    async def story(house: House, world: World) -> None:
        await check_world(world.api, world.runs)
        await check_life(world.api)

    furnished(database, story, prefix=PREFIXES[1])
