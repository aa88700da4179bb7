"""How results are said: a table on the terminal and one JSON file beside this one."""

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.machine import Machine
from benchmarks.options import Options

RESULTS = Path(__file__).resolve().parent / "results"
FOREIGN = "other cores"  # how much of the machine went to processes outside the benchmark


class Run(msgspec.Struct, frozen=True):
    """The figures of one run, by column."""

    figures: dict[str, float]
    notes: dict[str, int | float | str] = {}


class Line(msgspec.Struct, frozen=True):
    """One question, asked of few runs and of many; milliseconds."""

    name: str
    few_p50: float
    few_p95: float
    many_p50: float
    many_p95: float


class Report(msgspec.Struct, frozen=True):
    """All runs of one benchmark, or all questions of it, with what they were measured on."""

    title: str
    unit: str
    aim: str
    options: Options
    machine: Machine
    runs: list[Run]
    median: dict[str, float]
    lines: list[Line] = []


def medians(runs: Sequence[Run]) -> dict[str, float]:
    """Take the median of each column for itself."""
    columns = runs[0].figures
    return {name: statistics.median(run.figures[name] for run in runs) for name in columns}


def show(report: Report) -> None:
    """Print the table, one line per run, then the median and the aim."""
    machine = report.machine
    say(f"\n{report.title} on {report.options.store}, unit: {report.unit}")
    say(f"{machine.processor}, {machine.cores} cores, {machine.disk}, Python {machine.python}")
    say(f"commit {machine.commit}, {machine.at}")
    if report.lines:
        show_lines(report)
        return
    names = list(report.median)
    say("".join(f"{name:>16}" for name in ("", *names)))
    for number, run in enumerate(report.runs, 1):
        say(row(f"run {number}", run.figures))
    say(row("median", report.median))
    say(f"aim: {report.aim}")
    for number, run in enumerate(report.runs, 1):
        say(f"run {number}: " + ", ".join(f"{name} {value}" for name, value in run.notes.items()))


def show_lines(report: Report) -> None:
    """Print one line per question, with how much dearer it is where there is more."""
    say("".join(f"{name:>12}" for name in (" " * 26, "few p50", "p95", "many p50", "p95", "ratio")))
    for line in report.lines:
        figures = (line.few_p50, line.few_p95, line.many_p50, line.many_p95)
        cells = "".join(f"{figure:>12.2f}" for figure in (*figures, line.many_p50 / line.few_p50))
        say(f"{line.name:<26}{cells}")
    say(f"aim: {report.aim}")


def row(head: str, figures: dict[str, float]) -> str:
    """Lay out one line of the table."""
    cells = (f"{value:,.0f}" if value >= 100 else f"{value:.2f}" for value in figures.values())
    return "".join(f"{cell:>16}" for cell in (head, *cells))


def save(report: Report) -> Path:
    """Write the report as JSON; git keeps only files named kept-*."""
    kept = "kept-" if report.options.keep else ""
    stamp = report.machine.at.replace(":", "").replace("+0000", "Z")
    path = RESULTS / f"{kept}{report.options.name}-{report.options.store}-{stamp}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report, enc_hook=str), indent=1))
    return path


def say(line: str) -> None:
    sys.stdout.write(line.rstrip() + "\n")
