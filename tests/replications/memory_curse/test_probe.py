"""The study probe: arms against the base model, collapsed matches, and the published table beside it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import ostrom.features.words
from ostrom.analysis.claims import references
from ostrom.data.rundata import RunData, run_data
from ostrom.ground.yaml import read_yaml
from ostrom.models.base import Request
from ostrom.models.providers.scripted import ScriptedModel
from ostrom.replications.memory_curse.adapted import collapses
from ostrom.replications.memory_curse.reference import WORDS
from ostrom.reports.exhibits.declared import exhibits_of
from ostrom.studies.load import load_study
from ostrom.studies.run import Run, open_run, play

PANELS = Path(str(ostrom.features.words.__file__)).parent / "panels.yaml"


def player(name: str) -> ScriptedModel:
    """Base: half and half. Forward: A0, but one match of the short memory stays at A1. Placebo, shuffled: A1."""
    calls, begun = iter(range(10**6)), iter(range(10**6))

    def answer(request: Request) -> str:
        text = request.messages[0].content
        if "forward" not in name:
            return "So.\n[A1]" if "adapter" in name else f"So.\n[A{next(calls) % 2}]"
        first = "No earlier round is on record (you can look back on at most the last 2)" in text
        collapsed = next(begun) < 2 if first else "You=A1" in text
        return "My future.\n[A1]" if collapsed else "My future.\n[A0]"

    return ScriptedModel(name, answer, connections=1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("probe")
    study = load_study(
        "probe", preset="smoke", seeds=3,
        changes=["vary.game=[{name: prisoners_dilemma, preset: memory_curse}]", "mechanism.rounds=4",
                 "vary.history_length.to=[2, 80]", "agent.constrain=never"],
    )  # fmt: skip
    play(study, runs=folder, open_models=lambda name, _: player(name))
    with open_run(folder / "probe") as opened:
        yield opened


@pytest.fixture(scope="module")
def data(run: Run) -> Iterator[RunData]:
    with run_data(run.rows, run.folder.path, run.manifest) as opened:
        yield opened


def test_a_collapsed_match_is_counted(data: RunData) -> None:
    assert collapses(data)["forward", "prisoners_dilemma"] == 1


def test_table_1_prints_how_many_seeds_are_behind_its_bimodal_cells() -> None:
    counts = {
        (p.cell[0], p.cell[1], p.cell[2]): p.count
        for p in references.build("memory_curse").published()
        if p.source == "Table 1" and p.count
    }
    assert counts == {("travelers_dilemma", "finetuned", length): "n = 8" for length in ("5", "20", "40")}
    (note,) = [one.note for one in exhibits_of("memory_curse") if one.name == "Table 1"]
    assert "8 seeds" in note and "5, 20 and 40" in note


def test_the_paranoia_ratio_has_one_definition() -> None:
    measures = [
        panel["measure"]
        for one in exhibits_of("memory_curse")
        for panel in one.panels
        if isinstance(panel, dict) and "paranoia_ratio" in str(panel.get("measure"))
    ]
    assert len(measures) == 2 and all(measure == WORDS["paranoia_ratio"] for measure in measures)
    (shown,) = [
        count["measure"]
        for count in read_yaml(PANELS.read_text(encoding="utf-8"), "panels")["traces_words"]["constants"]["shows"][
            "paranoia"
        ]["counts"]
        if count["name"] == "paranoia_ratio"
    ]
    assert shown == WORDS["paranoia_ratio"]
