"""No option without a test: every option of every command is named in some test, by its flag or its name in Python."""

import re
from pathlib import Path

import pytest

from ostrom.ground.commands import every_command

TESTS = Path(__file__).parents[1]

APART = {"--open": "opens a browser on the machine of whoever runs it"}


@pytest.mark.slow
def test_every_option_is_named_in_a_test() -> None:
    cases = [TESTS / "golden" / "cases.yaml", *(TESTS / "golden" / "refused").iterdir()]
    files = [*cases, *(path for path in TESTS.rglob("*.py") if path.name != "test_every_option.py")]
    words = "\n".join(path.read_text(encoding="utf-8") for path in files if path.is_file())
    flags = set(re.findall(r"--[a-z][a-z-]*", words)) | {
        "--" + name.replace("_", "-") for name in re.findall(r"\b([a-z_]+)=", words)
    }
    missing = {
        f"{command} {option}"
        for command, (*_, parts) in every_command().items()
        for parameter in parts.params
        for option in parameter.opts
        if option.startswith("--") and option not in flags and option not in APART
    }
    assert not missing
