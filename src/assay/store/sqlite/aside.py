"""Lists that may have to look far, read beside the loop: a second connection on its own thread.

The engine must not stand still for them. The rows come as one JSON text, in one step of the
database: beside a busy loop each further step would wait for the interpreter.
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

import apsw
import msgspec

from assay.errors import StoreUnavailable
from assay.store.far_lists import SIFTING, SKIPPING
from assay.store.rows import RUN_COLUMNS, Row

AGAIN_SECS = 0.01

_COLUMNS = ", ".join((*RUN_COLUMNS, "parent", "input", "result"))
_CACHE = "PRAGMA query_only = ON; PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY"
_decode = msgspec.json.Decoder(list[list[int | float | str | None]]).decode


class Aside:
    """A reader of a file that others write; it opens when it is first needed."""

    def __init__(self, path: str, queries: Mapping[str, str]) -> None:
        self._path = path
        self._queries = {name: in_one_row(queries[name]) for name in SIFTING | SKIPPING}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="assay-lists")
        self._readings: set[Future[str]] = set()
        self._connection: apsw.Connection | None = None

    async def rows(self, name: str, parameters: tuple[object, ...]) -> Sequence[Row]:
        """All rows of a list; others wait for it, the loop does not."""
        reading = self._thread.submit(self._read, self._queries[name], parameters)
        self._readings.add(reading)
        reading.add_done_callback(self._readings.discard)
        text: str = await asyncio.wrap_future(reading)
        return _decode(text)

    def close(self) -> None:
        """Whoever still reads is told that the database is gone."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        while readings := set(self._readings):
            # A statement that begins only now has not heard the call before.
            if self._connection is not None:
                self._connection.interrupt()
            wait(readings, timeout=AGAIN_SECS)
        if self._connection is not None:
            self._connection.close()

    def _read(self, query: str, parameters: tuple[object, ...]) -> str:
        try:
            if self._connection is None:
                self._connection = apsw.Connection(self._path)
                self._connection.execute(_CACHE)
            [(text,)] = self._connection.execute(query, parameters)
        except apsw.Error as error:
            raise StoreUnavailable(f"{self._path} cannot be read: {error}") from error
        return str(text)


def in_one_row(query: str) -> str:
    """The rows of a list, in their order, as one JSON array."""
    whole = f"SELECT json_group_array(json_array({_COLUMNS})) FROM found"
    return f"WITH found ({_COLUMNS}) AS ({query}) {whole}"
