"""Pages whose code is run: what they show is what happens.

    ```python run            goes into a file named after the page; several are one file
    ```python run plug.py    goes into that file
    ```console run           commands after `$ `, each followed by what it prints; `…` is anything

Every command ends well, unless the page says `Killed`, as a shell does. One that ends with `&` goes
on until all others are done, and is asked to end then. A page without commands has its one file
run. Port 8080 is another one here.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.examples.running import LONGEST_SECS, environment_of_users
from tests.support.server import free_port

FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = re.compile(r"\b8080\b")


@dataclass
class Command:
    """One line of a console, and what follows it."""

    line: str
    said: list[str] = field(default_factory=list[str])

    @property
    def is_beside(self) -> bool:
        return self.line.endswith("&")

    @property
    def words(self) -> list[str]:
        """With this very Python in place of the one that is first on the path."""
        program, *arguments = shlex.split(self.line.removesuffix("&"))
        return [sys.executable, *(["-m", "assay"] if program == "assay" else []), *arguments]


@dataclass
class Page:
    """What a page has to run."""

    files: dict[str, str]
    commands: list[Command]


def page(text: str, name: str) -> Page:
    """Read a page."""
    files: dict[str, str] = {}
    commands: list[Command] = []
    for info, body in FENCE.findall(text):
        match info.split():
            case ["python", "run", *named]:
                file = named[0] if named else f"{name}.py"
                files[file] = f"{files[file]}\n\n{body}" if file in files else body
            case ["console", "run"]:
                commands += transcript(body)
            case _:
                pass
    return Page(files, commands or [Command(f"python {file}") for file in files])


def transcript(body: str) -> Iterator[Command]:
    command: Command | None = None
    for line in body.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield command
            command = Command(line[2:].partition("  #")[0].strip())
        elif command is not None:
            command.said.append(line)
    if command is not None:
        yield command


def run(page: Page, folder: Path) -> None:
    """Do what the page says."""
    port = str(free_port())
    for name, body in page.files.items():
        (folder / name).write_text(PORT.sub(port, body), encoding="utf-8")
    with ExitStack() as beside:
        for command in page.commands:
            if command.is_beside:
                beside.enter_context(going_on(command, folder, port))
            else:
                compare(command, folder)


@contextmanager
def going_on(command: Command, folder: Path, port: str) -> Iterator[None]:
    """A program that is up while the others are run."""
    serves = command.words[1:4] == ["-m", "assay", "serve"]
    process = subprocess.Popen(
        [*command.words, *(["--port", port] if serves else [])],
        cwd=folder,
        env=environment_of_users(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        while serves and process.poll() is None and not is_up(port):
            time.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=LONGEST_SECS)
    assert process.returncode == 0, said


def is_up(port: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/ready") as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def compare(command: Command, folder: Path) -> None:
    """Run a command; it prints what the page says, if the page says anything."""
    done = subprocess.run(
        command.words,
        cwd=folder,
        env=environment_of_users(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LONGEST_SECS,
        check=False,
    )
    said = done.stdout + ("Killed\n" if done.returncode == -signal.SIGKILL else "")
    shown = f"$ {command.line}\n{said}"
    assert done.returncode in (0, -signal.SIGKILL), shown
    wanted = "\n".join(command.said).rstrip()
    pattern = ".*".join(map(re.escape, wanted.split("…")))
    assert re.fullmatch(pattern, said.rstrip()) or not (wanted or "Killed" in said), shown
