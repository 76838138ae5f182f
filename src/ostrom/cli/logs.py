"""The log of a command: ``-v`` writes it on stderr, ``--log-file`` to a file. The package logs under ``ostrom``."""

import logging
from pathlib import Path

from ostrom.ground.errors import UsageError
from ostrom.ground.terminal import one_line, print_stderr
from ostrom.models.redaction import environment_secrets, redact

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _Plain(logging.Formatter):
    """One line per record; control characters are escaped, keys and passwords masked."""

    def format(self, record: logging.LogRecord) -> str:
        return one_line(redact(super().format(record), environment_secrets()))


class _Terminal(logging.Handler):
    """Writes records to stderr like all messages."""

    def emit(self, record: logging.LogRecord) -> None:
        print_stderr(self.format(record))


def set_up(verbose: int = 0, file: Path | None = None) -> None:
    """Set up the log: -v shows retries and limits, -vv every call; a file gets everything."""
    logger = logging.getLogger("ostrom")
    handlers: list[logging.Handler] = [_Terminal(LEVELS[min(verbose, len(LEVELS) - 1)])] if verbose else []
    try:
        handlers += [logging.FileHandler(file, encoding="utf-8")] if file is not None else []
    except OSError as error:
        raise UsageError(f"--log-file {file}: cannot be written ({error.strerror or error})") from None
    for old in [h for h in logger.handlers if isinstance(h.formatter, _Plain)]:
        logger.removeHandler(old)
        old.close()
    for handler in handlers:
        handler.setFormatter(_Plain(FORM))
        logger.addHandler(handler)
    if handlers:
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
