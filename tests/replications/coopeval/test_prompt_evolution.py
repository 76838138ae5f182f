"""Instructions evolve: the study's tables, page, forecast and kills."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from ostrom.analysis.estimate import contrast, estimate, trend
from ostrom.analysis.measure import measures
from ostrom.costs.forecast import forecast
from ostrom.data.rundata import RunData, run_data
from ostrom.features.lineages.populations import populations
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play
from ostrom.testing.check_measure import check_values

GENOMES = "mechanism.genomes=['Give every time. Be open.', 'Take every time. Be open.']"
SYSTEMS: list[str] = []


def obedient(request: Request) -> str:
    """Does what its instruction says; paraphrases by shouting."""
    text = request.messages[-1].content
    if "in other words" in text:
        assert len(request.messages) == 1, "a paraphraser is told nothing of the game"
        return text.split('"')[1].upper()
    SYSTEMS.append(request.messages[0].content)
    return "[A1]" if "take every time" in request.messages[0].content.casefold() else "[A0]"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    runs = tmp_path_factory.mktemp("runs")
    register("obedient", obedient)
    changes = ["agent.constrain=never", GENOMES, "mechanism.population=12", "mechanism.mutation.share=0.5"]
    study = load_study("prompt-evolution", preset="smoke", models=["scripted/obedient"], changes=changes, seeds=2)
    assert play(study, runs=runs).complete
    unregister("obedient")
    with open_run("prompt-evolution", runs) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        yield data


@pytest.mark.slow
def test_genomes_are_inherited_and_changed_as_the_arms_say(played: RunData) -> None:
    arms = {row["match"]: row["arm"] for row in played.records("SELECT match, arm FROM matches WHERE player = 1")}
    before: dict[int, tuple[tuple[str, ...], ...]] = {}
    for one in populations(played):
        if one.generation:
            parents = [before[one.first][p] for p in one.parents]
            for child, parent in zip(one.genomes, parents, strict=True):
                changed = sum(a != b for a, b in zip(child, parent, strict=True))
                assert changed == 0 if arms[one.match] == "frozen" else changed <= 1
                assert [s.casefold() for s in child] == [s.casefold() for s in parent]
        before[one.first] = one.genomes
    assert any(s.isupper() for genomes in before.values() for genome in genomes for s in genome)
    kept = {e.key["arm"]: e.value for e in estimate(played, "lineages", ["arm"], where={"generation": 2})}
    assert kept["frozen"] == 12 > max(kept["selected"], kept["drift"])
    alike = {e.key["arm"]: e.value for e in estimate(played, "genome_similarity", ["arm"])}
    assert all(value == pytest.approx(1) for value in alike.values()), "shouting changes no word"


@pytest.mark.parametrize("name", ["genome_diversity", "genome_similarity", "lineages", "score_at_similarity"])
def test_the_measures_conform_in_a_population(played: RunData, name: str) -> None:
    assert list(measures.named(name).rows(played))
    check_values(measures.named(name), played)


def test_an_auxiliary_model_paraphrases_for_all(tmp_path: Path) -> None:
    register("aux", lambda request: request.messages[-1].content.split('"')[1].upper())
    changes = [
        "types={member: instructed, aux: {model: scripted/aux}}", "observers=[aux]", "mechanism.mutation.by=observer",
        GENOMES, "agent.constrain=never", "vary.arm.to=[drift]",
    ]  # fmt: skip
    study = load_study("prompt-evolution", preset="smoke", changes=changes)
    assert forecast(StudyPlan(study)).calls == 6 * 2, "one of two sentences of six members, twice"
    assert play(study, runs=tmp_path).complete
    unregister("aux")
    with open_run("prompt-evolution", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        rows = data.records("SELECT kind, agent, count(*) AS n FROM decisions GROUP BY ALL ORDER BY kind")
        last = [one for one in populations(data) if one.generation == 2]
        (aux,) = data.records("SELECT DISTINCT score FROM matches WHERE agent = 'aux'")
    assert [tuple(row.values()) for row in rows] == [("act", "member", 18), ("paraphrase", "aux", 12)]
    assert aux["score"] is None
    assert all(any(s.isupper() for s in genome) for genome in last[0].genomes)


def test_designs_are_judged_generation_by_generation(tmp_path: Path) -> None:
    changes = [
        "types={member: instructed}", "mechanism.genomes=[Be a cooperator., Be a defector.]", "vary.arm.to=[frozen]",
        "vary.rules={own_mediators: {mechanism.under: mediation}, none: {mechanism.under: none}}",
    ]  # fmt: skip
    assert play(load_study("prompt-evolution", preset="smoke", changes=changes), runs=tmp_path).complete
    with open_run("prompt-evolution", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        found = estimate(data, "stable_designs", ["rules", "generation"])
    # A mediator that defects unless both delegate, and one that always does: half of them make cooperation stable.
    assert [(e.key, e.value) for e in found] == [
        ({"rules": "own_mediators", "generation": number}, 0.5) for number in range(3)
    ]


def test_instructions_evolve_under_mediation_and_contracting(tmp_path: Path) -> None:
    rules = load_study("prompt-evolution", preset="small").vary["rules"]
    assert isinstance(rules, dict)
    changes = [
        "types={member: instructed}", GENOMES, "vary.arm.to=[selected]",
        f"vary.rules={orjson.dumps({name: rules[name] for name in ('mediation', 'contracting')}).decode()}",
    ]  # fmt: skip
    study = load_study("prompt-evolution", preset="smoke", changes=changes)
    assert play(study, runs=tmp_path).complete
    with open_run("prompt-evolution", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        kinds = {
            (row["rules"], row["kind"])
            for row in data.records("SELECT DISTINCT rules, kind FROM decisions WHERE kind <> 'paraphrase'")
        }
    assert kinds >= {("mediation", "vote"), ("contracting", "vote"), ("mediation", "act"), ("contracting", "act")}


def test_the_generations_of_a_population_count_as_one_match(played: RunData) -> None:
    for found in estimate(played, "score", ["arm"]):
        assert found.n == 2, "two seeds of three generations each"
        assert "the generations of a population count as one match" in found.note
    (gain,) = contrast(played, "score", "arm", "selected - frozen")
    assert gain.n == 4, "two populations of each arm"
    (slope,) = trend(played, "score", "generation", where={"arm": "selected"})
    assert slope.n == 2 and slope.value < 0
