"""The stock of numbers: given once, asked for when it is used up."""

import pytest

from assay.core.view import Key, Missing, Need
from assay.engine import numbers as module
from assay.engine.limits import NUMBERS_PER_BLOCK
from assay.engine.numbers import Stock
from assay.model.operations import Start, Started
from tests.unit.engine.bench import Bench


def test_an_empty_stock_asks_for_a_block() -> None:
    with pytest.raises(Missing) as gap:
        Stock().take()
    assert gap.value.keys == (Key(Need.NUMBERS, NUMBERS_PER_BLOCK),)


def test_every_number_of_a_block_is_given_once() -> None:
    stock = Stock()
    stock.refill(7, 3)
    stock.rewind()
    assert [stock.take() for _ in range(3)] == [7, 8, 9]
    with pytest.raises(Missing):
        stock.take()
    stock.keep()
    stock.refill(20, 1)
    stock.rewind()
    assert stock.take() == 20


def test_a_batch_decided_anew_takes_its_numbers_again_and_those_of_the_next_block() -> None:
    stock = Stock()
    stock.refill(7, 2)
    for _ in range(2):
        stock.rewind()
        assert [stock.take() for _ in range(2)] == [7, 8]
    stock.refill(50, 2)
    stock.rewind()
    assert [stock.take() for _ in range(3)] == [7, 8, 50]
    stock.keep()
    stock.rewind()
    assert stock.take() == 51


def test_a_batch_that_uses_up_a_block_is_decided_anew_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "NUMBERS_PER_BLOCK", 9)
    bench = Bench()
    callers = [bench.submit(Start("order", f"wf-{n}")) for n in range(4)]
    bench.run()
    runs = [caller.outcome.run for caller in callers if isinstance(caller.outcome, Started)]
    more = bench.submit(*[Start("order", f"more-{n}") for n in range(4)])
    bench.run()
    runs += [answer.run for answer in more.answers if isinstance(answer, Started)]
    assert len(runs) == 8
    assert len({run.no for run in runs}) == 8
    assert len(bench.loads) > 1


def test_two_engines_on_one_store_never_share_a_number() -> None:
    one = Bench(exclusive=False)
    two = Bench(one.store, exclusive=False)
    for n in range(3):
        one.do(Start("order", f"one-{n}"))
        two.do(Start("order", f"two-{n}"))
    nos = [one.stored(f"{name}-{n}").no for name in ("one", "two") for n in range(3)]
    assert len(set(nos)) == 6
