"""How queries of clients are asked of PostgreSQL: on connections of their own."""

from collections.abc import Sequence

from assay.store.postgres.line import Lines, fetch
from assay.store.postgres.loading import storable
from assay.store.reading import Ask
from assay.store.rows import Row


def asker(lines: Lines, queries: dict[str, str]) -> Ask:
    """Named queries over a few sessions; lists travel as arrays."""

    async def ask(name: str, *parameters: object) -> Sequence[Row]:
        async with lines.session() as session:
            return await fetch(session, queries[name], *map(storable, parameters))

    return ask
