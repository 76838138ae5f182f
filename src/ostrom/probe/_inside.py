"""What runs between the system and a program that a model wrote: started as text, it imports nothing of ours.

``enter`` builds a root of its own out of a few folders, read-only, in new namespaces: no network, no other processes,
no home, no configuration. ``confine`` then bounds the process and takes away the system calls by which it could start
other programs, open sockets or make namespaces.
"""

# Its paths are those of another root, as text.
# ruff: noqa: PTH102, PTH103, PTH106, PTH112, PTH114, PTH115, PTH120, PTH123, PTH211
import ctypes
import os
import platform
import resource
import signal
import struct
import sys

PASSED = 77
SECONDS, MEGABYTES, MOST_FILE = 5, 1024, 1 << 20
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
"""How the kernel calls them, and which column of the system calls is theirs."""
FORBIDDEN = (  # x86_64, aarch64; -1: there is none
    (57, -1), (58, -1), (59, 221), (322, 281),  # fork, vfork, execve, execveat
    (41, 198), (53, 199), (101, 117), (310, 270), (311, 271),  # socket, socketpair, ptrace, process_vm_readv, -writev
    (272, 97), (308, 268), (165, 40), (166, 39), (155, 41),  # unshare, setns, mount, umount2, pivot_root
    (428, 428), (429, 429), (430, 430), (442, 442),  # open_tree, move_mount, fsopen, mount_setattr
    (248, 217), (249, 218), (250, 219),  # add_key, request_key, keyctl
    (321, 280), (298, 241), (323, 282), (425, 425),  # bpf, perf_event_open, userfaultfd, io_uring_setup
)  # fmt: skip
CLONE, CLONE3, THREAD = (56, 220), 435, 0x10000


def _libc(name: str, *arguments: object) -> None:
    """Call the C library; what fails ends the process before the program is begun."""
    function = getattr(ctypes.CDLL(None, use_errno=True), name)
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def enter(paths: list[str], root: str) -> None:
    """Go into namespaces of one's own whose files are these alone, read-only, and an empty folder."""
    user, group = os.getuid(), os.getgid()
    # mount, uts, ipc, user, pid and net
    _libc("unshare", 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"65534 {user} 1"),
        ("gid_map", f"65534 {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    if child := os.fork():  # the child is the first process of the new namespace: all others end with it
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 255)
    _libc("prctl", 1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    _libc("mount", None, b"/", None, 0x44000, None)  # MS_REC | MS_PRIVATE
    _libc("mount", b"tmpfs", root.encode(), b"tmpfs", 0x6, b"size=1m,mode=755")  # MS_NOSUID | MS_NODEV
    for path in paths:
        place = root + path
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if os.path.islink(path):
            os.symlink(os.readlink(path), place)
            continue
        if os.path.isdir(path):
            os.makedirs(place, exist_ok=True)
        else:
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY))
        _libc("mount", path.encode(), place.encode(), None, 0x5000, None)  # MS_BIND | MS_REC
        _read_only(place)
    os.makedirs(root + "/tmp")
    _libc("mount", b"tmpfs", (root + "/tmp").encode(), b"tmpfs", 0x6, b"size=16m,mode=777")
    os.mkdir(root + "/old")
    _libc("pivot_root", root.encode(), (root + "/old").encode())
    os.chdir("/tmp")
    _libc("umount2", b"/old", 2)  # MNT_DETACH
    os.rmdir("/old")
    _read_only("/", everything=False)


def _read_only(place: str, *, everything: bool = True) -> None:
    attributes = struct.pack("QQQQ", 0x1 | 0x2 | 0x4, 0, 0, 0)  # read-only, without set-user bits and devices
    recursive = 0x8000 if everything else 0
    _libc("syscall", 442, -100, place.encode(), recursive, attributes, len(attributes))  # mount_setattr


def confine() -> None:
    """Bound the process, and forbid system calls that a function on lists and numbers does not need."""
    limits = {"CPU": SECONDS, "AS": MEGABYTES << 20, "FSIZE": MOST_FILE, "NOFILE": 32, "CORE": 0}
    for name, most in limits.items():
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
    machine, column = MACHINES[platform.machine()]
    allow, refuse, missing, kill = 0x7FFF0000, 0x50001, 0x50026, 0x80000000  # refuse: EPERM, missing: ENOSYS
    lines = [
        (0x20, 0, 0, 4),
        (0x15, 1, 0, machine),
        (0x06, 0, 0, kill),
        (0x20, 0, 0, 0),
    ]  # another machine's calls
    lines += [(0x35, 0, 1, 0x40000000), (0x06, 0, 0, kill)]  # the calls of x32
    for number in (row[column] for row in FORBIDDEN if row[column] >= 0):
        lines += [(0x15, 0, 1, number), (0x06, 0, 0, refuse)]
    lines += [
        (0x15, 0, 1, CLONE3),
        (0x06, 0, 0, missing),
    ]  # then threads are made by clone, whose flags can be seen
    lines += [(0x15, 0, 3, CLONE[column]), (0x20, 0, 0, 16), (0x45, 1, 0, THREAD), (0x06, 0, 0, refuse)]
    lines += [(0x06, 0, 0, allow)]
    text = b"".join(struct.pack("HBBI", *line) for line in lines)
    held = ctypes.create_string_buffer(text, len(text))
    _libc("prctl", 38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    packed = struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(held))
    _libc("prctl", 22, 2, packed, 0, 0)  # PR_SET_SECCOMP, a filter


def main(arguments: list[str]) -> None:
    """``enter ROOT PATH...``: enter, and start again inside; nothing: run the program on the standard input."""
    if arguments:
        root, *paths = arguments
        enter(paths, root)
        # Starting anew as somebody without rights drops what was needed to get here.
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", os.environ["INSIDE"]], dict(os.environ))
    program = compile(sys.stdin.read(), "program", "exec")
    os.environ.clear()
    confine()
    exec(program, {"__name__": "__main__"})
    os._exit(PASSED)


if __name__ == "__main__":
    main(sys.argv[1:])
