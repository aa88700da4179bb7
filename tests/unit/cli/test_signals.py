"""A server that is asked to stop before it has even begun ends well; other commands as usual."""

import signal
import subprocess
import sys

import pytest

# Asks itself to stop at the very moment at which a module is looked for.
PROGRAM = """
import os, signal, sys

class Moment:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Moment())
sys.argv = ["assay", *{arguments!r}]
from assay.cli.main import main
sys.exit(main())
"""
SERVE = ["serve", "--backend", "sqlite::memory:", "--port", "0"]


def asked_to_stop(arguments: list[str], module: str, number: int) -> tuple[int, str]:
    program = PROGRAM.format(module=module, number=int(number), arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    "module",
    [
        "assay.cli.group",
        "click",
        "assay.cli.serve",
        "uvicorn",
        "assay.store.sqlite.store",
        "uvloop",
    ],
)
def test_a_server_that_is_still_being_loaded_stops_with_0(module: str, number: int) -> None:
    assert asked_to_stop(SERVE, module, number) == (0, "")


def test_other_commands_end_as_they_are_told() -> None:
    assert asked_to_stop(["--help"], "click", signal.SIGTERM)[0] == -signal.SIGTERM
