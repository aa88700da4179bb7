"""A worker as a process of its own, for tests that end it one way or another."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.server import Server, clean_environment

END_SECS = 10.0


class WorkerProcess:
    """`python -m MODULE URL QUEUE ...`; everything it says goes to `log`."""

    def __init__(self, module: str, server: Server, queue: str, *more: str, log: Path) -> None:
        url = f"http://{server.host}:{server.port}"
        self.log = log
        with log.open("ab") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, url, queue, *more],
                env=clean_environment(),
                stdout=sink,
                stderr=sink,
            )

    def kill(self) -> None:
        """End it without a warning, wherever it is."""
        self.process.kill()
        self.process.wait(END_SECS)

    def freeze(self) -> None:
        """It stands still; its connections stay."""
        self.process.send_signal(signal.SIGSTOP)

    def terminate(self) -> int:
        """Ask it to end; how it ended."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(END_SECS)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]


@contextlib.contextmanager
def ended(processes: list[WorkerProcess]) -> Iterator[None]:
    """None of them is left afterwards."""
    try:
        yield
    finally:
        for each in processes:
            if each.alive:
                each.kill()
