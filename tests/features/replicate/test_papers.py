"""The plans of the four papers: what they play, claim and allow."""

from pathlib import Path

import pytest

from ostrom.analysis.claims import references
from ostrom.analysis.published import published_beside
from ostrom.costs.battery import with_sizes
from ostrom.engine.play_options import PlayOptions
from ostrom.features.replicate.papers import paper_plan, papers
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.models.providers import scripted
from ostrom.reports.exhibits.declared import exhibits_of
from ostrom.reports.exhibits.shape import meets

MODEL = "scripted/first"
SMOKE_CALLS = 200


@pytest.fixture(autouse=True)
def _model() -> None:
    scripted.register("first", lambda request: "[A0]")


def test_the_four_papers_are_known_with_dashes_and_underscores() -> None:
    assert {"memory-curse", "repeated-games", "coopeval", "personas"} <= {*papers()}
    assert paper_plan("memory_curse")[0] == paper_plan("memory-curse")[0] == "memory_curse"
    with pytest.raises(UnknownName, match=r"unknown paper 'memory-course' .did you mean memory-curse"):
        paper_plan("memory-course")


@pytest.mark.parametrize("paper", ["memory-curse", "repeated-games", "coopeval", "personas"])
def test_a_plan_names_what_exists(paper: str) -> None:
    name, plan = paper_plan(paper)
    reference = references.build(name)
    measures = {p.cell[-1] for p in reference.published()}
    named = {measure for one in plan.margins for measure in one.measures}
    assert named <= measures, named - measures
    assert {column for one in plan.margins for column in one.where} <= {*reference.columns}
    assert plan.picture is not None and plan.picture.exhibit in {one.name for one in exhibits_of(name)}
    (pictured,) = [one for one in exhibits_of(name) if one.name == plan.picture.exhibit]
    wanted = {**pictured.where, **plan.picture.where}
    cells = [p.cell for p in reference.published() if p.source in pictured.sources]
    drawn = [cell for cell in cells if meets(dict(zip(reference.columns, cell, strict=True)), wanted)]
    assert len({cell[-1] for cell in drawn}) == 1, "one axis shows one measure"
    assert len(plan.claims) >= 3 and len({claim.claim for claim in plan.claims}) == len(plan.claims)
    for claim in plan.claims:
        assert claim.measure_object.name
        assert claim.note or claim.published or claim.count
        if claim.published is not None:
            assert published_beside(claim.published, [], doubted=True), claim.claim
    studies = {study for one in exhibits_of(name) for study in one.study}
    assert {one.study for one in plan.released.values()} <= studies | {*plan.studies.values()}


@pytest.mark.sample(2)
@pytest.mark.parametrize("paper", ["memory-curse", "repeated-games", "coopeval", "personas"])
def test_smoke_plays_every_part_within_200_calls(paper: str) -> None:
    parts = paper_plan(paper)[1].parts
    sizes = with_sizes(parts, [[MODEL]], Path(), "smoke", PlayOptions())
    assert all(one.seeds == 1 for one in sizes) and len(sizes) == len(parts)
    assert 0 < sum(one.calls for one in sizes) <= SMOKE_CALLS


def test_a_claim_about_no_part_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from ostrom.features.replicate.papers import PaperPlan
    from ostrom.ground.validation import validate

    _, plan = paper_plan("personas")
    data = plan.model_dump(mode="json")
    data["claims"][0]["run"] = "nothing"
    with pytest.raises(UsageError, match=r"unknown part 'nothing' \(allowed: personas\)"):
        validate(PaperPlan, data, "personas/replicate.yaml")
    data = plan.model_dump(mode="json")
    data["parts"] *= 2
    with pytest.raises(UsageError, match="two parts have the name 'personas'"):
        validate(PaperPlan, data, "personas/replicate.yaml")
