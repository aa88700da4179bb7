"""`assay.blocking.open`: an engine in this process, for plain functions and threads."""

import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

from assay.embedded import app as awaited
from assay.sdk.blocking import Client
from assay.sdk.convert import DEFAULT, Codec
from assay.sdk.portal import Portal


class App(Client):
    """A client whose engine and worker live in this very process; close it, or use `with`."""

    _twin: awaited.App

    def __init__(self, portal: Portal, twin: awaited.App, stack: AsyncExitStack) -> None:
        super().__init__(portal, twin)
        self._stack = stack

    def serve(
        self,
        queue: str = "default",
        *,
        max_concurrent_workflows: int = 100,
        max_concurrent_activities: int = 20,
    ) -> None:
        """Run what is registered for that queue, beside the caller."""
        self._portal.call(
            self._twin.serve(
                queue,
                max_concurrent_workflows=max_concurrent_workflows,
                max_concurrent_activities=max_concurrent_activities,
            )
        )

    def close(self) -> None:
        """Hand back what is in hand, stop the engine, give up the store."""
        try:
            self._portal.call(self._stack.aclose())
        finally:
            super().close()


def open(  # noqa: A001 - assay.blocking.open reads as the builtin does
    backend: str | os.PathLike[str],
    *,
    workflows: Sequence[Callable[..., Any]] = (),
    activities: Sequence[Callable[..., Any]] = (),
    queue: str = "default",
    namespace: str = "main",
    codec: Codec = DEFAULT,
    max_concurrent_workflows: int = 100,
    max_concurrent_activities: int = 20,
) -> App:
    """An engine in this process, as `assay.open` makes one."""
    portal, stack = Portal(), AsyncExitStack()

    async def begin() -> awaited.App:
        return await stack.enter_async_context(
            awaited.open(
                backend,
                workflows=workflows,
                activities=activities,
                queue=queue,
                namespace=namespace,
                codec=codec,
                max_concurrent_workflows=max_concurrent_workflows,
                max_concurrent_activities=max_concurrent_activities,
            )
        )

    return App(portal, portal.open(begin), stack)
