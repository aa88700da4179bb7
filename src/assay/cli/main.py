"""The first that runs of the command line: it loads nothing before a server can be stopped.

A server that is asked to stop ends with 0 (contract §19), from its first moment on; loading all
that it needs takes longer than many a supervisor waits before it thinks better of a start.
"""

import signal
import sys
from collections.abc import Sequence
from types import FrameType

SERVER = "serve"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if arguments is None and SERVER in words[:1]:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _leave)
    from assay.cli.group import run

    return run(words)


def _leave(_number: int, _frame: FrameType | None) -> None:
    """Nothing is open yet that would have to be closed."""
    raise SystemExit(0)
