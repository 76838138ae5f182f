"""What every command prints over kept runs: as text at 80 columns, as JSON and as CSV, with its exit code."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion
from tests.golden.cases import BOTH, KEYED, KINDS, SHOWN, SUBCOMMANDS, TEXT, commands
from tests.golden.conftest import Shell

SINGLE = {name: (command,) for name, command in BOTH.items()}
SINGLE |= {f"{name}-json": (f"{command} --json",) for name, command in BOTH.items()}
SINGLE |= {f"list-{kind}": (f"list {kind}",) for kind in KINDS}
SINGLE |= {f"list-{kind}-json": (f"list {kind} --json",) for kind in KINDS}
SINGLE |= {
    f"show-{kind}-{name.replace('/', '-').replace(':', '-')}{suffix}": (f"show {kind} {name}{option}",)
    for kind, names in SHOWN.items()
    for name in names
    for suffix, option in (("", ""), ("-json", " --json"))
}
SINGLE |= {f"help-{name.replace(' ', '-')}": (f"{name} --help",) for name in (*commands(), *SUBCOMMANDS)}
SINGLE |= {"help": ("--help",), "help-more": ("more --help",)}
SINGLE |= TEXT


@pytest.mark.parametrize("case", SINGLE)
def test_command(case: str, shell: Shell, golden: SnapshotAssertion) -> None:
    assert shell(*SINGLE[case], runs=("ALL",) if case.startswith("list-runs") else ()) == golden


@pytest.mark.parametrize("case", KEYED)
def test_keyed(case: str, shell: Shell, golden: SnapshotAssertion) -> None:
    command, keys = KEYED[case]
    assert shell(command, keys=keys) == golden
