"""A batch without a lease that may answer a claim from before: news is not taken for answered."""

from assay.model.operations import Signal
from tests.unit.core.desk import Desk


def test_a_late_batch_counts_as_one_though_another_worker_has_answered_meanwhile() -> None:
    desk = Desk()
    desk.start()
    desk.claim(worker="w1")
    desk.expire()
    desk.claim(worker="w2")
    desk.submit(worker="w2")
    desk.do(Signal("wf", "news"))
    desk.claim(worker="w1")
    desk.submit(worker="w1")  # it may be the batch for the first claim, which knows no news
    assert desk.at().ready_at is not None


def test_a_worker_that_has_answered_has_nothing_old_to_answer() -> None:
    desk = Desk()
    desk.start()
    desk.claim(worker="w1")
    desk.expire()
    desk.claim(worker="w1")
    desk.submit(worker="w1")
    assert desk.at().ready_at is not None
    desk.claim(worker="w1")
    desk.submit(worker="w1")
    assert desk.at().ready_at is None, "one doubt, one more turn: it must not spin"
