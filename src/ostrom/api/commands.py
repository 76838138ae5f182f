"""Every command as a function: ``ostrom.commands.judge("memory", model=["openai/gpt-4o-mini"])``.

A function takes what the command takes, under the same names (dashes become underscores, words of Python get one at
their end: ``as_``), with the same defaults and bounds, and gives the document of the Output that the command returns.
Subcommands are ``models_check``, ``people_list`` and so on. What goes wrong is raised as an OstromError; an exit code
of 1 or 3 (an incomplete run, a refused import, an undecided gate) is no error: what is given says it.
"""

import contextvars
import inspect
import keyword
import os
from collections.abc import Callable
from functools import partial
from typing import Any

from ostrom.ground.commands import command_names, every_command, parts_of
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.results import Output
from ostrom.ground.terminal import one_command, print_stderr

NOT_HERE = ("json", "help")


def names() -> list[str]:
    """Return all function names, one for every command."""
    return sorted(map(_python, every_command()))


def __getattr__(name: str) -> Callable[..., Any]:
    return _function(name, _command_path(name))


def __dir__() -> list[str]:
    return [*names(), "names"]


def _command_path(name: str) -> tuple[Any, ...]:
    """Return the parser's groups down to a function's command, and the command."""
    for command in command_names() if not name.startswith("__") else ():
        if f"{name}_".startswith(f"{_python(command)}_"):
            for words, parts in parts_of(command).items():
                if _python(words) == name:
                    return parts
    raise AttributeError(f"ostrom has no command {name!r} (see ostrom.commands.names())")


def _python(name: str) -> str:
    plain = name.lstrip("-").replace("-", "_").replace(" ", "_")
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def _python_name(parameter: Any) -> str:
    return _python(parameter.name if parameter.param_type_name == "argument" else max(parameter.opts, key=len))


def _function(name: str, parts: tuple[Any, ...]) -> Callable[..., Any]:
    """Return a function with a command's signature; arguments are checked as on the command line."""
    parameters = [p for part in parts for p in part.params if _python_name(p) not in NOT_HERE]
    parameters.sort(key=lambda p: (p.param_type_name != "argument", not p.required))
    kinds = inspect.Parameter
    signature = inspect.Signature(
        [
            kinds(
                _python_name(parameter),
                kinds.POSITIONAL_OR_KEYWORD if parameter.param_type_name == "argument" else kinds.KEYWORD_ONLY,
                default=kinds.empty if parameter.required else parameter.default,
            )
            for parameter in parameters
        ]
    )

    def function(*args: Any, **kwargs: Any) -> Any:
        return _outside_the_loop(partial(_result, name, parts, signature.bind(*args, **kwargs).arguments))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = parts[-1].help
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _result(name: str, parts: tuple[Any, ...], bound: dict[str, Any]) -> Any:
    """Return the Python value of a command's Output, or its return value."""
    from typer import Exit

    with one_command():
        try:
            output = _called(parts, bound)
        except OstromError:
            raise
        except Exit as left:  # a command of another package may end by its exit code
            output = Output(code=left.exit_code)
        except Exception as error:
            message = getattr(error, "format_message", None)  # the parser's message about a wrong value
            if message is None:
                raise
            raise UsageError(message()) from None
    if not isinstance(output, Output):
        return output
    for line in filter(None, output.messages):
        print_stderr(line)
    if output.code == 130:
        raise KeyboardInterrupt
    if output.code not in (0, 1, 3) or (output.code and output.document is None):
        raise UsageError(f"ostrom {name} ended with exit code {output.code}")
    return output.for_python()


def _called(parts: tuple[Any, ...], bound: dict[str, Any]) -> Any:
    """Call the functions of a group and its command with checked values."""
    from typer import Context

    context = value = None
    for part in parts:
        context = Context(part, info_name=part.name, parent=context)
        values = {parameter.name: _value(parameter, bound) for parameter in part.params}
        with context:
            for parameter in part.params:
                if parameter.name != "help":
                    parameter.handle_parse_result(context, values, [])
            if part.callback is not None:
                value = part.callback(**context.params)
    return value


def _value(parameter: Any, bound: dict[str, Any]) -> Any:
    """Convert a Python argument for the command-line parser: texts, and booleans for flags."""
    if parameter.name == "json":
        return True
    value = bound.get(_python_name(parameter))
    if value is None or getattr(parameter, "is_flag", False):
        return None if value is None else bool(value)
    values = [_text(one) for one in (value if isinstance(value, list | tuple) else [value])]
    several = parameter.nargs == -1 or getattr(parameter, "multiple", False)
    return values if several else next(reversed(values), None)  # the last, as of an option that is given several times


def _text(value: Any) -> str:
    """Return a value as a command-line word; a path or run is its folder."""
    return str(os.fspath(value) if isinstance(value, os.PathLike) else value)


def _outside_the_loop(run: Callable[[], Any]) -> Any:
    """Run here, or in a thread if an event loop is running: commands start their own loop."""
    from ostrom.api.threads import in_a_thread, inside_a_loop
    from ostrom.engine.progress import stop_in

    return run() if not inside_a_loop() else in_a_thread(partial(contextvars.copy_context().run, run), stop_in)
