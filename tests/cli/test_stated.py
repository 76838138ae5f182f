"""What options and names on the command line stand for, at their bounds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.cli.commands import run as running
from ostrom.cli.commands.catalog import _listed, _prompt, family_rows, kind_of
from ostrom.cli.commands.run import divided_budget, end_lines, refuse_unused
from ostrom.cli.commands.validate import _size, check_file
from ostrom.cli.options import check_level, stated_query
from ostrom.engine.plan import Budget, Tally
from ostrom.ground.errors import UnknownName, UsageError


def test_a_level_lies_between_a_half_and_one() -> None:
    check_level(0.5)
    check_level(0.999)
    for level in (0.499, 1.0, 95.0):
        with pytest.raises(UsageError, match="--level must lie between"):
            check_level(level)


@pytest.mark.parametrize(
    ("where", "condition"),
    [
        ([], {}), (["game=a, b", "k = 2"], {"game": ["a", "b"], "k": ["2"]}), (["game='a'"], "(game='a')"),
        (["k=2", "k > 1"], "(k=2) AND (k > 1)"),
    ],
)  # fmt: skip
def test_conditions_are_columns_with_levels_or_sql(where: list[str], condition: Any) -> None:
    asked = stated_query("cooperation", by=" a, ,b ", where=where)
    assert (asked.where, asked.by) == (condition, ("a", "b"))
    with pytest.raises(UsageError, match=r"^log needs over$"):
        stated_query("cooperation", log=True)


@pytest.mark.parametrize(
    ("text", "kind"), [("game", "game"), ("GAMES", "game"), (" studies ", "study"), ("memories", "memory")]
)
def test_a_kind_in_the_singular_or_plural(text: str, kind: str) -> None:
    assert kind_of(text) == kind
    with pytest.raises(UsageError, match="did you mean 'games'"):
        kind_of("gamess")


def test_values_that_are_alike_are_written_once() -> None:
    assert _listed([1, 1, 1]) == "1 (each of 3)" and _listed([1]) == "1" and _listed([1, 2]) == "1; 2"
    assert (
        _listed({"a": 1, "b": [], "c": None, "d": [2, 2]}) == "a 1, d 2 (each of 2)" and _listed("x") == "x"
    )


def test_prompts_and_families_by_name() -> None:
    assert _prompt("stories/cooking") == _prompt("stories/cooking.txt")
    with pytest.raises(UsageError, match="did you mean 'stories/cooking'"):
        _prompt("cooking")
    assert {row["family"] for row in family_rows("tragic")} == {"tragic"} and len(family_rows("tragic")) == 8
    with pytest.raises(UnknownName, match="family"):
        family_rows("lost")


def found(batch: bool | None = None) -> Any:
    return SimpleNamespace(plan="plan", options=SimpleNamespace(batch=batch, batch_waves=3))


def test_options_that_would_do_nothing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[Any, Any]]()
    monkeypatch.setattr("ostrom.costs.waves.check_batch", lambda plan, most: asked.append((plan, most)))
    with pytest.raises(UsageError, match="needs --dry-run"):
        refuse_unused(found(), "old")
    refuse_unused(found())
    refuse_unused(found(batch=True), begun=True)
    assert asked == []
    refuse_unused(found(batch=True))
    assert asked == [("plan", 3)]


def test_the_budget_of_a_shard_in_words() -> None:
    whole: dict[str, Any] = {"usd": 10.0, "calls": None, "tokens": 900}
    plan: Any = SimpleNamespace(
        study=SimpleNamespace(budget=SimpleNamespace(model_dump=lambda: whole)),
        budget=Budget(usd=2.5, tokens=225),
    )
    assert divided_budget(plan).endswith("it may spend 2.5 of 10 usd, 225 of 900 tokens")
    whole.update(usd=None, tokens=None)
    assert divided_budget(plan) == "the study has no budget; one would be divided equally"


def test_the_last_lines_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "trouble", lambda _, again: [again])
    tally = Tally(matches=2, done=2, invalid=1, policies=3, retries=4)
    said = end_lines(SimpleNamespace(tally=tally), Path("runs/r"))  # type: ignore[arg-type]
    assert (
        said[0].endswith("; 1 unreadable replies, 3 answers by policy, 4 failed tries")
        and "designs" not in said[0]
    )
    assert said[1:] == [
        "`ostrom resume runs/r` or the same command",
        "run: runs/r    report: ostrom report runs/r",
    ]
    tally.refused, tally.lost_workers, tally.batches_left = 5, 6, 1
    said = end_lines(SimpleNamespace(tally=tally), Path("runs/r"))  # type: ignore[arg-type]
    assert said[0].endswith(", 5 refusals; 6 workers lost, their matches handed to others")
    assert said[1].startswith("1 batch still at work")


def test_files_that_validate_tells_apart(tmp_path: Path) -> None:
    for path, words in ((tmp_path / "lost.yaml", "there is no such file"), (tmp_path, "is a folder")):
        with pytest.raises(UsageError, match=words):
            check_file(path)
    file = tmp_path / "s.yaml"
    file.write_text("{name: s, game: chicken}")
    assert check_file(file) is None
    file.write_text("[1]")
    assert check_file(file) is None
    people: Any = SimpleNamespace(order=["a", "b"], quota=1)
    assert (
        _size(SimpleNamespace(study=SimpleNamespace(people=people))) == "1 person in each, 2 matches a visit"
    )
    assert _size(SimpleNamespace(study=SimpleNamespace(people=None), matches=1)) == "1 match"
