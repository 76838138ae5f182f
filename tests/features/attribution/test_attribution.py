"""Memory attribution: which remembered round moved a decision, checked on players whose reasons are known."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.engine.plan import Budget
from ostrom.features.attribution.effects import Attribution, RoundEffect, read_effects
from ostrom.features.attribution.plan import attribute
from ostrom.ground.errors import UsageError
from ostrom.models.base import Abilities, Reply, Request
from ostrom.models.providers.scripted import ScriptedModel, register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play


def played(runs: Path, first: Any, second: Any = "alternator", rounds: int = 8, **more: Any) -> None:
    study = {
        "name": "duel",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": rounds},
        "types": {"one": first, "two": second},
        "seating": "seats",
        **more,
    }
    play(load_study(study), runs=runs)


def effects(runs: Path, number: int, **more: Any) -> Attribution:
    with open_run("duel", runs) as parent:
        result, folder = attribute(parent, 0, number, runs=runs, **more)
    assert result.complete
    with open_run(folder) as made:
        return read_effects(made)


def changes(found: Attribution, row: str) -> list[float | None]:
    return [e.change for e in found.effects if e.row == row]


class TestStrategies:
    def test_tit_for_tat_minds_the_last_round_alone(self, tmp_path: Path) -> None:
        played(tmp_path, "tit_for_tat")  # the other plays C D C D ...
        found = effects(tmp_path, 7)
        assert found.measure == "odds" and found.baseline.p == 0 and found.taken == "defect"
        # Without round 6 (D) the last round is 5 (C); flipping the other's D makes it cooperate.
        assert changes(found, "left out") == [0, 0, 0, 0, 0, 1]
        assert changes(found, "P2 flipped") == [0, 0, 0, 0, 0, 1]
        assert changes(found, "own flipped") == [0, 0, 0, 0, 0, 0]
        after_cooperation = effects(tmp_path, 6)
        assert after_cooperation.baseline.p == 1
        assert changes(after_cooperation, "P2 flipped") == [0, 0, 0, 0, -1]

    def test_grim_minds_the_only_defection(self, tmp_path: Path) -> None:
        played(tmp_path, "grim", "defect_once")
        found = effects(tmp_path, 6)
        assert found.baseline.p == 0
        assert changes(found, "left out") == [1, 0, 0, 0, 0]
        assert changes(found, "P2 flipped") == [1, 0, 0, 0, 0]

    def test_a_stochastic_rule_changes_by_its_odds(self, tmp_path: Path) -> None:
        played(tmp_path, "generous_tit_for_tat:0.3", "cooperator")
        assert changes(effects(tmp_path, 4), "P2 flipped") == [0, 0, pytest.approx(-0.7)]

    def test_only_what_is_remembered_can_matter(self, tmp_path: Path) -> None:
        played(tmp_path, {"strategy": "grim", "memory": "window:3"}, "defect_once")
        found = effects(tmp_path, 8)
        assert [e.round for e in found.effects if e.row == "left out"] == [5, 6, 7]
        # A round left out is not made up for by an older one.
        assert found.baseline.p == 1 and set(changes(found, "left out")) == {0}

    def test_with_three_players_every_co_player_is_flipped_alone(self, tmp_path: Path) -> None:
        types = {"g": "grim", "c": "cooperator", "d": "cooperator"}
        played(tmp_path, "", game="public_goods", types=types)
        found = effects(tmp_path, 3, method="flip")
        assert changes(found, "P2 flipped") == [-1, -1] == changes(found, "P3 flipped")


COOPERATE, DEFECT = "J", "F"


def grudge(text: str) -> float:
    """The chance that the scripted model cooperates: each remembered defection of the other costs 0.2."""
    return max(0.05, 0.9 - 0.2 * len(re.findall(r"^R\d+:.*P2=(?:A1|F)", text, re.M)))


def logprobs(request: Request) -> Reply:
    p = grudge(request.messages[0].content)
    return Reply("J", logprobs={COOPERATE: math.log(p), DEFECT: math.log(1 - p)})


class TestModels:
    @pytest.fixture(autouse=True)
    def models(self) -> Iterator[None]:
        self.calls = 0

        def sampled(request: Request) -> str:
            self.calls += 1
            rng = (int(request.params["seed"]) * 2654435761) % 2**32 / 2**32
            return "Let me see.\n[A0]" if rng < grudge(request.messages[0].content) else "Hm.\n[A1]"

        register("logprobs", logprobs)
        register("sampled", sampled)
        yield
        unregister("logprobs")
        unregister("sampled")

    def test_log_probabilities_take_one_call_per_change(self, tmp_path: Path) -> None:
        agent = {"model": "scripted/logprobs", "style": "logprob", "params": {"temperature": 1.0}}
        played(tmp_path, agent)
        with open_run("duel", tmp_path) as parent:
            result, folder = attribute(parent, 0, 6, runs=tmp_path, method="both")
        assert result.tally.calls == 1 + 3 * 5
        with open_run(folder) as made:
            found = read_effects(made)
        assert found.measure == "logprob" and found.baseline.p == pytest.approx(0.5)  # D in rounds 2 and 4
        assert changes(found, "left out") == [pytest.approx(x) for x in (0, 0.2, 0, 0.2, 0)]
        assert changes(found, "P2 flipped") == [pytest.approx(x) for x in (-0.2, 0.2, -0.2, 0.2, -0.2)]
        assert changes(found, "own flipped") == [pytest.approx(0)] * 5

    @pytest.mark.slow
    def test_what_comes_after_reasoning_is_sampled_with_an_interval(self, tmp_path: Path) -> None:
        agent = {"model": "scripted/sampled", "style": "reasoned", "constrain": "never"}
        played(tmp_path, agent, "defect_once")
        found = effects(tmp_path, 5, method="drop", samples=60)
        assert found.measure == "sample" and found.baseline.n == 60
        first: RoundEffect = found.effects[0]
        # Leaving out the one defection moves the chance from 0.7 to 0.9.
        assert first.low is not None and first.high is not None and first.change is not None
        assert first.low <= 0.2 <= first.high and first.low < first.change < first.high
        # The same chance for every change: rounds that do not matter change nothing at all.
        assert [e.change for e in found.effects[1:]] == [0, 0, 0]

    def test_the_first_sample_is_the_decision_itself(self, tmp_path: Path) -> None:
        agent = {"model": "scripted/sampled", "style": "reasoned", "constrain": "never"}
        played(tmp_path, agent, "alternator", seed=4)
        for number in (4, 5, 6):
            found = effects(tmp_path, number, method="drop", samples=1)
            assert found.baseline.p == float(found.taken == "cooperate")

    def test_it_is_journaled_resumed_and_grows_by_samples(self, tmp_path: Path) -> None:
        agent = {"model": "scripted/sampled", "style": "reasoned", "constrain": "never"}
        played(tmp_path, agent)
        self.calls = 0
        with open_run("duel", tmp_path) as parent:
            settings: dict[str, Any] = {"runs": tmp_path, "method": "drop"}
            stopped, folder = attribute(parent, 0, 4, samples=5, budget=Budget(calls=7), **settings)
            assert not stopped.complete
            with open_run(folder) as made:
                assert not read_effects(made).complete
            attribute(parent, 0, 4, samples=5, **settings)
            assert self.calls == 5 * 4
            attribute(parent, 0, 4, samples=8, **settings)
            assert self.calls == 8 * 4
        with open_run(folder) as made:
            assert read_effects(made).baseline.n == 8
            rows = [r for r in made.rows.decisions() if r["unit"] == "counterfactual"]
            assert {r["round"] for r in rows} == {4} and len(rows) == 32
            assert {r["unit"] for r in made.rows.matches()} == {"copied", "counterfactual"}

    def test_a_model_without_log_probabilities_is_sampled(self, tmp_path: Path) -> None:
        agent = {"model": "scripted/plain", "style": "direct", "constrain": "never"}

        def opening(name: str, settings: Any) -> ScriptedModel:
            return ScriptedModel(name, "[A0]", abilities=Abilities())

        study = {
            "name": "duel", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 4},
            "types": {"one": agent, "two": "grim"}, "seating": "seats",
        }  # fmt: skip
        play(load_study(study), runs=tmp_path, open_models=opening)
        found = effects(tmp_path, 3, samples=4, open_models=opening)
        assert found.measure == "sample" and found.baseline.p == 1
        with open_run("duel", tmp_path) as parent, pytest.raises(UsageError, match="does not report"):
            attribute(parent, 0, 3, measure="logprob", runs=tmp_path, open_models=opening)

    def test_invalid_answers_are_counted_and_left_out(self, tmp_path: Path) -> None:
        def shy(request: Request) -> str:
            return "no" if not re.search(r"^R2:", request.messages[0].content, re.M) else "[A0]"

        register("sampled", "[A0]")
        agent = {"model": "scripted/sampled", "style": "reasoned", "constrain": "never"}
        played(tmp_path, agent, invalid={"retries": 0, "policy": "uniform"})
        register("sampled", shy)
        found = effects(tmp_path, 4, method="drop", samples=3)
        second = found.effects[1]
        assert (second.chance.p, second.chance.invalid, second.change) == (None, 3, None)

    def test_a_note_is_kept_as_it_was_written(self, tmp_path: Path) -> None:
        prompts: list[str] = []

        def noting(request: Request) -> str:
            prompts.append(request.messages[0].content)
            return "All went well." if "write a note" in prompts[-1] else "[A0]"

        register("sampled", noting)
        agent = {
            "model": "scripted/sampled",
            "style": "direct",
            "constrain": "never",
            "memory": "summary:keep=2,every=3",
        }
        played(tmp_path, agent, "cooperator")
        prompts.clear()
        found = effects(tmp_path, 6, measure="sample", samples=1, method="drop")
        assert [e.round for e in found.effects] == [4, 5]
        assert all("All went well." in p and "write a note" not in p for p in prompts)


@pytest.mark.parametrize(
    ("number", "more", "text"),
    [
        (9, {}, "--round 9: match 0 of duel has rounds 1 to 8"),
        (1, {}, "is shown no single rounds"),
        (3, {"seat": 3}, "players 1 to 2"),
        (3, {"measure": "sample"}, "states its odds"),
    ],
)
def test_wrong_use_is_one_clear_line(tmp_path: Path, number: int, more: dict[str, Any], text: str) -> None:
    played(tmp_path, "tit_for_tat")
    with open_run("duel", tmp_path) as parent, pytest.raises(UsageError) as caught:
        attribute(parent, 0, number, runs=tmp_path, **more)
    assert text in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("memory", ["window:k=0", {"name": "window", "k": 0}])
def test_a_memory_that_shows_nothing_is_named_as_people_write_it(tmp_path: Path, memory: Any) -> None:
    played(tmp_path, {"strategy": "tit_for_tat", "memory": memory})
    with open_run("duel", tmp_path) as parent, pytest.raises(UsageError, match="its memory is window:k=0"):
        attribute(parent, 0, 3, runs=tmp_path)


def test_without_cooperation_the_chance_of_what_was_done_is_attributed(tmp_path: Path) -> None:
    played(tmp_path, "random", "random", game="matching_pennies")
    found = effects(tmp_path, 3)
    assert found.what == f"P({found.taken})" and found.taken in ("heads", "tails")
    assert found.baseline.p == 0.5 and changes(found, "left out") == [0, 0]
    assert len(found.effects) == 2  # nothing says what a flip would be
