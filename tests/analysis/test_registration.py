"""How a registered contrast is stated, at which level it is tested, and what a registration refuses."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.analysis import registration
from ostrom.analysis.registration import (
    ELIGIBLE,
    RegisteredContrast,
    Registration,
    changed_prompts,
    check_for_new_run,
    read_contrast,
    read_registration,
    registration_of,
    same_but_model,
    seconds,
)
from ostrom.ground.errors import StudyError, UsageError


@pytest.mark.parametrize(
    ("text", "contrast", "direction", "where"),
    [
        ("cooperation: k 80 - 2 < 0", "k=80 - 2", "less", {}),
        ("cooperation: k=80-2 > 0.0", "k=80-2", "greater", {}),
        (
            "cooperation: k 80-2 != 0 where game=a,b and style = c",
            "k=80-2",
            "different",
            {"game": ["a", "b"], "style": ["c"]},
        ),
    ],
)
def test_a_stated_contrast(text: str, contrast: str, direction: str, where: dict[str, list[str]]) -> None:
    made = read_contrast(text, "--primary", 0.1)
    assert (made.measure, made.contrast, made.direction, made.where) == ("cooperation", contrast, direction, where)
    sign = {"less": "<", "greater": ">", "different": "!="}[direction]
    said = "" if not where else ", where game a or b, style c"
    assert made.words == f"cooperation, k: {contrast[2:]} {sign} 0{said}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cooperation k 80 - 2 < 0", "must be"),
        ("cooperation: k 80 - 2 < 1", r"must compare with 0 \(found 1\)"),
        ("cooperation: k 80 < 0", "contrast must be FACTOR=A-B"),
        ("cooperation: k * - 2 < 0", "contrast must be FACTOR=A-B"),
        ("cooperation: k 80-2 < 0 where game", "a column once"),
        ("cooperation: k 80-2 < 0 where =a", "a column once"),
        ("cooperation: k 80-2 < 0 where game= and k=1", "a column once"),
        ("cooperation: k 80-2 < 0 where game=a and game=b", "a column once"),
    ],
)
def test_what_is_no_contrast_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_contrast(text, "--primary", None)


def test_the_level_of_all_primary_contrasts_together_is_the_registered_one() -> None:
    one: Any = SimpleNamespace(level=0.95, primary=(1, 2))
    assert Registration.level_of(one, "primary") == pytest.approx(0.975)
    assert Registration.level_of(one, "secondary") == pytest.approx(0.95)
    with pytest.raises(ValueError, match="greater than 0"):
        RegisteredContrast(measure="m", contrast="k=1-2", where={}, direction="less", smallest=0)


@pytest.mark.parametrize(
    ("kind", "created", "words"),
    [
        ("exploratory", "2020-01-01T00:00:00Z", "is exploratory: it was made for the run r"),
        ("confirmatory", "2999-01-01T00:00:00Z", "is dated 2999-01-01T00:00:00Z"),
        ("confirmatory", "2020-01-01T00:00:00Z", None),
    ],
)
def test_a_registration_comes_before_its_run(kind: str, created: str, words: str | None) -> None:
    one: Any = SimpleNamespace(kind=kind, played={"run": "r"}, created=created, time=seconds(created))
    if words is None:
        check_for_new_run(one, "f")
        return
    with pytest.raises(UsageError, match=words):
        check_for_new_run(one, "f")
    one.played = None
    with pytest.raises(UsageError, match=words.replace("run r", "run None")):
        check_for_new_run(one, "f")


def test_a_file_that_is_too_large_or_no_mapping_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "MOST_BYTES", 10)
    file = tmp_path / "r.yaml"
    file.write_bytes(b"#" * 10)
    with pytest.raises(StudyError, match="must be a registration"):
        read_registration(file)
    file.write_bytes(b"#" * 11)
    with pytest.raises(StudyError, match="a registration has at most"):
        read_registration(file)
    with pytest.raises(StudyError, match="cannot be read"):
        read_registration(tmp_path / "lost")
    with pytest.raises(StudyError, match=r"must be a registration, a mapping"):
        registration_of([], "f")


def test_the_model_of_a_study_stands_for_any_eligible_one() -> None:
    study = {"types": {"a/b": {"model": "a/b"}}, "k": "a/bc"}
    assert same_but_model(study, ("a/b",))["types"] == {ELIGIBLE: {"model": ELIGIBLE}}
    assert same_but_model(study, ("a/b", "c/d")) is study
    assert changed_prompts({"a.txt": "1", "b.txt": "2"}, {"a.txt": "1", "b.txt": "3"}) == ["b.txt is another text"]
