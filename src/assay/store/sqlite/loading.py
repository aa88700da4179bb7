"""How rows are read from SQLite: the plan's queries one after the other, lists as JSON arrays."""

from collections.abc import Sequence
from typing import Any

import apsw
import msgspec

from assay.core.view import Key
from assay.store.loading import load_plan
from assay.store.port import Loaded


class Loading:
    """Loads what a batch asked for."""

    def __init__(self, connection: apsw.Connection, queries: dict[str, str]) -> None:
        self._connection = connection
        self.queries = queries

    def load(self, keys: Sequence[Key]) -> Loaded:
        """Rows by key, from one moment: nobody else writes."""
        plan = load_plan(keys)
        try:
            ask = next(plan)
            while True:
                ask = plan.send(self.rows(ask.query, *map(_spoken, ask.parameters)))
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return] # what load_plan returns

    def rows(self, name: str, *parameters: object) -> list[tuple[Any, ...]]:
        """All rows of a named query."""
        return self._connection.execute(self.queries[name], parameters).fetchall()


def _spoken(parameter: object) -> object:
    return msgspec.json.encode(parameter).decode() if isinstance(parameter, list) else parameter
