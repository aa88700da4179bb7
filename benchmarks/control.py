"""The line between driver and load processes: `mark` and `stop` down, one Mark up for each."""

import asyncio
import os
import subprocess
import sys
import time

import msgspec

STDIN = 0
CHUNK_BYTES = 4096
STOP_SECS = 90.0


class Mark(msgspec.Struct, frozen=True):
    """What a load process had done at one moment; latencies are those since the mark before."""

    at: float
    counts: dict[str, int]
    p50_ms: float = 0.0
    p99_ms: float = 0.0


class Reporter:
    """The load process's end: answers marks, and tells when to stop."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.latencies: list[float] = []
        self.stopping = asyncio.Event()

    def listen(self) -> None:
        """Read the driver's words beside the load, on the running loop."""
        os.set_blocking(STDIN, False)
        asyncio.get_running_loop().add_reader(STDIN, self._on_words)

    def count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def mark(self) -> None:
        """Write one Mark and begin a new stretch of latencies."""
        latencies, self.latencies = sorted(self.latencies), []
        p50, p99 = quantile(latencies, 0.50), quantile(latencies, 0.99)
        written = Mark(time.monotonic(), self.counts, p50 * 1e3, p99 * 1e3)
        sys.stdout.write(msgspec.json.encode(written).decode() + "\n")
        sys.stdout.flush()

    def _on_words(self) -> None:
        words = os.read(STDIN, CHUNK_BYTES)
        for word in words.split():
            if word == b"mark":
                self.mark()
        if not words or b"stop" in words:
            asyncio.get_running_loop().remove_reader(STDIN)
            self.stopping.set()


class Load:
    """The driver's end of one load process."""

    def __init__(self, module: str, plan: msgspec.Struct, pipe: int | None = None) -> None:
        argument = msgspec.json.encode(plan).decode()
        command = [sys.executable, "-m", f"benchmarks.{module}", argument]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            pass_fds=() if pipe is None else (pipe,),
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def mark(self) -> Mark:
        self._say("mark")
        return self._hear()

    def stop(self) -> Mark:
        """Let it finish what it began and return its last mark."""
        self._say("stop")
        last = self._hear()
        self._process.wait(STOP_SECS)
        return last

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _say(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def _hear(self) -> Mark:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a load process ended with status {self._process.wait()}")
        return msgspec.json.decode(line, type=Mark)


def quantile(ordered: list[float], share: float) -> float:
    """Pick the value below which `share` of an ordered list lies; 0 for an empty one."""
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
