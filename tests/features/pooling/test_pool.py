"""`ostrom pool`: one study by several labs, what differs between them, and refusals."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from tests.cli.in_process import Call, Done, caller

from ostrom.analysis.estimate import Estimate, estimated
from ostrom.analysis.intervals import exactly, mean_of
from ostrom.features.pooling.labs import (
    Lab,
    LabPool,
    _moderated,
    _pool,
    fitted,
    random_effects_mean,
    refuse_other_studies,
    variance_of,
)
from ostrom.ground.errors import UsageError
from ostrom.models.providers import scripted

STUDY: dict[str, Any] = {
    "name": "s", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 3},
    "agent": {"style": "direct"}, "types": {"b": "cooperator"}, "seating": "unordered", "seeds": 6,
}  # fmt: skip
CHANCES = {"one": 6, "two": 8, "three": 9}
"""How many of ten replies of each model cooperate."""


def _next(replies: Iterator[str], _: Any) -> str:
    return next(replies)


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    folder = tmp_path_factory.mktemp("pool")
    (folder / "s.yaml").write_text(yaml.safe_dump(STUDY))
    with pytest.MonkeyPatch.context() as patch:
        made = caller(patch, folder)
        for name, chance in CHANCES.items():
            replies = iter((["[A0]"] * chance + ["[A1]"] * (10 - chance)) * 100)
            scripted.register(name, partial(_next, replies))
            done = made("run", "s.yaml", "--model", f"scripted/{name}", "--name", name)
            assert done.code == 0, done.err
        done = made("run", "s.yaml", "--model", "scripted/one", "--name", "long", "--set", "mechanism.rounds=4")
        assert done.code == 0, done.err
        yield made


def told(done: Done) -> dict[str, Any]:
    assert done.code == 0, done.err
    made: dict[str, Any] = json.loads(done.out)
    return made


def test_runs_of_one_study_with_other_models_are_pooled(call: Call) -> None:
    made = told(call("pool", *CHANCES, "--where", "agent={model}", "--json"))
    (pool,) = made["pools"]
    labs = {lab["lab"]: lab for lab in pool["labs"]}
    for name, lab in labs.items():
        own = told(call("estimate", name, "cooperation", "--where", f"agent=scripted/{name}", "--json"))["estimates"][0]
        assert (lab["value"], lab["low"], lab["high"], lab["n"]) == (own["value"], own["low"], own["high"], own["n"])
    found = random_effects_mean(
        [lab["value"] for lab in labs.values()], [lab["se"] ** 2 for lab in labs.values()], 0.95, (0, 1)
    )
    for name in ("value", "low", "high", "labs", "tau", "i2", "q", "prediction", "model_free"):
        assert pool["pooled"][name] == pytest.approx(found.as_dict()[name]), name
    # Of a share, labs with as many matches weigh the same, however near to a bound they lie.
    assert [lab["weight"] for lab in labs.values()] == pytest.approx([1 / 3] * 3)
    rest = [lab for name, lab in labs.items() if name != "two"]
    without = random_effects_mean([lab["value"] for lab in rest], [lab["se"] ** 2 for lab in rest], 0.95, (0, 1))
    ends = {"value": without.value, "low": without.low, "high": without.high}
    assert labs["two"]["without"] == pytest.approx(ends)
    assert [one["keys"] for one in pool["moderators"]] == [["model"]]
    assert pool["moderators"][0]["values"]["two"] == "scripted/two" and pool["moderators"][0]["contrast"] is None


@pytest.mark.slow
def test_shared_runs_are_pooled_and_a_copy_is_refused(call: Call) -> None:
    for name in CHANCES:
        assert call("export", name, "--format", "shared", "--out", f"shared/{name}").code == 0
    whole = told(call("pool", *CHANCES, "--json"))["pools"]
    assert [one["group"] for one in whole] == [{}]  # each lab studies one model, by another name
    assert told(call("pool", *(f"shared/{name}" for name in CHANCES), "--json"))["pools"] == whole
    done = call("pool", "one", "two", "shared/one")
    assert done.code == 2 and "one and shared/one are copies of one run" in done.err


def test_an_agent_that_one_lab_lacks_is_named_and_the_others_are_pooled(call: Call) -> None:
    for name in ("left", "right"):
        scripted.register(name, lambda _: "[A0]")
    done = call("run", "s.yaml", "--model", "scripted/left", "--model", "scripted/right", "--name", "both")
    assert done.code == 0, done.err
    assert call("run", "s.yaml", "--model", "scripted/left", "--name", "single").code == 0
    made = told(call("pool", "both", "single", "--allow", "types", "--json"))
    assert [one["group"] for one in made["pools"]] == [{"agent": "scripted/left"}]
    (alone,) = made["not_pooled"]
    assert alone.startswith("agent: scripted/right: fewer than two runs have an estimate (single: ")


def test_runs_of_the_same_second_are_no_copies(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal figures and one time of creation do not make a copy: the first calls were made at different moments."""
    monkeypatch.setattr("ostrom.engine.folder.time.strftime", lambda *_: "2026-01-01T00:00:00Z")
    for name in ("left", "right"):
        scripted.register("same", lambda _: "[A0]")
        assert call("run", "s.yaml", "--model", "scripted/same", "--name", name).code == 0
    assert len(told(call("pool", "left", "right", "--json"))["pools"]) == 1
    shutil.copytree(Path("runs") / "left", Path("runs") / "copy")
    done = call("pool", "left", "copy")
    assert done.code == 2 and "left and copy are copies of one run" in done.err


