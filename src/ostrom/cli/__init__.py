"""The command line."""

from __future__ import annotations

import os
import sys

from ostrom.errors import OstromError

__all__ = ["main"]


def main() -> None:
    """Run a command; a user sees one line about what went wrong, never a traceback."""
    from ostrom.cli.app import app

    try:
        app()
    except OstromError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _complain("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("OSTROM_DEBUG"):
            raise
        text = " ".join(str(error).split())
        _complain(f"internal error: {type(error).__name__}: {text} (OSTROM_DEBUG=1 shows where)")
        sys.exit(70)


def _complain(text: str) -> None:
    print(f"ostrom: {' '.join(text.split())}", file=sys.stderr)
