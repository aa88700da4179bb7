"""A seed, its program, and the stories told of it: in a calm world, a forgetful and a rough one."""

import json
from itertools import zip_longest
from random import Random
from typing import Any
from unittest import mock

from assay.model.events import Event
from assay.server.routes import exchange as route
from tests.properties.workflows.checks import Story
from tests.properties.workflows.inventing import invent
from tests.properties.workflows.programs import Program, smaller, text
from tests.properties.workflows.replays import Point, written_down
from tests.properties.workflows.will import Will
from tests.properties.workflows.world import World, Wrong

CALM, FORGETFUL, *_ = MOODS = ("calm", "forgetful", "rough", "rougher")
TRIES = 400
PAGE = route.LARGEST_HISTORY  # sometimes it is much less, so that histories come in parts
OF_ITS_OWN = ("activity_id", "timer_id", "failure")
Histories = dict[str, list[Any]]


def tell(program: Program, seed: int, mood: str) -> Histories:
    """Play it to its end, and check everything; the histories."""
    dice = Random(f"{mood} {seed}")
    kept = {CALM: 100, FORGETFUL: 0}.get(mood, dice.choice((0, 1, 100, 100)))
    page = PAGE if mood in (CALM, FORGETFUL) else dice.choice((300, PAGE, PAGE, PAGE))
    points: list[Point] = []
    world = World(program, kept=kept)
    try:
        will = Will(world, program, dice, calm=mood in (CALM, FORGETFUL))
        with mock.patch.object(route, "LARGEST_HISTORY", page), written_down(points):
            will.run()
        Story(program, world, will, points).check(dice)
        runs = world.runs.values()
        return {run.id: [said(event) for event in world.events[run.no]] for run in runs}
    finally:
        world.close()


def said(event: Event) -> tuple[int, str, Any]:
    """What an event says, but for numbers and traces."""
    payload = json.loads(event.payload or "null")
    if isinstance(payload, dict):
        payload = {name: value for name, value in payload.items() if name not in OF_ITS_OWN}
    return event.seq, event.type, payload


def compare(kept: Histories, anew: Histories) -> None:
    """Whether copies are kept or every task begins with a new one, the same is told."""
    for id, history in kept.items():
        for event, other in zip_longest(history, anew.get(id, ())):
            if event != other:
                raise Wrong(f"{id}: with live copies {event} is told, without them {other}")


def complaint(program: Program, seed: int) -> str | None:
    """What is wrong with its stories."""
    mood = ""
    told: dict[str, Histories] = {}
    try:
        for mood in MOODS:
            told[mood] = tell(program, seed, mood)
        mood = FORGETFUL
        compare(told[CALM], told[FORGETFUL])
    except Exception as fault:
        return f"{mood}: {type(fault).__name__}: {fault}"
    return None


def shrunk(program: Program, seed: int) -> tuple[Program, str]:
    """The least of it that is still wrong, and how."""
    found = complaint(program, seed) or ""
    tries, goes_on = 0, True
    while goes_on and tries < TRIES:
        goes_on = False
        for less in smaller(program):
            tries += 1
            wrong = complaint(less, seed)
            if wrong is not None:
                program, found, goes_on = less, wrong, True
                break
    return program, found


def report(seed: int) -> str | None:
    """What is wrong with the stories of a seed, with the smallest program that shows it."""
    found = complaint(invent(seed), seed)
    if found is None:
        return None
    program, wrong = shrunk(invent(seed), seed)
    return f"seed {seed}, {found}\nthe smallest: {wrong}\n{text(program)}"
