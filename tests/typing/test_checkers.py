"""Two checkers know the types of what users write: mypy in `./dev check`, basedpyright here.

Both read `calls.py` and `clients.py`, where types are asserted, `mistakes.py`, where every marked
line is refused (a mark that nothing needs is an error itself), and the examples.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

MISTAKE = """
import assay

@assay.activity
async def double(ctx: assay.ActivityContext, number: int) -> int:
    return number * 2

@assay.workflow
async def wrong(ctx: assay.WorkflowContext, number: int) -> str:
    return await ctx.execute_activity(double, number)
"""


def basedpyright(*files: str | Path) -> subprocess.CompletedProcess[str]:
    """Run it with the settings of `pyproject.toml`, which name the files it reads by itself."""
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable]
    named = map(str, files)
    return subprocess.run([*command, *named], cwd=ROOT, capture_output=True, text=True, check=False)


def test_basedpyright_infers_what_users_write() -> None:
    done = basedpyright()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_type_is_found(tmp_path: Path) -> None:
    mistake = tmp_path / "mistake.py"
    mistake.write_text(MISTAKE, encoding="utf-8")
    done = basedpyright(mistake)
    assert done.returncode == 1
    assert f"{mistake.name}:10:" in done.stdout
    assert "1 error" in done.stdout