def test_a_difference_is_pooled(call: Call) -> None:
    (named,) = told(call("pool", *CHANCES, "--contrast", "agent=b-{model}", "--json"))["pools"]
    assert len(named["labs"]) == 3 and all(lab["value"] > 0 for lab in named["labs"])


def lab(name: str, value: float) -> Lab:
    return Lab(name, Estimate({}, value, value - 0.1, value + 0.1, 9, "match", "t"), 0.01, 0.1)


def test_two_values_are_compared_where_labs_are_enough() -> None:
    labs = [lab(f"r{i}", 0.5 + 0.3 * (i > 3) + 0.01 * i) for i in range(8)]
    values = {one.name: "a" if i < 4 else "b" for i, one in enumerate(labs)}
    made = _moderated(("model", "day"), values, labs, 0.9)
    fit = fitted([one.estimate.value for one in labs], [0.01] * 8, [1.0] * 4 + [0.0] * 4)
    assert made is not None and made.difference == ("a", "b", float(fit.coefficients[1]), *fit.interval(1, 0.9))
    assert made.as_dict()["contrast"]["difference"] == pytest.approx(-0.34)
    few = _moderated(("model",), values, labs[1:], 0.9)
    assert few is not None and few.difference is None
    three = _moderated(("model",), {**values, "r0": "c"}, labs, 0.9)
    assert three is not None and three.difference is None
    assert _moderated(("model",), dict.fromkeys(values, "a"), labs, 0.9) is None


def test_the_variance_is_that_of_the_interval_of_one_standard_error() -> None:
    drawn = estimated({}, mean_of([0.1, 0.4, 0.5, 0.9, 0.3] * 20, bounds=(0, 1)), 100, "match")
    assert variance_of(drawn) == pytest.approx(0.0708 / 99, rel=0.2)
    assert variance_of(estimated({}, mean_of([1.0] * 10, bounds=(0, 1)), 10, "match")) > 0
    assert variance_of(estimated({}, exactly(0.5), 10, "match")) == 0


def manifest(model: str, **study: Any) -> dict[str, Any]:
    return {
        "study": {"name": "s", "types": {model: {"model": model}, f"{model} kind": {"model": model}}, **study},
        "models": {model: {"name": model, "wire": "openai"}}, "prompts": {"a.txt": "12"}, "created": "2026-01-02T03:04",
        "versions": {"ostrom": "1"},
    }  # fmt: skip


def test_a_difference_that_is_allowed_is_not_named_among_the_others() -> None:
    runs = [
        SimpleNamespace(manifest=manifest("a/b", rounds=rounds, game=game)) for rounds, game in ((2, "x"), (3, "y"))
    ]
    with pytest.raises(UsageError, match=r"one and two hold different studies: game: x and y \(pool .*--allow game\)$"):
        refuse_other_studies(runs, ["one", "two"], ["rounds"])  # type: ignore[arg-type]


def test_a_run_without_a_value_or_an_interval_is_left_out_and_says_why() -> None:
    drawn = estimated({}, mean_of([0.1, 0.4, 0.5, 0.9, 0.3] * 20, bounds=(0, 1)), 100, "match").at_level(0.95)
    single = Estimate({}, 0.5, None, None, 1, "match", "none")
    answers = {"one": [drawn], "two": [drawn], "alone": [single], "noted": [replace(single, note="one match")]}
    found = _pool({}, {**{name: (of, "") for name, of in answers.items()}, "none": ([], "no value")}, [], 0.95)
    assert [lab.name for lab in found.labs] == ["one", "two"]
    assert found.left_out == {"alone": "there is no interval", "noted": "one match", "none": "no value"}
    with pytest.raises(UsageError, match=r"fewer than two runs have an estimate \(alone: there is no interval\)"):
        _pool({}, {"one": ([drawn], ""), "alone": ([single], "")}, [], 0.95)


def test_a_pool_as_plain_data_with_and_without_each_lab() -> None:
    estimate = SimpleNamespace(value=0.5, low=0.25, high=0.75, n=4)
    labs: Any = tuple(SimpleNamespace(name=name, estimate=estimate, variance=0.04, weight=0.5) for name in "ab")
    pooled: Any = SimpleNamespace(as_dict=lambda: {"value": 0.5}, value=0.4, low=0.1, high=0.7)
    alone = LabPool({"game": "g"}, labs, {"c": "why"}, pooled, (), ()).as_dict()
    assert alone["labs"][1] == {
        "lab": "b", "value": 0.5, "low": 0.25, "high": 0.75, "n": 4, "se": 0.2, "weight": 0.5, "without": None
    }  # fmt: skip
    assert (alone["group"], alone["pooled"], alone["left_out"]) == ({"game": "g"}, {"value": 0.5}, {"c": "why"})
    both = LabPool({}, labs, {}, pooled, (pooled, pooled), ()).as_dict()
    assert both["labs"][0]["without"] == {"value": 0.4, "low": 0.1, "high": 0.7} and alone["moderators"] == []
