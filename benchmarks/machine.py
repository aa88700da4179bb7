"""Where a result was measured: machine, versions and commit."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("apsw", "asyncpg", "httptools", "msgspec", "uvicorn", "uvloop")


class Machine(msgspec.Struct, frozen=True):
    """All that a reader needs to judge a figure."""

    at: str
    commit: str
    processor: str
    cores: int
    memory_gib: int
    system: str
    disk: str
    python: str
    packages: dict[str, str]


def describe(directory: Path) -> Machine:
    """Look at this machine, this environment and this checkout."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        commit=commit(),
        processor=processor(),
        cores=os.cpu_count() or 1,
        memory_gib=pages >> 30,
        system=f"{platform.system()} {platform.release()}",
        disk=disk(directory),
        python=platform.python_version(),
        packages={name: installed(name) for name in PACKAGES},
    )


def commit() -> str:
    """Name the commit, with a mark when the product's files differ from it."""
    name = git("rev-parse", "--short=12", "HEAD") or "no commit"
    return name + "+changes" if git("status", "--porcelain", "--", "src") else name


def git(*arguments: str) -> str:
    """Ask git; an empty answer where there is none."""
    command = ["git", *arguments]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else ""


def processor() -> str:
    """Name the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def disk(directory: Path) -> str:
    """Name the file system a directory lies on: a figure from tmpfs is not durable."""
    mounts = [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()]
    over = [each for each in mounts if directory.resolve().is_relative_to(each[1])]
    device, point, kind = max(over, key=lambda each: len(each[1]))
    return f"{kind} {device} on {point}"


def installed(package: str) -> str:
    """Read a package's version, or that it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
