"""How queries of clients are asked of PostgreSQL: on connections of their own."""

from collections.abc import Sequence

from assay.store.far_lists import looks_far
from assay.store.postgres.line import Lines, fetch
from assay.store.postgres.loading import storable
from assay.store.reading import Ask
from assay.store.rows import Row


def asker(lines: Lines, far: Lines, queries: dict[str, str]) -> Ask:
    """Named queries over a few sessions, and over others where they may take long.

    Lists travel as arrays.
    """

    async def ask(name: str, *parameters: object) -> Sequence[Row]:
        async with (far if looks_far(name, parameters) else lines).session() as session:
            return await fetch(session, queries[name], *map(storable, parameters))

    return ask
