"""How queries of clients are asked of SQLite: on the loop's own thread, unless they look far."""

from collections.abc import Sequence

import apsw
import msgspec

from assay.errors import StoreUnavailable
from assay.store.far_lists import looks_far
from assay.store.reading import Ask
from assay.store.rows import Row
from assay.store.sqlite.aside import Aside


def asker(connection: apsw.Connection, queries: dict[str, str], aside: Aside | None) -> Ask:
    """Named queries over one connection; lists travel as JSON arrays."""

    async def ask(name: str, *parameters: object) -> Sequence[Row]:
        spoken = tuple(map(_spoken, parameters))
        if aside is not None and looks_far(name, spoken):
            return await aside.rows(name, spoken)
        try:
            return connection.execute(queries[name], spoken).fetchall()
        except apsw.Error as error:
            raise StoreUnavailable(f"the database cannot be read: {error}") from error

    return ask


def _spoken(parameter: object) -> object:
    if isinstance(parameter, list):
        return msgspec.json.encode(parameter).decode()
    return parameter
