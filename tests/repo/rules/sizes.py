"""Sizes: how long files and functions may be, and how much a function may ask for."""

import ast
from collections.abc import Iterator

from tests.repo.rules.tree import File, Tree

FILE_LINES = (("src/assay/core/", 300), ("tests/", 800), ("", 500))  # the first that fits
BODY_LINES = 50
POSITIONAL = 6

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files_are_short(tree: Tree) -> Iterator[str]:
    for file in tree.python:
        limit = next(lines for start, lines in FILE_LINES if file.path.startswith(start))
        if len(file.lines) > limit:
            yield f"{file.path}:1: {len(file.lines)} lines are more than {limit}"


def functions_are_short(tree: Tree) -> Iterator[str]:
    for file, function in functions(tree):
        if (lines := body_lines(function)) > BODY_LINES:
            place = f"{file.path}:{function.lineno}"
            yield f"{place}: {lines} lines in {function.name} are more than {BODY_LINES}"


# Not ours to shorten; where that is said in the first line, it is said of the whole file.
THE_CONTRACTS = "the contract's signature"


def parameters_are_few(tree: Tree) -> Iterator[str]:
    for file, function in functions(tree):
        names = [argument.arg for argument in positional(function)]
        fixed = any(
            THE_CONTRACTS in line for line in (file.lines[0], file.lines[function.lineno - 1])
        )
        if len(names) > POSITIONAL and not fixed:
            place = f"{file.path}:{function.lineno}"
            yield f"{place}: {len(names)} parameters of {function.name} are more than {POSITIONAL}"


def functions(tree: Tree) -> Iterator[tuple[File, Function]]:
    for file in tree.python:
        for node in ast.walk(file.syntax):
            if isinstance(node, Function):
                yield file, node


def body_lines(function: Function) -> int:
    """Count from the first line after signature and docstring to the last one."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def positional(function: Function) -> list[ast.arg]:
    arguments = [*function.args.posonlyargs, *function.args.args]
    return [argument for argument in arguments if argument.arg not in ("self", "cls")]
