"""The command line finds its commands, stays quick, and ends with the contract's exit codes."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

import assay
from assay.cli import main as cli_main
from assay.cli import serve


def test_help_lists_every_command_with_its_docstring(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert "  serve  run the engine and its HTTP interface." in said


def test_help_loads_no_command_and_no_engine() -> None:
    program = (
        "import sys; from assay.cli.main import main; main(['--help']);"
        "print(sorted(name for name in sys.modules if name.startswith('assay')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = done.stdout.splitlines()[-1]
    assert loaded == "['assay', 'assay.cli', 'assay.cli.group', 'assay.cli.main', 'assay.errors']"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.main(["--version"]) == 0
    assert capsys.readouterr().out == f"assay, version {assay.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["nosuch"], ["serve", "--nosuch"], ["serve", "--port", "high"], ["serve", "--port", "65536"]],
)
def test_a_bad_command_line_ends_with_64(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli_main.main(arguments) == 64
    assert "Error: " in capsys.readouterr().err


@pytest.mark.parametrize("module", ["main", "group"])
def test_support_modules_are_not_commands(module: str) -> None:
    assert cli_main.main([module]) == 64


def test_serve_takes_its_backend_from_the_environment() -> None:
    said = CliRunner().invoke(serve.command, ["--help"]).output
    assert "DATABASE_URL" in said
    assert serve.DEFAULT_BACKEND in "".join(said.split())
