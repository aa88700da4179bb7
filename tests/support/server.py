"""`assay serve` as a process of its own: started, stopped, killed, started again."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

START_SECS = 15.0
STOP_SECS = 5.0  # what the contract grants a graceful stop
PORTS = range(20_000, 32_000)  # below those the system lends to outgoing connections
TAIL = 1_500


def free_port() -> int:
    """A port that nobody listens on and no client connection can be given meanwhile."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def clean_environment(overrides: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without anything that speaks to assay, plus the overrides."""
    ours = ("ASSAY_", "DATABASE_URL", "RUST_LOG")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return kept | dict(overrides or {})


def command(backend: str | None, port: int, arguments: Sequence[str] = ()) -> list[str]:
    choice = ["--backend", backend] if backend is not None else []
    return [sys.executable, "-m", "assay", "serve", *choice, "--port", str(port), *arguments]


def refused_start(
    backend: str | None,
    port: int,
    environment: Mapping[str, str] | None = None,
    *,
    arguments: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run a server that is expected to give up at once."""
    return subprocess.run(
        command(backend, port, arguments),
        env=clean_environment(environment),
        capture_output=True,
        text=True,
        timeout=START_SECS,
        check=False,
    )


class Server:
    """One server process; everything it says goes to `log`."""

    host = "127.0.0.1"

    def __init__(
        self,
        backend: str,
        log: Path,
        *,
        environment: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
    ) -> None:
        self.backend = backend
        self.port = free_port()
        self.log = log
        self._environment = clean_environment(environment)
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the server was never started"
        return self._process

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> Server:
        """Start it and wait until it is ready to serve."""
        self.launch()
        return self.wait_ready()

    def launch(self) -> None:
        """Start it."""
        with self.log.open("ab") as sink:
            self._process = subprocess.Popen(
                command(self.backend, self.port, self._arguments),
                env=self._environment,
                stdout=sink,
                stderr=sink,
            )

    def wait_ready(self) -> Server:
        """Wait until it is ready to serve."""
        deadline = time.monotonic() + START_SECS
        while not self.ready():
            if not self.alive or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"server not ready, exit {self.process.poll()}: {self.said()}")
            time.sleep(0.02)
        return self

    @contextlib.contextmanager
    def running(self) -> Iterator[Server]:
        """Start it, and stop it in the end unless that happened already."""
        self.start()
        try:
            yield self
        finally:
            if self.alive:
                self.stop()

    def ensure_ready(self) -> Server:
        """Start it, or start it anew if it ended or does not answer."""
        if self.alive and self.ready():
            return self
        if self.alive:
            self.kill()
        return self.start()

    def ready(self) -> bool:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=2)
        try:
            connection.request("GET", "/api/v1/ready")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def stop(self) -> None:
        """Ask it to end; a slow or unclean end is a failure."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"still there {STOP_SECS} s after SIGTERM: {self.said()}"
            ) from None
        assert code == 0, f"exit {code} after SIGTERM: {self.said()}"

    def kill(self) -> None:
        """End it without a warning, wherever it is."""
        self.process.kill()
        self.process.wait(STOP_SECS)

    def restart(self) -> Server:
        """Start again on the same store and port, after a stop, a kill or neither."""
        if self.alive:
            self.stop()
        return self.start()

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-TAIL:]
