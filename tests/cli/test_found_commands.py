"""Commands are found by name: ours by a table, those of other packages by an entry point."""

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from tests.cli.in_process import Call, caller
from tests.docs.test_contributing import block
from tests.replications.packages import install

import ostrom
from ostrom.ground.commands import GROUPED, MORE, OURS, click_command, command_names, commands, every_command
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.registry import refresh

STUDY = "{name: s, game: chicken, types: {a: random}, seating: self, mechanism: {name: repetition, rounds: 3}}"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A package as pip lays it out, with the command of CONTRIBUTING, a group, a broken one and one of our names."""
    points = """[ostrom.commands]
tally = tally_package.tally:tally
rare = tally_package.group:rare
gone = tally_package.nothing:gone
number = tally_package.group:NUMBER
judge = tally_package.tally:tally
"""
    group = (
        "import typer\nNUMBER = 3\nrare = typer.Typer(help='Seldom needed.')\n"
        "@rare.command('one')\ndef one() -> str:\n    '''Return one.'''\n    return 'one'\n"
        "@rare.command('two')\ndef two() -> None:\n    '''Leave.'''\n    raise typer.Exit(2)\n"
    )
    files = {"__init__.py": "", "tally.py": block("python", "def tally("), "group.py": group}
    site = install(tmp_path / "site", "tally", {f"tally_package/{k}": v for k, v in files.items()}, points)
    sys.path.insert(0, str(site))
    refresh()
    try:
        yield site
    finally:
        sys.path.remove(str(site))
        for module in [name for name in sys.modules if name.startswith("tally_package")]:
            del sys.modules[module]
        refresh()


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    (tmp_path / "s.yaml").write_text(STUDY)
    return caller(monkeypatch, tmp_path)


@pytest.mark.parametrize("name", OURS)
def test_the_table_says_what_the_command_says_of_itself(name: str) -> None:
    part = commands.get(name)
    text = part.info.help if isinstance(part, typer.Typer) else inspect.getdoc(part)
    assert str(text).splitlines()[0] == OURS[name][1]


def test_help_imports_no_command() -> None:
    modules = sorted({place.partition(":")[0] for place, _ in OURS.values()})
    code = (
        "import sys; sys.argv = ['ostrom', '--help']\n"
        "from ostrom.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"assert not [m for m in {modules!r} if m in sys.modules]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_command_is_built_once() -> None:
    assert click_command("judge") is click_command("judge")


def test_a_command_of_another_package_is_one_of_the_program_and_of_python(outside: Path, call: Call) -> None:
    assert call("run", "s.yaml").code == 0
    assert "\n  tally       Count the finished matches of a run.\n" in call("--help").out
    listed = call("more", "--help").out
    assert "\n  rare        Seldom needed.\n" in listed and "\n  tally" not in listed
    assert call("tally", "s").err == "" and "is now `ostrom more rare`" in call("rare", "one").err
    assert call("tally", "s").out == "1\n" and call("tally", "s", "--least", "4").out == "0\n"
    assert "at least so many rounds" in call("tally", "--help").out
    assert call("tally", "s", "--least", "-1").code == 2
    assert ostrom.commands.tally("s", least=3) == {"run": "s", "matches": 1}
    with pytest.raises(UsageError, match="Invalid value for '--least'"):
        ostrom.commands.tally("s", least=-1)
    assert ostrom.commands.rare_one() == "one"
    with pytest.raises(UsageError, match="exit code 2"):
        ostrom.commands.rare_two()


def test_a_broken_or_ambiguous_command_harms_no_other(outside: Path, call: Call) -> None:
    assert "gone" in call("more", "--help").out and call("list", "games").code == 0
    done = call("gone")
    assert done.code != 0 and "command gone: package tally cannot be loaded" in done.err
    assert "command number: cannot be read by Typer" in call("number").err
    assert "several packages have a command of that name" in call("judge", "s").err
    with pytest.raises(StudyError, match="several packages"):
        click_command("judge")


def test_names_that_are_gone_are_forgotten(call: Call) -> None:
    assert "tally" not in command_names()
    done = call("xyzzy")
    assert done.code == 2 and done.err == "ostrom: there is no command 'xyzzy': `ostrom --help` lists the commands\n"
    assert "did you mean `ostrom estimate`?" in call("estimat").err
    assert "did you mean `ostrom more judge`?" in call("juge").err


def test_the_help_is_one_screen_of_whole_lines(call: Call) -> None:
    lines = call("--help").out.splitlines()
    assert 24 <= len(lines) <= 40 and max(map(len, lines)) <= 80
    assert not [
        line for line in lines if line.endswith("...") and line[2:].split("  ")[0] not in ("new", "list", "show")
    ]
    for group, entries in GROUPED.items():
        if group != MORE:
            start = lines.index(group) + 1
            assert [line.split()[0] for line in lines[start : start + len(entries)]] == list(entries)
    further = call("more", "--help").out
    assert all(f"\n  {name:11} {line}\n" in further for name, (_, line) in GROUPED[MORE].items())
    assert not any(f"\n  {name} " in further for name in GROUPED["Start"])


def test_help_is_a_command_too(call: Call) -> None:
    assert call("help").out == call("--help").out == call("-h").out
    assert call("help", "run").out == call("run", "--help").out
    assert call("help", "more").out == call("more", "--help").out
    assert call("help", "more", "judge").out == call("more", "judge", "--help").out


def test_the_old_name_of_a_further_command_works_and_names_the_new_place(call: Call) -> None:
    old, new = call("judge", "--help"), call("more", "judge", "--help")
    assert old.code == new.code == 0 and old.out.partition("\n\n")[2] == new.out.partition("\n\n")[2]
    assert new.err == "" and old.err.splitlines() == [
        "ostrom: `ostrom judge` is now `ostrom more judge`; the old name goes on working"
    ]
    assert call("list", "games").err == ""


@pytest.mark.parametrize("words", sorted(every_command()))
def test_help_names_values_by_words(call: Call, words: str) -> None:
    first, *rest = words.split()
    arguments = [first, "RUN", *rest] if first == "people" else [first, *rest]
    text = call(*arguments, "--help").out
    assert "Usage:" in text and not re.search(r"<[a-z\[\] ]+>|\b(TEXT|INTEGER|FLOAT|PATH)\b", text), text
