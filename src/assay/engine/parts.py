"""What a batch works with: the engine's memory and rules, handed down."""

from assay.core.decide import Rules
from assay.engine.index import Index
from assay.engine.numbers import Stock
from assay.engine.wants import Wants


class Parts:
    """Shared by the machine and the batch in hand."""

    __slots__ = ("exclusive", "index", "rules", "stock", "wants")

    def __init__(self, *, exclusive: bool, rules: Rules) -> None:
        self.exclusive = exclusive
        self.rules = rules
        self.index = Index()
        self.wants = Wants()
        self.stock = Stock()
