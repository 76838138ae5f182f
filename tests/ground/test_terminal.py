"""What strangers wrote is shown on a terminal, never obeyed by it."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ostrom.ground import terminal
from ostrom.ground.terminal import escape_controls

ATTACKS = [
    "\x1b[2J", "\x1b]52;c;cm0gLXJmIH4=\x07", "\x1b]0;title\x07", "\x9b31m", "\x9d52;c;eA==\x9c", "a\rb", "\x00",
    "\x08\x08",
    "\x7f", "\u202eevil", "\u2066x\u2069", "\u200e", "\u200b", "\ufeff", "\u2028", "\U000e0041", "\ud800",
]  # fmt: skip


def _dangerous(text: str) -> list[str]:
    return [c for c in text if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F or (c in "".join(ATTACKS)
            and not c.isprintable() and c not in "\n\t")]  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_reaches_the_terminal_that_it_would_obey(attack: str, capsys: pytest.CaptureFixture[str]) -> None:
    from ostrom.cli.output import show
    from ostrom.ground.results import TextTable

    terminal.write(f"reply {attack} end")
    terminal.print_stderr(f"error {attack} end")
    show({attack: attack}, TextTable(attack, [attack, "n"], [[attack, 1]]))
    shown = capsys.readouterr()
    assert _dangerous(shown.out + shown.err) == []
    assert escape_controls(attack) in shown.out and escape_controls(attack) in shown.err


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x07", "\\x07"), ("\xad", "\\xad"), ("\u061c", "\\u061c"), ("\ufeff", "\\ufeff"),
        ("\U0001d173", "\\U0001d173"), ("a\tb\n", "a\tb\n"), ("\u200d", "\u200d"),
    ],
)  # fmt: skip
def test_every_character_is_escaped_by_its_size(text: str, shown: str) -> None:
    assert terminal.escaped(text) == shown


def test_json_keeps_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    data = {f"k{i}": attack for i, attack in enumerate(ATTACKS) if attack != "\ud800"}
    terminal.write_json(data)
    shown = capsys.readouterr().out
    assert json.loads(shown) == data and _dangerous(shown) == []


def test_ordinary_text_stays(capsys: pytest.CaptureFixture[str]) -> None:
    text = "Zażółć\tgęślą\njaźń 日本 👩\u200d🔬 نمی\u200cدانم ± “x” [bold]not markup[/bold] :smile:"
    assert escape_controls(text) == text
    from ostrom.cli.output import show
    from ostrom.ground.results import TextTable

    show(TextTable("", ["[link=http://evil.example]x[/link]"], [["[red]a[/red] :smile:"]]))
    shown = capsys.readouterr().out
    assert "[link=http://evil.example]x[/link]" in shown and "[red]a[/red] :smile:" in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://user:pass@host/v1#m", "http://user:***@host/v1#m"),
        ("https://user:p@ss:word@host", "https://user:***@host"),
        ("https://ghp_token@host/x", "https://***@host/x"),
        ("http://:secret@host", "http://:***@host"),
        ("https://h/v1?api_key=abc&x=1", "https://h/v1?api_key=***&x=1"),
        ("see http://host/v1 and mail me@example.org", "see http://host/v1 and mail me@example.org"),
    ],
)
def test_passwords_in_addresses_are_masked(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


def test_a_terminal_without_unicode_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    terminal.write("± 日")
    sys.stdout.flush()
    assert raw.getvalue() == b"\\xb1 \\u65e5\n"


STUDY = """\
name: s
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 2}
types: {"TYPE": {strategy: tit_for_tat}, b: {strategy: grim}}
"""


def _invoke(*words: str) -> Any:
    from ostrom.cli.app import app

    return CliRunner().invoke(app, list(words))


def test_commands_show_the_names_of_types_escaped(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(STUDY.replace("TYPE", r"\e]52;c;eA==\a=1+1"), encoding="utf-8")
    runs = ["--runs", str(tmp_path)]
    shown = []
    for words in (
        ["run", str(file)],
        ["transcript", str(tmp_path / "s"), "--match", "0"],
        ["run", str(file), "--dry-run"],
    ):
        result = _invoke(*words, *(runs if words[0] == "run" else []))
        assert result.exception is None, result.output
        shown.append(result.output)
    assert all(_dangerous(text) == [] for text in shown)
    assert any("\\x1b]52;c;eA==\\x07=1+1" in text for text in shown)


def test_csv_keeps_raw_text_and_can_be_made_safe(tmp_path: Path) -> None:
    import csv

    file = tmp_path / "s.yaml"
    file.write_text(STUDY.replace("TYPE", "=1+1"), encoding="utf-8")
    assert _invoke("run", str(file), "--runs", str(tmp_path)).exception is None
    agents = []
    for more in ([], ["--safe"]):
        out = tmp_path / f"out{len(more)}"
        result = _invoke("export", str(tmp_path / "s"), "--format", "csv", "--out", str(out), *more)
        assert result.exception is None, result.output
        with (out / "matches.csv").open(encoding="utf-8", newline="") as table:
            agents.append({row["agent"] for row in csv.DictReader(table)})
    assert agents == [{"=1+1", "b"}, {"'=1+1", "b"}]
    refused = _invoke("export", str(tmp_path / "s"), "--format", "jsonl", "--safe").exception
    assert "--safe is for --format csv" in str(refused)


@pytest.mark.parametrize("words", [["validate"], ["run", "--dry-run"], ["run"]])
def test_an_error_masks_the_password_of_an_address(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ostrom.cli import main

    file = tmp_path / "s.yaml"
    file.write_text(
        "name: s\ngame: prisoners_dilemma\nmechanism: {name: repetition, rounds: 2}\n"
        "agent: {model: 'http://me:hunter2secret@127.0.0.1:9/v1#m'}\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ostrom", words[0], str(file), *words[1:]])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr()
    assert "hunter2" not in shown.out + shown.err and shown.err.startswith("ostrom: ")
    assert not (tmp_path / "runs").exists()


def test_figures_tables_and_pages_hold_no_control_characters() -> None:
    import altair as alt

    from ostrom.reports.figures import _printable, render
    from ostrom.reports.files import as_csv, as_markdown
    from ostrom.reports.panel import Table

    name = "\x1b]0;x\x07\u202e"
    chart = alt.Chart(alt.Data(values=[{"agent": name, "n": 1}])).mark_bar().encode(x="n:Q", y="agent:N")
    spec = _printable(chart.to_dict())
    assert _dangerous(str(spec)) == []
    svg, _ = render(chart)  # the renderer ended the whole process over an escape character
    assert "\\x1b]0;x\\x07\\u202e" in svg and _dangerous(svg) == []
    table = Table("t", ["agent"], [[f"{name}![x](http://evil.example)|`<b>"]], "")
    assert "\\\\x1b" in as_markdown(table) and "!\\[x](http://evil.example)\\|\\`&lt;b>" in as_markdown(table)
    assert as_csv(table).startswith("agent\n\x1b")
    assert as_csv(Table("t", ["@a"], [["-x"], [-1.5]], ""), safe=True) == "'@a\n'-x\n-1.5\n"


def test_long_addresses_are_masked_in_linear_time() -> None:
    text = "http://" + "a" * 200_000 + " " + "://" * 50_000 + "http://x?" + "key" * 50_000
    assert escape_controls(text) == text
