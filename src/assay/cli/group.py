"""The group `assay`: finds its commands by file name and turns faults into exit codes.

Every other public module of this folder is a command: it names its click command `command`, and
the first line of its docstring is what `assay --help` says about it. To list the commands only
that line is read; to run one only that one is imported.
"""

import ast
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

import assay
from assay import cli
from assay.errors import UsageFault

USAGE = 64  # contract §18.4; click's own choice, 2, means a wait that ran out of time
SUPPORT = ("main", "group", "config", "output")  # modules here that are no commands
INTERRUPTED = 130  # what shells report after Ctrl-C

# Set on the class: click raises subclasses of it from many places.
click.UsageError.exit_code = USAGE


class Commands(click.Group):
    """A group whose commands are the modules beside this one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        found = (module.name for module in pkgutil.iter_modules(cli.__path__))
        return sorted(word(name) for name in found if name not in SUPPORT)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{cli.__name__}.{cmd_name.replace('-', '_')}")
        command = module.command
        assert isinstance(command, click.Command), module
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, summary(name)) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


def word(module_name: str) -> str:
    return module_name.replace("_", "-")


def summary(name: str) -> str:
    """Read the first line of a command's docstring without running its file."""
    path = Path(__file__).with_name(f"{name.replace('-', '_')}.py")
    text = ast.get_docstring(ast.parse(path.read_bytes())) or ""
    return text.partition("\n")[0].removeprefix(f"`assay {name}`: ")


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(assay.__version__, prog_name="assay")
def group() -> None:
    """Durable workflows: run the engine and look after what it runs."""


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code; nothing raised here is a traceback."""
    try:
        outcome = group.main(arguments, prog_name="assay", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as fault:
        fault.show()
        return fault.exit_code
    except click.Abort:
        return INTERRUPTED
    except UsageFault as fault:
        print(f"error: {fault}", file=sys.stderr)
        return USAGE
    return outcome if isinstance(outcome, int) else 0
