"""A command returns what is to be printed: it neither writes a result nor ends the process by itself."""

import ast
import inspect
from pathlib import Path

from tests.house.source import SOURCE, nodes, trees

from ostrom.cli import output
from ostrom.ground.commands import every_command
from ostrom.ground.results import Output

TEXT_ALONE = {"one_line", "visible"}
"""What a command may take from the terminal: functions that change a text and write nothing."""
NO_JSON = {"serve", "openenv", "view pages", "completion", "new", "people close", "people withdraw"}
"""Servers, which have no result, and commands that leave a file or a state and say so in one line."""
LEAVES = {"exit", "_exit", "Exit", "SystemExit", "Abort", "print"}


def command_modules() -> list[Path]:
    """The modules that hold commands."""
    folders = [SOURCE / "cli" / "commands", *(SOURCE / room for room in ("people", "probe", "view"))]
    return [
        path
        for path in trees()
        if (path.parent in folders and (path.name == "commands.py" or path.parent.name == "commands"))
        or (path.name == "command.py" and path.parent.parent.name == "features")
    ]


def own_output(module: tuple[ast.AST, ...]) -> list[str]:
    """Where a command module writes, exits or reads ``--json`` by itself."""
    wrong = []
    for node in module:
        if isinstance(node, ast.ImportFrom):
            allowed = {"ostrom.ground.terminal": TEXT_ALONE, "ostrom.cli.output": set(output.__all__)}
            names = {alias.name for alias in node.names}
            wrong += [f"{node.lineno}: {name}" for name in sorted(names - allowed.get(str(node.module), names))]
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            wrong += [f"{node.lineno}: {name}"] * (name in LEAVES)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Attribute | ast.Name):
            name = node.exc.attr if isinstance(node.exc, ast.Attribute) else node.exc.id
            wrong += [f"{node.lineno}: raise {name}"] * (name in LEAVES)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
            wrong += [f"{node.lineno}: {node.name}(json)"] * ("json" in arguments)
    return wrong


def test_no_command_prints_or_exits_by_itself() -> None:
    assert len(command_modules()) >= 30
    outputs = {path.relative_to(SOURCE).as_posix(): own_output(nodes(path)) for path in command_modules()}
    assert {name: places for name, places in outputs.items() if places} == {}


def test_every_command_returns_an_output_and_has_json() -> None:
    for words, (*_, command) in every_command().items():
        returns = inspect.signature(command.callback, eval_str=True).return_annotation
        options = [option for parameter in command.params for option in parameter.opts]
        is_output = getattr(returns, "__origin__", returns) is Output
        assert is_output or words in NO_JSON, f"{words}: must return an Output (found {returns})"
        assert options.count("--json") == is_output, words


def test_the_check_sees_what_it_should() -> None:
    code = (
        "import sys\nfrom ostrom.ground.terminal import one_line, write\nfrom ostrom.cli.output import write_json\n"
        "def run(json: bool) -> None:\n    print(1)\n    sys.exit(1)\n    raise typer.Exit(1)\n    raise SystemExit\n"
    )
    assert own_output(tuple(ast.walk(ast.parse(code)))) == [
        "2: write", "3: write_json", "4: run(json)", "8: raise SystemExit", "5: print", "6: exit", "7: Exit",
    ]  # fmt: skip
