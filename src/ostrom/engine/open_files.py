"""How many files and connections this process may have open, and what that leaves for model calls."""

from __future__ import annotations

import resource

from ostrom.ground.errors import RunError

OWN = 48
"""Files that a run needs besides connections: journal, logs, prompts, packages that are imported on the way."""
WANTED = 4096


def connections_left() -> int:
    """Connections that may be open at a time; the soft limit is raised first, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return WANTED
    most = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if soft <= OWN:
        raise RunError(
            f"only {soft} files may be open at a time, and a run with models needs more than {OWN}: "
            "raise the limit (ulimit -n 1024) and run again"
        )
    return soft - OWN
