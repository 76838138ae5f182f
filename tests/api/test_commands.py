"""Every command is a function with the same names and defaults, and the objects agree with the commands."""

import asyncio
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import ostrom
from ostrom.api.studies import Run
from ostrom.cli.app import app
from ostrom.ground.errors import UsageError

LATER = {"runs", "json"}
"""Where runs lie is part of an opened run; JSON is what functions give."""
OTHER: dict[str, dict[str, str | None]] = {
    "run": {"model": "models", "dry_run": None, "from_": None},
    "branch": {"budget_usd": None, "budget_calls": None, "budget_tokens": None, "max_connections": None, "prices": None,
               "cache": None, "batch": None, "allow_key": None},
}  # fmt: skip
"""What the short functions name otherwise, or leave to ostrom.commands."""


@cache
def commands() -> dict[str, list[Any]]:
    """The parameters of every command and its help."""
    found = {}

    def walk(group: Any, head: str, above: list[Any]) -> None:
        for name, command in group.commands.items():
            if name == "more":  # what it lists is at the top by its old name too
                assert set(command.commands) < set(group.commands)
            elif hasattr(command, "commands"):  # `ostrom people RUN list`: what the group takes, its commands take
                walk(command, f"{head}{name}_", command.params)
            else:
                found[f"{head}{name}".replace("-", "_")] = [command.help, *above, *command.params]

    walk(get_command(app), "", [])
    return found


def python_name(parameter: Any) -> str:
    said = parameter.name if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
    plain = str(said).lstrip("-").replace("-", "_")
    return {"as": "as_", "from": "from_", "return": "return_"}.get(plain, plain)


@pytest.mark.parametrize("name", sorted(commands()))
def test_the_function_of_a_command_has_its_names_and_defaults(name: str) -> None:
    help, *parameters = commands()[name]
    function = getattr(ostrom.commands, {"import": "import_"}.get(name, name))
    own = inspect.signature(function).parameters
    theirs = {python_name(p): p for p in parameters if python_name(p) not in ("json", "help")}
    assert set(own) == set(theirs)
    for key, parameter in theirs.items():
        expected = inspect.Parameter.empty if parameter.required else parameter.default
        assert own[key].default == expected, key
    assert function.__doc__ == help


@pytest.mark.parametrize(
    ("name", "function", "given"),
    [
        ("export", Run.export, {"run"}),
        ("report", Run.report, {"run"}),
        ("transcript", Run.transcript, {"run", "number"}),
        ("compare", Run.compare, {"run"}),
        ("branch", Run.branch, {"run"}),
    ],
)
def test_methods_of_a_run_take_what_the_commands_take(name: str, function: Any, given: set[str]) -> None:
    own = {k: p for k, p in inspect.signature(function).parameters.items() if k != "self"}
    theirs = {python_name(p): p for p in commands()[name][1:]}
    for key, parameter in theirs.items():
        if key in given | LATER | {"help"} or OTHER.get(name, {}).get(key, key) is None:
            continue
        assert key in own, f"{name} --{key} has no counterpart"
        if not parameter.required:
            assert own[key].default == parameter.default, key


def test_study_and_play_take_what_run_takes() -> None:
    own = inspect.signature(ostrom.play).parameters | inspect.signature(ostrom.study).parameters
    for parameter in commands()["run"][1:]:
        key = OTHER["run"].get(python_name(parameter), python_name(parameter))
        if key is None or key in {*LATER, "study", "help"}:
            continue
        assert key in own and (own[key].default or None) == (parameter.default or None), key


@pytest.mark.slow
def test_functions_give_what_commands_print_also_inside_a_loop(tmp_path: Path) -> None:
    async def notebook() -> Any:
        return ostrom.commands.run("pd-tournament", preset="smoke", limit=1, runs=tmp_path)

    assert asyncio.run(notebook())["matches"]["done"] == 1
    whole = ostrom.commands.run("pd-tournament", preset="smoke", runs=tmp_path)
    assert whole["complete"] and whole["cells"]
    told = ostrom.commands.estimate(["pd-tournament", "cooperation"], by="agent", runs=tmp_path)
    assert {row["agent"] for row in told["estimates"]} == {cell["agent"] for cell in whole["cells"]}
    assert any(row["name"] == "chicken" for row in ostrom.commands.list("games"))


def test_wrong_arguments_raise_the_line_that_the_command_prints() -> None:
    with pytest.raises(UsageError, match="Invalid value for '--seeds'"):
        ostrom.commands.run("memory", seeds=0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        ostrom.commands.run("memory", seed=1)
    with pytest.raises(AttributeError, match="no command 'nothing'"):
        _ = ostrom.commands.nothing
