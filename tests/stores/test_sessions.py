"""A proxy that pools transactions is refused at the start, with the reason."""

from __future__ import annotations

import pytest

from assay.errors import StoreFault
from tests.stores.places import Place, run
from tests.stores.rows import a_run, new, write
from tests.stores.wires import PoolingProxy, Wire


def test_a_proxy_that_pools_transactions_is_refused(shared_place: Place) -> None:
    async def work() -> None:
        async with PoolingProxy(shared_place.address).laid() as url:
            with pytest.raises(StoreFault, match="pools transactions"):
                await Place("postgres", url).store().open()

    run(work())


def test_a_proxy_that_keeps_sessions_is_welcome(shared_place: Place) -> None:
    async def work() -> None:
        wire = Wire(shared_place.address)
        async with wire.laid() as url, Place("postgres", url).opened() as instance:
            await write(instance, runs=[new(a_run(2))])

    run(work())
