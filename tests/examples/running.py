"""Programs of users: run as they would, in a folder of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.server import clean_environment

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
LONGEST_SECS = 30.0


def said_by(
    program: Path, *arguments: str, folder: Path, environment: Mapping[str, str] | None = None
) -> str:
    """What a program prints; it must end well, and complain of nothing."""
    done = subprocess.run(
        [sys.executable, program, *arguments],
        cwd=folder,
        env=environment_of_users(environment),
        capture_output=True,
        text=True,
        timeout=LONGEST_SECS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def environment_of_users(overrides: Mapping[str, str] | None = None) -> dict[str, str]:
    """As in a terminal, with nothing of ours; warnings are shown, so that there are none."""
    kept = clean_environment(overrides)
    kept.pop("PYTHONPATH", None)
    return {**kept, "PYTHONWARNINGS": "default", "PYTHONUNBUFFERED": "1"}
