"""Numbers of rows and of instances are given once, whoever asks and however often."""

from __future__ import annotations

import asyncio

from assay.core.view import Key, Need
from tests.stores.places import Instance, Place, run
from tests.stores.rows import load


async def block(instance: Instance, count: int) -> range:
    loaded = await load(instance, Key(Need.NUMBERS, count))
    assert loaded.numbers == count
    assert loaded.first_number is not None
    return range(loaded.first_number, loaded.first_number + count)


def test_blocks_do_not_overlap(place: Place) -> None:
    async def work() -> None:
        async with place.opened() as instance:
            blocks = [await block(instance, count) for count in (1, 100_000, 7)]
            taken = [no for each in blocks for no in (each[0], each[-1])]
            assert taken == sorted(taken)
            assert len({taken[0], taken[2], taken[4]}) == 3
            assert blocks[0][0] > 0

    run(work())


def test_a_restart_takes_no_number_twice(lasting_place: Place) -> None:
    async def work() -> None:
        taken: list[int] = []
        instances: list[int] = []
        for _ in range(3):
            async with lasting_place.opened() as instance:
                instances.append(instance.no)
                taken += await block(instance, 10)
        assert len(set(taken)) == 30
        assert len(set(instances)) == 3

    run(work())


def test_two_stores_never_get_the_same_number(shared_place: Place) -> None:
    async def work() -> None:
        async with shared_place.opened() as one, shared_place.opened() as other:
            assert one.no != other.no
            asked = [block(instance, 10) for _ in range(25) for instance in (one, other)]
            blocks = await asyncio.gather(*asked)
            assert len({no for each in blocks for no in each}) == 500

    run(work())
