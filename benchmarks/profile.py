"""Where a server's time goes: py-spy beside a measured run, its samples summed by function.

`python -m benchmarks.profile FILE [N]` prints the N hottest functions of a raw file. A run that is
sampled is slower than one that is not: read its shares, never its rate. py-spy is no dependency of
the project; install it anywhere on PATH.
"""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RATE_PER_S = 250
HOTTEST = 25


@contextmanager
def profiled(pid: int, seconds: float, output: Path | None) -> Iterator[None]:
    """Sample a process while the block runs, if there is a file to write to."""
    if output is None:
        yield
        return
    command = ["py-spy", "record", "--format", "raw", "--full-filenames"]
    command += ["--rate", str(RATE_PER_S), "--duration", str(max(1, int(seconds)))]
    command += ["--pid", str(pid), "--output", str(output)]
    spy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield
    spy.wait()


def hottest(raw: Path, count: int = HOTTEST) -> str:
    """Sum raw stacks by function, in percent of all samples.

    `own` is time in the function itself, `cumulative` with all it calls, and `product` what our
    functions take with all they call outside the product: there the sum is the whole again.
    """
    own: Counter[str] = Counter()
    cumulative: Counter[str] = Counter()
    product: Counter[str] = Counter()
    for line in raw.read_text().splitlines():
        stack, _, samples = line.rpartition(" ")
        frames = [function_of(frame) for frame in stack.split(";")]
        own[frames[-1]] += int(samples)
        for frame in set(frames):  # a recursive function counts once per stack
            cumulative[frame] += int(samples)
        ours = [frame for frame in frames if "(assay/" in frame]
        product[ours[-1] if ours else "none of ours"] += int(samples)
    tables = {"own": own, "cumulative": cumulative, "product": product}
    total = max(1, own.total())
    return "".join(table(title, counts, total, count) for title, counts in tables.items())


def function_of(frame: str) -> str:
    """Drop the line number of `name (path/file.py:12)` and what stands before the package."""
    head = frame.rpartition(":")[0] + ")" if frame.endswith(")") and ":" in frame else frame
    for root in ("site-packages/", "/src/", "/lib/"):
        name, found, path = head.partition(root)
        if found:
            return f"{name.partition(' (')[0]} ({path}"
    return head


def table(title: str, counts: Counter[str], total: int, count: int) -> str:
    """Lay out the hottest of one kind."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:count]
    lines = [f"{100 * samples / total:6.1f} %  {name}" for name, samples in ordered]
    return "\n".join([f"{title}, {total} samples", *lines, "", ""])


if __name__ == "__main__":
    sys.stdout.write(hottest(Path(sys.argv[1]), *map(int, sys.argv[2:3])))
