"""What `ostrom list`, `ostrom show` and `ostrom validate` say of parts and files, by hand."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.cli import logs
from ostrom.cli import output as printing
from ostrom.cli.batteries import sizes_output
from ostrom.cli.commands.catalog import KINDS, first_of, game_in_words, list_parts, part_row, run_rows, show
from ostrom.cli.commands.validate import check_file
from ostrom.cli.output import cell
from ostrom.games import build_game
from ostrom.games.summary import summary
from ostrom.ground.errors import OstromError, UnknownName, UsageError
from ostrom.ground.results import Csv

SEXES = (
    "opera, opera (strict, pays 10, 7); football, football (strict, pays 7, 10); "
    "mixed: opera 0.588, opera 0.412 (pays 4.11765, 4.11765)"
)


@pytest.mark.parametrize(
    ("game", "words"),
    [
        ("prisoners_dilemma", {
            "parameters": "preset=axelrod, T=5, R=3, P=1, S=0, strict=True", "cooperative": "cooperate",
            "equilibria": "defect, defect (strict, pays 1, 1)",
            "dominated": "cooperate by defect (seat 1); cooperate by defect (seat 2)",
            "social optimum": "cooperate, cooperate",
            "Pareto efficient": "cooperate, cooperate; cooperate, defect; defect, cooperate",
            "cooperation in equilibrium": "repeated, from a chance of 0.5 of another round on",
            "as a 2x2 game": "number 67, Prisoner's Dilemma, family pd-family",
        }),
        ("battle_of_the_sexes", {"equilibria": SEXES, "cooperative": None, "cooperation in equilibrium": None}),
        ("matching_pennies", {"equilibria": "mixed: heads 0.5, heads 0.5 (pays 0, 0)", "dominated": None}),
        ("stag_hunt", {"cooperation in equilibrium": "in one play", "cooperative": "stag"}),
        ("ordinal_2x2:12", {"as a 2x2 game": "number 12, Chicken, family unfair"}),
    ],
)  # fmt: skip
def test_a_game_in_words(game: str, words: dict[str, str | None]) -> None:
    told = game_in_words(summary(build_game(game)))
    assert {key: told.get(key) for key in words} == words


def test_a_game_without_points_of_equilibrium_or_a_threat_that_helps() -> None:
    facts: dict[str, Any] = {
        "name": "g", "cooperative": ["a", None, "a"], "actions": [["a", "b"]], "least_continuation": None,
        "equilibria": {"pure": [{"profile": ["a", "b"], "strict": False, "payoffs": [1.0, 0.5]}],
                       "all": {"degenerate": True}},
        "dominated": [{"action": "a", "by": "b", "seat": 2, "strict": False}],
    }  # fmt: skip
    assert game_in_words(facts) == {
        "name": "g", "cooperative": "a",
        "equilibria": "a, b (weak, pays 1, 0.5); and whole pieces of mixed ones (see --json)",
        "dominated": "a by b (seat 2, weakly)", "cooperation in equilibrium": "not by the threat that all defect",
    }  # fmt: skip
    none = {**facts, "equilibria": {"pure": []}, "cooperative": [None], "dominated": None}
    assert game_in_words(none) == {"name": "g", "equilibria": "none in pure strategies"}


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        ("run", "r", "a run is shown by its report: `ostrom report r`"),
        ("replication", "nobody", "unknown replication 'nobody'"),
        ("strategy", "nobody", "unknown strategy 'nobody'"),
        ("prompt", "nothing_like_it", "there is no prompt file 'nothing_like_it' (see `ostrom list prompts`)"),
    ],
)
def test_what_cannot_be_shown_is_one_line(kind: str, name: str, line: str) -> None:
    with pytest.raises(OstromError) as refused:
        show(kind=kind, name=name)
    assert str(refused.value).startswith(line)


def test_lists_name_what_matters_first_and_count_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    listed = list_parts("measures")
    printing.emit(listed)
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert [line.split()[0] for line in lines] == first_of("measures") and first_of("games") == []
    assert len({line.index("  ") <= 20 for line in lines}) == 1
    assert f"{len(listed.document) - 10} more: ostrom list measures --all" in told.err
    with pytest.raises(UsageError, match=r"^--family: measures have no families \(allowed with: games\)$"):
        list_parts("measures", family="all")
    assert len(list_parts("games", family="tragic").document) == 8
    kinds = dict.fromkeys(row["kind"] for row in list_parts("prompts").document)
    assert list(kinds)[:3] == ["stories", "layouts", "payoffs"] and {"goals", "hints", "personas", "names"} < set(kinds)
    assert {"name": "anthropic/<model>"} in list_parts("models").document


def test_a_part_that_cannot_be_loaded_says_why() -> None:
    def get(name: str) -> Any:
        raise UnknownName("game", name, ["chicken"])

    row = part_row(SimpleNamespace(get=get), "lost")
    assert row["name"] == "lost" and row["what"].startswith("unknown game 'lost'") and row["parameters"] == ""


def test_a_folder_that_is_no_run_is_listed_with_its_problem(tmp_path: Path) -> None:
    assert run_rows(tmp_path / "none") == [] == run_rows(tmp_path)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "run.json").write_text("{}")
    ((row),) = run_rows(tmp_path)
    assert row["name"] == "bad" and row["study"] is row["state"] is None and row["problem"]


CODE = """
from ostrom.memory import Memory
from ostrom.agents.strategy import Strategy
def lately(rounds): return rounds[-1:]
def mirror(past, rng): return 0
def _own(rounds): return rounds
def helper(x): return x
NUMBER = 3
"""


def test_a_python_file_says_which_parts_it_holds(tmp_path: Path) -> None:
    file = tmp_path / "parts.py"
    file.write_text(CODE)
    assert check_file(file) == {
        "file": str(file), "kind": "Python file", "memories": "parts.py:lately", "strategies": "parts.py:mirror",
    }  # fmt: skip
    file.write_text("def helper(x): return x\n")
    with pytest.raises(UsageError, match=r"parts\.py: holds no part of a study: a memory is a function of `rounds`"):
        check_file(file)


def test_games_in_files_are_told_by_what_they_hold(tmp_path: Path) -> None:
    text = "name: tiny\nactions: [a, b]\npayoffs: {'a, a': [1, 1], 'a, b': [0, 2], 'b, a': [2, 0], 'b, b': [0, 0]}\n"
    (tmp_path / "tiny.yaml").write_text(text)
    facts = check_file(tmp_path / "tiny.yaml")
    assert facts == {"file": str(tmp_path / "tiny.yaml"), "kind": "game", "name": "tiny", "seats": 2}
    (tmp_path / "study.yaml").write_text(text + "mechanism: none\n")
    assert check_file(tmp_path / "study.yaml") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"), (True, "yes"), (False, "no"), (1.5, "1.5"), (2.0, "2"), (0.0004, "0"), (-0.5, "-0.5"),
        (999_999.0, "999999"), (1e6, "1e+06"), (-2e6, "-2e+06"), (7, "7"), ("x", "x"),
    ],
)  # fmt: skip
def test_a_value_as_a_table_shows_it(value: Any, text: str) -> None:
    assert cell(value) == text


def test_records_and_rows_are_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    printing.show({"a": 1, "longer": None})
    assert capsys.readouterr().out == "a       1\nlonger  -\n"
    printing.show({}, None)
    rows: list[dict[str, Any]] = [{"a": "=1+1", "b": 1}, {"c": "x,y"}]
    printing.show(Csv(rows))
    assert capsys.readouterr().out == 'a,b,c\n=1+1,1,\n,,"x,y"\n'
    printing.show(Csv(rows, safe=True))
    assert capsys.readouterr().out.splitlines()[1] == "'=1+1,1,"


def sized(name: str, seeds: int, calls: int, usd: float, most: float | None, *assumes: str) -> Any:
    part = SimpleNamespace(name=name, study=f"{name}-study")
    return SimpleNamespace(
        part=part,
        seeds=seeds,
        calls=calls,
        usd=lambda: usd,
        hours=calls / 20,
        costs=(),
        at_most={"calls": calls * 2, "usd": most},
        assumes=assumes,
    )


def test_a_battery_is_summed_over_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = [sized("a", 3, 10, 0.5, 1.25, "one", "two"), sized("b", 0, 4, 0.25, None, "one")]
    output = sizes_output(sizes, "battery")
    told = output.document
    assert (told["usd"], told["calls"], told["assumes"]) == (0.75, 14, ["one", "two"])
    assert told["parts"][1] == {
        "part": "b", "study": "b-study", "seeds": 0, "calls": 4, "usd": 0.25, "hours": 0.2,
        "at_most": {"calls": 8, "usd": None},
    }  # fmt: skip
    printing.emit(output)
    shown = capsys.readouterr()
    assert shown.err.splitlines() == ["likely: one", "likely: two"]
    assert shown.out.splitlines()[:3] == [
        "size   1 part, likely 14 calls", "hours  likely 0.7", "money  likely 0.75 USD, no bound",
    ]  # fmt: skip
    assert "left out" in shown.out and "no bound" in shown.out and "1.25" in shown.out


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind != "runs"])
def test_a_list_has_no_markup(kind: str) -> None:
    cells = [str(cell) for row in list_parts(kind, all_=True).document for cell in row.values()]
    assert cells and not [text for text in cells if "`" in text or "**" in text or "](" in text]


@pytest.mark.parametrize(("verbose", "seen"), [(0, 0), (1, 1), (2, 2), (9, 2)])
def test_a_log_says_more_the_more_is_asked_for(
    verbose: int, seen: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger("ostrom")
    level, passed = logger.level, logger.propagate
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    try:
        logs.set_up(verbose, tmp_path / "log")
        logger.info("two\nlines sk-0123456789abcdef")
        logger.debug("every call")
        written = (tmp_path / "log").read_text().splitlines()
        assert len(written) == 2 and written[1].endswith("DEBUG ostrom: every call") and "sk-0123" not in written[0]
        assert len(capsys.readouterr().err.splitlines()) == seen
        logs.set_up(0)
        assert not [h for h in logger.handlers if isinstance(h.formatter, logs._Plain)]
    finally:
        logs.set_up(0)
        logger.setLevel(level)
        logger.propagate = passed
    with pytest.raises(UsageError, match=r"^--log-file .*none/log: cannot be written \(No such file or directory\)$"):
        logs.set_up(0, tmp_path / "none" / "log")
