"""Every command as a function: ``ostrom.commands.judge("memory", model=["openai/gpt-4o-mini"])``.

A function takes what the command takes, under the same names (dashes become underscores, words of Python get one at
their end: ``as_``) and with the same defaults, and gives what the command prints with ``--json``. Subcommands are
``models_check``, ``people_list`` and so on. What goes wrong is raised as an OstromError; an exit code of 1 or 3 (an
incomplete run, a refused import, an undecided gate) is no error: what was printed says it.
"""

from __future__ import annotations

import contextvars
import inspect
import keyword
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.terminal import collecting

NOT_HERE = ("json", "help")


def names() -> list[str]:
    """All functions, one for every command."""
    return sorted(_commands())


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__") or name not in _commands():
        raise AttributeError(f"ostrom has no command {name!r} (see ostrom.commands.names())")
    return _function(name)


def __dir__() -> list[str]:
    return [*names(), "names"]


@cache
def _commands() -> dict[str, tuple[Any, ...]]:
    """The way to every command: the program, a group where it is in one, the command."""
    from typer.main import get_command

    from ostrom.cli.app import app

    found: dict[str, tuple[Any, ...]] = {}

    def walk(way: tuple[Any, ...], head: str) -> None:
        for name, command in way[-1].commands.items():
            if hasattr(command, "commands"):
                walk((*way, command), f"{head}{_python(name)}_")
            else:
                found[_python(f"{head}{name}")] = (*way, command)

    walk((get_command(app),), "")
    return found


def _python(name: str) -> str:
    plain = name.lstrip("-").replace("-", "_")
    return f"{plain}_" if keyword.iskeyword(plain) else plain


@cache
def _parameters(name: str) -> dict[str, Any]:
    """The parameters of a command by the names that Python gives them."""
    found = {}
    # The options of the program itself are about its log, which Python sets up by ``logging``.
    for parameter in (parameter for part in _commands()[name][1:] for parameter in part.params):
        if (plain := _python_name(parameter)) not in NOT_HERE:
            found[plain] = parameter
    return found


def _python_name(parameter: Any) -> str:
    said = parameter.name if parameter.param_type_name == "argument" else max(parameter.opts, key=len)
    return _python(said)


@cache
def _function(name: str) -> Callable[..., Any]:
    parameters = _parameters(name)

    def function(*args: Any, **kwargs: Any) -> Any:
        return _called(name, signature.bind(*args, **kwargs).arguments)

    kinds = inspect.Parameter
    made = [
        kinds(
            plain,
            kinds.POSITIONAL_OR_KEYWORD if parameter.param_type_name == "argument" else kinds.KEYWORD_ONLY,
            default=kinds.empty if parameter.required else parameter.default,
        )
        for plain, parameter in sorted(
            parameters.items(), key=lambda item: (item[1].param_type_name != "argument", not item[1].required)
        )
    ]
    signature = inspect.Signature(made)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = _commands()[name][-1].help
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _called(name: str, given: dict[str, Any]) -> Any:
    program, *rest = _commands()[name]
    line: list[str] = []
    for part in rest:
        asked = ["--json"] if any(parameter.name == "json" for parameter in part.params) else []
        line += [part.name, *asked, *_line(part, given)]

    def run() -> Any:
        with collecting() as printed:
            try:
                program.main(line, prog_name="ostrom", standalone_mode=False)
            except OstromError:
                raise
            except Exception as error:
                told = getattr(error, "format_message", None)  # what the parser says of wrong arguments
                if told is None:
                    raise
                raise UsageError(told()) from None
            except SystemExit as left:
                if left.code == 130:
                    raise KeyboardInterrupt from None
                if left.code not in (None, 0, 1, 3) or (left.code and not printed):
                    raise UsageError(f"ostrom {name} ended with exit code {left.code}") from None
        return printed[0] if len(printed) == 1 else printed or None

    return _outside_the_loop(run)


def _line(command: Any, given: dict[str, Any]) -> list[str]:
    """The arguments as somebody would type them; the parser of the command checks them."""
    options: list[str] = []
    arguments: list[str] = []
    for parameter in command.params:
        value = given.get(_python_name(parameter))
        if value is None:
            continue
        if parameter.param_type_name == "argument":
            arguments += [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]
        elif getattr(parameter, "is_flag", False):
            if bool(value) != bool(parameter.default):
                options.append((parameter.opts if value else parameter.secondary_opts)[0])
        else:
            flag = max(parameter.opts, key=len)
            several = value if isinstance(value, list | tuple) else [value]
            options += [f"{flag}={v}" for v in several]
    return [*options, *(["--"] if arguments and not hasattr(command, "commands") else []), *arguments]


def _outside_the_loop(run: Callable[[], Any]) -> Any:
    """Run here, or in a thread where an event loop is running: commands start a loop of their own."""
    from ostrom.api.threads import in_a_thread, inside_a_loop
    from ostrom.cli.progress import stop_in

    if not inside_a_loop():
        return run()
    return in_a_thread(partial(contextvars.copy_context().run, run), stop_in)
