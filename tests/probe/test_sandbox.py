"""Code that a model wrote: what it can reach in the sandbox, and that it is not run where there is none."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostrom.ground.errors import UsageError
from ostrom.probe import human_eval
from ostrom.probe.human_eval import _run, passes, sandbox


def ways() -> list[str]:
    """The sandboxes that work here."""
    found = [way for way in ("bubblewrap", "namespaces") if sys.platform == "linux" and _run(way, "")]
    if shutil.which("bwrap") is None and "bubblewrap" in found:
        raise AssertionError("a sandbox that is not installed cannot work")
    return found


WAYS = ways()
needs_one = pytest.mark.skipif(not WAYS, reason="neither bubblewrap nor user namespaces work on this system")


def is_refused(way: str, code: str, error: str = "OSError") -> bool:
    """Whether code fails with an error in the sandbox; the program passes only then."""
    indented = "".join(f"    {line}\n" for line in code.splitlines())
    return _run(
        way,
        f"import ctypes, os, sys\ntry:\n{indented}except {error}:\n    pass\nelse:\n    raise SystemExit(1)",
    )


LIBC = "libc = ctypes.CDLL(None, use_errno=True)\n"
FAIL = "\nif {} < 0:\n    raise OSError(ctypes.get_errno())"
ATTACKS = {
    "a socket": "import socket\nsocket.socket()",
    "a socket to this machine": "import socket\nsocket.create_connection(('127.0.0.1', 22), 1)",
    "a local socket": "import socket\nsocket.socket(socket.AF_UNIX)",
    "a pair of sockets": "import socket\nsocket.socketpair()",
    "a name": "import socket\nsocket.getaddrinfo('example.org', 80)",
    "another program": "import subprocess\nsubprocess.run([sys.executable, '--version'])",
    "a spawned program": "os.posix_spawn(sys.executable, [sys.executable], {})",
    "the place of this program": "os.execv(sys.executable, [sys.executable])",
    "a fork": "os.fork()",
    "a fork by its number": LIBC
    + "n = 57 if os.uname().machine == 'x86_64' else 220"
    + FAIL.format("libc.syscall(n, 17, 0, 0, 0, 0)"),
    "clone3": LIBC + FAIL.format("libc.syscall(435, (ctypes.c_uint64 * 11)(), 88)"),
    "a process that shares nothing": LIBC + FAIL.format("libc.unshare(0x10000000)"),
    "a mount": LIBC + FAIL.format("libc.mount(b'tmpfs', b'/tmp', b'tmpfs', 0, None)"),
    "a mount made writable": LIBC + FAIL.format("libc.mount(None, b'/usr/lib', None, 0x1020, None)"),
    "another root": "os.chroot('/tmp')",
    "another user": "os.setuid(0)",
    "looking into processes": LIBC + FAIL.format("libc.ptrace(0, 0, 0, 0)"),
    "the list of users": "open('/etc/passwd')",
    "the processes of the system": "os.listdir('/proc')",
    "devices": "open('/dev/zero')",
    "a file beside its folder": "open('/left', 'w')",
    "a folder beside its own": "os.mkdir('/left')",
    "a file in the library": "open(os.path.dirname(os.__file__) + '/left.py', 'w')",
    "a file of the library": "open(os.__file__, 'a')",
    "a file of the system": "open('/usr/lib/left', 'w')",
    "removing a file of the library": "os.unlink(os.__file__)",
    "a large file": "open('large', 'wb').write(bytes(1 << 21))",
    "many files": "for n in range(40): open(str(n), 'wb').write(bytes(1 << 20))",
    "many open files": "held = [open('a', 'w') for _ in range(100)]",
}  # fmt: skip


@pytest.mark.sample(11)
@needs_one
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("code", ATTACKS.values(), ids=ATTACKS.keys())
def test_the_sandbox_refuses(code: str, way: str) -> None:
    assert is_refused(way, code)


@pytest.mark.slow
@needs_one
@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_the_user_is_there(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    beside = Path(__file__)
    assert _run(way, "import os\nassert not os.environ and os.getpid() < 10 and os.getuid() == 65534")
    for path in (secret, Path.home() / ".bashrc", Path.home() / ".ssh", beside, Path("/etc/hostname")):
        assert _run(way, f"import os\nassert not os.path.exists({str(path)!r})"), path
    # Where Python itself is installed in the home, the folders above it are there, and nothing else in them.
    walk = (
        "import os\nnames = [os.path.join(here, name) for here, below, there in os.walk({home!r}) for name in there]\n"
        "assert all('python' in name.lower() or '.so' in name or '/lib/' in name for name in names), names[:5]"
    )
    assert _run(way, walk.format(home=str(Path.home())))


@pytest.mark.slow
@needs_one
@pytest.mark.parametrize("way", WAYS)
def test_plain_programs_work(way: str) -> None:
    assert _run(way, "import collections, decimal, heapq, hashlib, itertools, json, math, random, re, typing")
    assert _run(way, "open('kept', 'w').write('1')\nassert open('kept').read() == '1'")
    thread = "import threading\ndone = []\none = threading.Thread(target=done.append, args=(1,))\n"
    assert _run(way, thread + "one.start()\none.join()\nassert done == [1]")
    assert not _run(way, "raise SystemExit(0)") and not _run(way, "assert False") and not _run(way, "def")


@pytest.mark.slow
@needs_one
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import signal, time\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except OSError: pass\nwhile True: time.sleep(1)",
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(99,)).start()",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        "held = []\nwhile True: held.append(bytes(1 << 20))",
    ],
    ids=["a loop", "a sleep that hears no signal", "threads", "forks", "memory"],
)
def test_what_does_not_end_is_ended(code: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(human_eval, "SECONDS", 1)
    assert not _run(way, code)


@pytest.fixture
def anew() -> Iterator[None]:
    sandbox.cache_clear()
    yield
    sandbox.cache_clear()


@pytest.mark.usefixtures("anew")
def test_without_a_sandbox_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def fails(way: str, text: str) -> bool:
        tried.append(way + text)
        return False

    monkeypatch.setattr(human_eval, "_run", fails)
    if sys.platform == "linux":
        with pytest.raises(UsageError, match=r"--run-code: .* in a sandbox alone.*install bubblewrap"):
            passes("open('/left', 'w')")
        assert tried == ["bubblewrap", "namespaces"]  # by trying, and never with the program
    for name in ("darwin", "win32"):
        tried.clear()
        sandbox.cache_clear()
        monkeypatch.setattr(sys, "platform", name)
        with pytest.raises(UsageError, match=rf"none works on this system \({name}"):
            passes("")
        assert not tried


@pytest.mark.usefixtures("anew")
def test_a_machine_whose_system_calls_are_not_known_has_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(UsageError, match="riscv64"):
        sandbox()


@needs_one
@pytest.mark.usefixtures("anew")
def test_the_first_sandbox_that_works_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sandbox() == WAYS[0]
    sandbox.cache_clear()
    monkeypatch.setattr(human_eval, "_run", lambda way, _: way == "namespaces")
    assert sandbox() == "namespaces"
