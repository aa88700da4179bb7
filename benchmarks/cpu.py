"""Processor time of process trees, read from /proc: what user and system spent, in microseconds."""

import os
from pathlib import Path

PROC = Path("/proc")
TICK_US = 1_000_000 / os.sysconf("SC_CLK_TCK")
PARENT, USER, CHILDREN_SYSTEM = 1, 11, 14  # fields of stat, counted after the name
BUSY = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal: neither idle nor waiting


def spent_us(root: int) -> float:
    """Sum what a process, its living descendants and its buried children have used."""
    table = processes()
    return sum(table[pid][1] for pid in descendants(root, table) if pid in table)


def processes() -> dict[int, tuple[int, float]]:
    """Read every process's parent and time; those that end meanwhile are left out."""
    table: dict[int, tuple[int, float]] = {}
    for entry in PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            text = (entry / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = text.rpartition(")")[2].split()
        ticks = sum(int(field) for field in fields[USER : CHILDREN_SYSTEM + 1])
        table[int(entry.name)] = (int(fields[PARENT]), ticks * TICK_US)
    return table


def descendants(root: int, table: dict[int, tuple[int, float]]) -> list[int]:
    """List a process and all that descend from it."""
    found = [root]
    for pid in found:  # grows while it is walked
        found.extend(child for child, (parent, _) in sorted(table.items()) if parent == pid)
    return found


def resident_bytes(pid: int) -> int:
    """Read how much memory one process holds."""
    pages = int((PROC / str(pid) / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def machine_us() -> float:
    """Sum what all processes, the kernel and other guests of the host took of the processors."""
    fields = (PROC / "stat").read_text().splitlines()[0].split()[1:]
    ticks = [int(field) for field in fields]
    return sum(ticks[at] for at in BUSY) * TICK_US
