"""Claims and printed figures beside a run: whose figures count, which bounds decide, and what is not comparable."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostrom.analysis.comparison import Line
from ostrom.analysis.estimate import Query
from ostrom.analysis.intervals.moderated import NONE
from ostrom.analysis.published import Other
from ostrom.analysis.references import Published, Reference, RunFigure
from ostrom.costs.battery import StudyPart
from ostrom.data.rundata import run_data
from ostrom.features.replicate.command import check_runs
from ostrom.features.replicate.pages import _number, _paper_cell, _rests_on
from ostrom.features.replicate.papers import PaperClaim, PaperPlan
from ostrom.features.replicate.results import (
    ClaimLine,
    JudgedFigure,
    PaperRun,
    Replication,
    _of_models,
    _verdict,
    _within,
    judged_claims,
    replication,
)
from ostrom.features.replicate.verdicts import PaperVerdict
from ostrom.ground.errors import ModelError, RequestRefused, UsageError
from ostrom.models.providers import scripted
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

STUDY: dict[str, Any] = {
    "name": "ours",
    "game": "prisoners_dilemma",
    "agent": {"style": "direct"},
    "types": {"a": {"model": "scripted/kind"}, "a SCoT": {"model": "scripted/kind"}, "coin": "random"},
    "vary": {"memory": {"set": "agent.memory", "to": ["window:1", "window:2"]}},
    "seating": "self",
    "seeds": 12,
    "report": {"reference": "coopeval"},
}
CLAIM = PaperClaim(
    claim="They cooperate", run="main", measure="cooperation", where={"agent": "{model}"}, expect="above",
    threshold=0.5, smallest=0.1, source="stated beforehand", pools=("memory",),
)  # fmt: skip
PLAN = PaperPlan(title="A paper", parts=(StudyPart(name="main", title="Main", study="ours"),), claims=(CLAIM,))


class Paper(Reference):
    """A paper whose arms have a memory of one round."""

    name, citation, columns, spread = "paper", "A paper", ("measure",), "none printed"
    arms = ({"memory": "window:1"},)
    arms_differ_by = ("memory",)

    def published(self) -> Sequence[Published]:
        return []

    def run_figures(self, data: Any, games: Any) -> Sequence[RunFigure]:
        return []


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaperRun]:
    """A run of a model, a variant of it and a script."""
    folder = tmp_path_factory.mktemp("runs")
    scripted.register("kind", "[A0]")
    play(load_study(STUDY), runs=folder)
    scripted.unregister("kind")
    with open_run("ours", folder) as opened, run_data(opened.rows, folder / "ours", opened.manifest) as data:
        yield PaperRun(data, calls=9, usd=1.0)


def test_seeds_are_those_with_a_finished_match(tmp_path: Path) -> None:
    answers: list[str | ModelError] = [RequestRefused("no", status=400), *["[A0]"] * 9]
    replies = iter(answers)
    scripted.register("kind", lambda _: next(replies))
    play(load_study({**STUDY, "types": {"a": "scripted/kind"}, "vary": {}, "seeds": 3}), runs=tmp_path)
    scripted.unregister("kind")
    with open_run("ours", tmp_path) as opened, run_data(opened.rows, tmp_path / "ours", opened.manifest) as data:
        assert len(data.records("SELECT DISTINCT seed FROM matches")) == 3
        assert PaperRun(data, calls=9, usd=1.0).seeds == 2


def line(value: float | None = 0.8, **changes: Any) -> Line:
    """A printed figure of 0.8 and an own one of 0.9 with its interval, of a model."""
    own = {"agent": "a", "low": 0.85, "high": 0.95, "spread": None, "matches": 9, **changes}
    doubts = own.pop("printed_doubts", ())
    return Line(
        ("rate",), RunFigure(("rate",), value=0.9, **own), "GPT", value, None, 0.1, 0.3, 1, 0, "verified", "T1", doubts
    )


def test_figures_are_those_of_models_and_claims_those_of_no_variant(run: PaperRun) -> None:
    assert run.agents == ["a", "a SCoT"] and run.models == ["a"] and run.seeds == 12
    figures = {agent: line(agent=agent).own for agent in (None, "a", "coin", "a - coin")}
    assert [_of_models(own, run) for own in figures.values()] == [True, True, False, False]


@pytest.mark.parametrize(
    ("beside", "words"),
    [
        (line(se=0.01, df=8.0), "agrees"),
        (line(se=0.01, df=8.0, sure=(0.82, 0.97)), "agrees"),
        (line(se=0.06, df=8.0, sure=(0.5, 1.0)), "undecided, too few: about"),
        (line(alike=True), "agrees: By its value and the margin"),
        (line(None), "not comparable: a is none of the paper's models; its models lie between 0.1 and 0.3."),
        (line(se=0.01, df=8.0, printed_doubts=("a typo",)), "agrees: The printed figure is in doubt (a typo)."),
        (line(agent=None), "not comparable: The paper pools its own models."),
    ],
)  # fmt: skip
def test_a_figure_is_judged_as_the_paper_reads_it_and_guaranteed_where_bounds_agree(
    run: PaperRun, beside: Line, words: str
) -> None:
    verdict = _verdict(0.2, PLAN, beside, run, NONE)
    assert str(verdict).startswith(words) and verdict.guaranteed == (beside.own.sure == (0.82, 0.97))


def test_a_claim_is_judged_by_the_arms_of_the_paper_and_by_guaranteed_bounds(run: PaperRun) -> None:
    (told,) = judged_claims(PLAN, [run], Paper())
    assert told.estimate is not None and told.agent == "a" and str(told.verdict).startswith("agrees: By its value")
    assert (told.estimate.value, told.estimate.n, told.estimate.method) == (1.0, 12, "none")
    none = CLAIM.model_copy(update={"where": {"agent": "{model}", "memory": "window:9"}})
    (told,) = judged_claims(PLAN.model_copy(update={"claims": (none,)}), [run, run], Paper())  # one line is enough
    assert told.estimate is None and told.verdict.answer == "not comparable"
    assert told.verdict.why == "Only memory window:1 was played, not window:9."


def test_a_claim_is_about_the_levels_that_the_run_has(run: PaperRun) -> None:
    asked = Query(measure="cooperation", where={"memory": ["window:2", "window:9"], "agent": "a"})
    assert _within(asked, run.data).where == {"memory": ["window:2"], "agent": "a"}
    asked = Query(measure="cooperation", where={"memory": ["window:8", "window:9"]})
    with pytest.raises(UsageError, match="the run has no memory of those that the claim is about"):
        _within(asked, run.data)


def test_a_run_of_another_study_is_refused(run: PaperRun) -> None:
    check_runs([run], "personas", PLAN)
    other = PLAN.model_copy(update={"parts": (StudyPart(name="main", title="Main", study="theirs"),)})
    check_runs([run], "coopeval", other)  # whose reference it names
    with pytest.raises(UsageError, match="ours: is a run of the study ours"):
        check_runs([run], "personas", other)


def test_a_study_of_ones_own_is_set_beside_the_exhibits_of_its_paper(run: PaperRun) -> None:
    found = {one.name: len(cells) for one, cells in replication("coopeval", [run]).exhibits if cells}
    assert found == {"Cooperation rates": 3}


def test_a_sign_belongs_to_differences_and_slopes_alone() -> None:
    printed = (Other("A", 0.1, "p"), Other("B", 0.3, "p", doubts="a typo"))
    for changes, number, theirs in (
        ({}, "0.25", "0.1 to 0.3 † (2 models, mean 0.2)"),
        ({"contrast": "game=a-b"}, "+0.25", "+0.1 to +0.3 † (2 models, mean +0.2)"),
        ({"over": "seed", "scale": 100}, "+25.0", "+10.0 to +30.0 † (2 models, mean +20.0)"),
    ):
        told = ClaimLine(CLAIM.model_copy(update=changes), PaperVerdict("agrees"), published=printed)
        assert (_number(told, 0.25), _paper_cell(told)) == (number, theirs)
    assert _paper_cell(ClaimLine(CLAIM, PaperVerdict("agrees"), published=printed[:1])) == "0.1 (A)"


def test_a_table_names_the_runs_that_it_rests_on(run: PaperRun) -> None:
    runs = (run, replace(run, name="another"))
    made = Replication("paper", PLAN, Paper(), runs, (), (), ())
    cells = [JudgedFigure(line(), "ours", PaperVerdict("agrees"))]
    assert _rests_on(made, cells).startswith("Run ours: 9 calls.") and "another" not in _rests_on(made, cells)
    assert _rests_on(made, []) == ""
