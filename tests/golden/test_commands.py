"""What every command prints over kept runs: as text at 80 columns, as JSON and as CSV, with its exit code."""

import pytest
from tests.golden.cases import BOTH, KEYED, KINDS, SHOWN, SLOW, SUBCOMMANDS, TEXT, commands
from tests.golden.conftest import Golden, Shell, with_slow

from ostrom.cli.commands.catalog import list_parts
from ostrom.engine import progress
from ostrom.ground.terminal import print_stderr

SINGLE: dict[str, tuple[str, ...]] = {name: (command,) for name, command in BOTH.items()}
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


AS_JSON = frozenset(f"{name}-json" for name in BOTH if name not in SLOW)
"""Second forms of commands whose first form `make test` reads."""


@pytest.mark.parametrize("case", with_slow(SINGLE, SLOW | AS_JSON))
def test_command(case: str, shell: Shell, golden: Golden) -> None:
    golden(shell(*SINGLE[case], runs=("ALL",) if case.startswith("list-runs") else ()))


def test_a_busy_machine_prints_the_same(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that takes so long that its progress is told has the golden output of a quick one."""
    command, told = "resume negotiation --json", []
    quick = shell(command)
    lines = progress._lines

    def tell(text: str) -> None:
        told.append(text)
        print_stderr(text)

    monkeypatch.setattr("ostrom.engine.progress.print_stderr", tell)
    monkeypatch.setattr(progress, "_lines", lambda runner, every: lines(runner, every / 5000))
    assert shell(command) == quick
    assert told


@pytest.mark.parametrize("case", KEYED)
def test_keyed(case: str, shell: Shell, golden: Golden) -> None:
    command, keys = KEYED[case]
    golden(shell(command, keys=keys))


@pytest.mark.parametrize("kind", [kind for kind in SHOWN if kind not in ("model", "prompt")])
def test_every_part(kind: str, shell: Shell, golden: Golden) -> None:
    """Every part of a catalog, as `show` describes it: titles, definitions, parameters with defaults and bounds."""
    names = [row["name"] for row in list_parts(kind).document]
    golden(shell(*(f"show {kind} {name} --json" for name in names)))
