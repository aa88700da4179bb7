"""assay without `await`: the same calls, made from plain functions and threads.

connect     a client of an engine that is served
open        an engine in this process; workflows and activities run in a thread of its own
"""

from importlib import import_module
from typing import TYPE_CHECKING

from assay.sdk.blocking import Client, connect

if TYPE_CHECKING:
    from assay.embedded.blocking import App, open  # noqa: A004 - reads as the builtin does

__all__ = ["App", "Client", "connect", "open"]


def __getattr__(name: str) -> object:
    """A client of a server does not load an engine."""
    if name in ("App", "open"):
        return getattr(import_module("assay.embedded.blocking"), name)
    raise AttributeError(f"assay.blocking has no {name!r}; it has {', '.join(__all__)}")
