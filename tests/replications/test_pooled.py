"""No figure of a replication averages over a factor in silence: planted papers are refused by file, key and factor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.replications.packages import install

from ostrom.analysis.claims import references
from ostrom.features.replicate.papers import paper_plan, papers
from ostrom.ground.registry import replications
from ostrom.studies.pooled import check_replication, design_of

ROOT = Path(__file__).parents[2]
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
LOAD = "import sys; from ostrom.cli import main; sys.argv = ['ostrom', 'replicate', 'planted', '--runs', 'x']; main()"


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
def test_a_planted_factor_is_refused_by_name(file: str, old: str, new: str, words: str, tmp_path: Path) -> None:
    assert old in FILES[file] or old == new
    texts = {f"planted_paper/{name}": text for name, text in {**FILES, file: FILES[file].replace(old, new)}.items()}
    place = install(tmp_path / "p", "planted-paper", texts, "[ostrom.replications]\nplanted = planted_paper\n")
    done = subprocess.run(
        [sys.executable, "-c", LOAD], capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(place), str(ROOT)))},
    )  # fmt: skip
    said = json.dumps(done.stderr)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, said
    assert words in done.stderr, said
