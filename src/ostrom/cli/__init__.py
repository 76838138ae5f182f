"""The command line."""

import errno
import gc
import os
import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run a command; errors are one line, never a traceback."""
    if sys.platform == "win32":
        from ostrom.ground.version import NO_WINDOWS

        _complain(NO_WINDOWS.removeprefix("ostrom "))
        sys.exit(2)
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # false under nohup, for example
    if heard:  # an interrupted import fails in any way, and nothing was started that must be ended
        signal.signal(signal.SIGINT, _leave)
    # Modules and tables leave hardly any cycles, and each collection walks all of them.
    gc.set_threshold(50_000, *gc.get_threshold()[1:])
    from ostrom.cli.app import app
    from ostrom.ground.errors import OstromError

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        app(log_options_first(sys.argv[1:]), prog_name="ostrom")
    except OstromError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except BaseException as error:
        if _interrupted(error):
            _complain("interrupted")
            sys.exit(130)
        if isinstance(error, SystemExit) or os.environ.get("OSTROM_DEBUG"):
            raise
        many = isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)
        if isinstance(error, OSError) and (many or error.filename is not None):  # missing, too long, or not readable
            _complain(
                "too many open files: raise the limit (ulimit -n 1024) or use --max-connections"
                if many
                else f"{str(error.filename)[:300]}: {error.strerror}"
            )
            sys.exit(1)
        _complain(f"internal error: {type(error).__name__}: {error} (OSTROM_DEBUG=1 shows where)")
        sys.exit(70)


def log_options_first(arguments: list[str]) -> list[str]:
    """Return the arguments with the program's options first, where the parser expects them.

    >>> log_options_first(["run", "memory", "-v", "--log-file", "a.log", "--seeds", "2"])
    ['-v', '--log-file', 'a.log', 'run', 'memory', '--seeds', '2']
    """
    first, rest, remaining = list[str](), list[str](), iter(arguments)
    for argument in remaining:
        if argument == "--":
            rest += [argument, *remaining]
        elif argument in ("-v", "-vv", "--verbose") or argument.startswith(("--log-file=", "--allow-code=")):
            first.append(argument)
        elif argument in ("--log-file", "--allow-code"):
            first += [argument, *([value] if (value := next(remaining, None)) is not None else [])]
        else:
            rest.append(argument)
    return first + rest


def _leave(*_: object) -> None:
    """Exit immediately."""
    os.write(2, b"ostrom: interrupted\n")
    os._exit(130)


def _interrupted(error: BaseException | None) -> bool:
    """Return whether an error was caused by Ctrl-C, whatever it became on its way."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _complain(text: str) -> None:
    from ostrom.ground.terminal import one_line, print_stderr

    print_stderr(f"ostrom: {one_line(text)}")
