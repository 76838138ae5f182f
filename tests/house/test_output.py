"""One module writes to the terminal; the rest of the package goes through it."""

import ast
from collections.abc import Iterable

import pytest
from tests.house.source import SOURCE, nodes, trees

ALLOWED = {"ground/terminal.py", "testing/server.py"}  # the server is a program of its own
FORBIDDEN_NAMES = {"print", "input", "Console"}
FORBIDDEN_CALLS = {("typer", "echo"), ("typer", "secho"), ("click", "echo"), ("rich", "print"), ("sys", "displayhook")}
WRITING = {"write", "writelines", *(name for _, name in FORBIDDEN_CALLS)}


def direct_output(tree: Iterable[ast.AST]) -> list[str]:
    """Where a file writes to a terminal by itself."""
    found = []
    for node in tree:
        if not isinstance(node, ast.Call):
            continue
        name = node.func
        if isinstance(name, ast.Name) and name.id in FORBIDDEN_NAMES:
            found.append(f"{node.lineno}: {name.id}")
        if isinstance(name, ast.Attribute) and name.attr in WRITING:
            owner = ast.unparse(name.value)
            if (owner, name.attr) in FORBIDDEN_CALLS or (
                owner in ("sys.stdout", "sys.stderr", "sys.stdout.buffer", "sys.stderr.buffer")
                and name.attr in ("write", "writelines")
            ):
                found.append(f"{node.lineno}: {owner}.{name.attr}")
    return found


@pytest.mark.slow
def test_nothing_else_writes_to_the_terminal() -> None:
    files = {path.relative_to(SOURCE).as_posix(): path for path in trees()}
    assert set(files) >= ALLOWED
    outputs = {name: direct_output(nodes(path)) for name, path in files.items() if name not in ALLOWED}
    assert {name: places for name, places in outputs.items() if places} == {}


def test_the_check_sees_what_it_should() -> None:
    code = "print(1)\nimport sys\nsys.stderr.write('x')\ntyper.echo('x')\nConsole().print('x')\ninput()\n"
    assert len(direct_output(ast.walk(ast.parse(code)))) == 5
