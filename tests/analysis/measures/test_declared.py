"""Measures that files declare: what they may say, and what is answered where they say something else."""

import sys
from pathlib import Path

import pytest
from tests.analysis.conftest import PlayedRun

from ostrom.analysis.measure import Measure, Measures, declarations, measures
from ostrom.data.rundata import RunData
from ostrom.ground.errors import StudyError, UnknownName

GOOD = """
fragments:
  acts: decisions WHERE kind = 'act' AND cooperative IS NOT NULL
kindness:
  title: Kindness
  scale: share
  definition: The share of kind acts.
  needs: [decisions.cooperative]
  by_round:
    definition: Whether an act is kind (column round).
    values: SELECT match, player, round, cooperative::INTEGER AS value FROM {acts}
"""


def declared(tmp_path: Path, text: str) -> dict[str, Measure]:
    """The measures of a file with this text."""
    path = tmp_path / "measures.yaml"
    path.write_text(text)
    return {one.name: one.build for one in declarations(path, "own")}


@pytest.mark.slow
def test_a_form_by_round_is_declared_once(tmp_path: Path, small: RunData) -> None:
    parts = declared(tmp_path, GOOD)
    match, rounds = parts["kindness"], parts["kindness_by_round"]
    assert (match.unit, rounds.unit) == ("match", "decision")
    assert (rounds.title, rounds.needs) == ("Kindness", ("decisions.cooperative",))
    assert "FROM decisions WHERE kind" in str(rounds.values)
    ours = {(row["match"], row["player"]): row["value"] for row in match.rows(small)}
    cooperation = measures.named("cooperation").rows(small)
    assert ours == {(row["match"], row["player"]): pytest.approx(row["value"]) for row in cooperation}


def test_values_of_its_own_come_before_the_mean_over_rounds(tmp_path: Path) -> None:
    own = GOOD.replace("  by_round:", "  values: SELECT match, player, 1 AS value FROM matches\n  by_round:")
    for text, part in ((GOOD, "avg(value)"), (own, "1 AS value FROM matches")):
        assert part in str(declared(tmp_path, text)["kindness"].values)


def test_values_bounds_and_factories_may_be_python(tmp_path: Path) -> None:
    parts = declared(
        tmp_path,
        """
kept:
  title: Kept
  scale: points
  definition: What is kept.
  bounds: ostrom.features.inference.said:LOG_LOSS_BOUNDS
  function: ostrom.features.inference.said:said_values
  of: gain
words: {measure: "ostrom.features.words.traces.table:word_rate", with: {words: defection}}
""",
    )
    low, high = parts["kept"].bounds  # type: ignore[misc]
    assert low == 0.0 and high == pytest.approx(4.605, abs=1e-3)
    assert getattr(parts["kept"].values, "__qualname__", "") == "said_values"
    assert "defection" in parts["words"].definition.lower()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: {titel: A}", r"own/measures.yaml: a: unknown key 'titel' of measure a, did you mean 'title'\?"),
        ("a: {title: A, scale: share}", "own/measures.yaml: a: a measure needs 'definition'"),
        ("a: {title: A, scale: share, definition: A.}", "a: a measure needs 'values'"),
        ("a: 5", "a: a measure is a mapping"),
        ("a: {measure: ostrom.nowhere:x}", r"a.measure: must name a Python object as module:name .*ostrom.nowhere"),
        ("a: {title: A, scale: share, definition: A., function: nothing}", "a.function: must name a Python object"),
        ("a: {title: A, scale: percent, definition: A., values: SELECT 1}", "measures.yaml: a: .*scale 'percent'"),
        ("a: {title: A, scale: share, definition: A., values: SELECT 1, by_round: 5}", "measures.yaml: a: .*by_round"),
        ("a: {measure: 'ostrom.features.words.traces.table:word_rate', with: {wrods: x}}", "measures.yaml: a: .*wrods"),
        ("fragments: 5", "fragments: must be a mapping"),
        ("[a]", "must be a mapping from the names of measures"),
        ("a: 1\na: 2", "the key 'a' is given twice"),
    ],
)
def test_what_a_file_says_wrong_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(StudyError, match=says):
        declared(tmp_path, text)


def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, files: dict[str, str]) -> Measures:
    """A registry of the measures of a package with these files."""
    for name, text in {"__init__.py": "", **files}.items():
        path = tmp_path / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return Measures("measure", f"{package}.measures", "MEASURE", "own.measures")


def test_a_package_declares_measures_beside_those_of_a_file_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "from ostrom.analysis.measure import Measure\nMEASURE = Measure('b', 'B', 'count', 'B.', 'SELECT 1')\n"
    own = registry(
        tmp_path, monkeypatch, "own_measures_one",
        {"measures.yaml": GOOD, "measures/__init__.py": "", "measures/b.py": module, "measures/more.yaml": "c: 5\n"},
    )  # fmt: skip
    assert own.names() == ["b", "c", "kindness", "kindness_by_round"]
    assert "own_measures_one.measures.b" not in sys.modules  # nothing is loaded before it is asked for
    assert own.named("b").title == "B" and own.named("kindness") is own.named("kindness")
    with pytest.raises(StudyError, match="a measure is a mapping"):
        own.named("c")


def test_a_file_that_cannot_be_read_is_named_for_an_unknown_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = registry(tmp_path, monkeypatch, "own_measures_two", {"measures.yaml": "a: [", "measures/good.yaml": GOOD})
    assert own.named("kindness").name == "kindness"
    with pytest.raises(StudyError, match=r"own_measures_two/measures.yaml: .*is not valid YAML"):
        own.named("lost")
    twice = registry(tmp_path, monkeypatch, "own_measures_three", {"measures.yaml": GOOD, "measures/x.yaml": GOOD})
    with pytest.raises(StudyError, match="there is already a measure of that name"):
        twice.named("lost")
    whole = registry(tmp_path, monkeypatch, "own_measures_four", {"measures.yaml": GOOD})
    with pytest.raises(UnknownName, match="did you mean kindness"):
        whole.named("kindnes")


def test_rounds_average_to_the_match(play_run: PlayedRun) -> None:
    run = play_run(types={"kind": "cooperator", "hard": "defector"}, vary={}, seeds=1)
    for name in ("payoff", "joint_cooperation"):
        rounds: dict[tuple[int, int | None], list[float]] = {}
        for row in measures.named(f"{name}_by_round").rows(run):
            rounds.setdefault((row["match"], row.get("player")), []).append(row["value"])
        means = {key: sum(values) / len(values) for key, values in rounds.items()}
        assert means == {(r["match"], r.get("player")): r["value"] for r in measures.named(name).rows(run)}
