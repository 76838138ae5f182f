"""No figure of a replication averages over a factor in silence: planted papers are refused by file, key and factor."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.in_process import caller
from tests.replications.packages import install

from ostrom.analysis.claims import references
from ostrom.features.replicate.papers import paper_plan, papers
from ostrom.ground.registry import refresh, replications
from ostrom.reports.exhibits.declared import exhibits_of
from ostrom.studies.pooled import check_replication, design_of

STUDY = """
name: planted
game: prisoners_dilemma
types: {a: cooperate}
vary:
  wording: {set: agent.framing.labels, to: [letters, numbers]}
  length: {set: mechanism.rounds, to: [2, 3]}
mechanism: {name: repetition, rounds: 2}
seating: self
report: {reference: planted}
"""
CLAIMS = """
citation: Author (2026), Planted
about: One rate.
columns: [length, measure]
published: {cell: [length, measure], model: model, source: table, status: $verified}
python: .figures:Planted
figures:
- {cell: [$length, rate], measure: cooperation, by: [agent, length], pools: [wording]}
- {python: more, by: [agent, length], pools: [wording]}
"""
EXHIBITS = """
exhibits:
- {name: Figure 1, title: Rates, study: planted, pools: [wording],
   panels: [{chart: dots, measure: cooperation, y: [length, agent]}]}
"""
REPLICATE = """
title: Planted
parts: [{name: main, title: Main, study: planted}]
claims:
- {claim: They cooperate, run: main, measure: cooperation, where: {agent: "{model}", length: 2}, pools: [wording],
   expect: above, threshold: 0.5, smallest: 0.1, source: stated beforehand, note: nearly always}
"""
FIGURES = """
from ostrom.analysis.claims import DeclaredReference


class Planted(DeclaredReference):
    def more(self, data, games):
        return []
"""
FILES = {
    "__init__.py": "", "figures.py": FIGURES, "studies/planted.yaml": STUDY, "claims.yaml": CLAIMS,
    "exhibits.yaml": EXHIBITS, "replicate.yaml": REPLICATE,
    "reference.csv": "length,measure,model,value,table\n2,rate,M,1,T\n",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({*references} & {*replications()}))
def test_every_shipped_figure_names_what_it_averages_over(name: str) -> None:
    check_replication(name)
    if name.replace("_", "-") in papers():
        assert paper_plan(name)[1].claims


def test_the_cells_of_a_design_know_traits_and_games() -> None:
    factors, cells = design_of("personas")
    assert "scenario" in factors and len(cells) == 4 * 53
    assert {cell["scenario_class"] for cell in cells} == {"economic", "environmental"}
    assert {cell["game"] for cell in design_of("memory-asymmetric")[1]} == {"trust_symmetric", "public_goods"}


@pytest.fixture
def _forgotten() -> Iterator[None]:
    """What was read of a planted paper is read anew: the next one has the same name."""
    yield
    for read in (design_of, check_replication, paper_plan, exhibits_of):
        read.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "planted_paper"]:
        del sys.modules[name]


@pytest.mark.usefixtures("_forgotten")
@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("replicate.yaml", "pools: [wording],\n   expect", "expect",
         "planted/replicate.yaml: claims.0: averages over wording"),
        ("replicate.yaml", ', length: 2}, pools: [wording]', '}, pools: [wording]', "claims.0: averages over length"),
        ("exhibits.yaml", "pools: [wording],", "", "planted/exhibits.yaml: Figure 1.panels.0: averages over wording"),
        ("claims.yaml", "by: [agent, length], pools: [wording]}\n- {p", "by: [agent, length]}\n- {p",
         "planted/claims.yaml: figures.0: averages over wording"),
        ("claims.yaml", "{python: more, by: [agent, length], pools: [wording]}",
         "{python: more, by: [agent], pools: [wording]}",
         "planted/claims.yaml: figures.1: averages over length"),
        ("claims.yaml", "- {python: more, by: [agent, length], pools: [wording]}\n", "",
         "planted/claims.yaml: figures: computes figures (more) that no entry declares"),
        ("claims.yaml", "pools: [wording]}\n- {p", "pools: [wordings]}\n- {p",
         "figures.0.pools: is no factor of planted"),
        ("claims.yaml", "nothing", "nothing", "x: there is no such run"),
    ],
)  # fmt: skip
def test_a_planted_factor_is_refused_by_name(
    file: str, old: str, new: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert old in FILES[file] or old == new
    texts = {f"planted_paper/{name}": text for name, text in {**FILES, file: FILES[file].replace(old, new)}.items()}
    place = install(tmp_path / "p", "planted-paper", texts, "[ostrom.replications]\nplanted = planted_paper\n")
    monkeypatch.syspath_prepend(place)
    refresh()
    done = caller(monkeypatch, tmp_path)("replicate", "planted", "--runs", "x")
    said = json.dumps(done.err)
    assert done.code == 2 and len(done.err.strip().splitlines()) == 1, said
    assert words in done.err, said
