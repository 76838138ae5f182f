"""Playing with adapters: one runtime for all arms, the scale in every request, and arms that differ by nothing else."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command

from ostrom.ground.errors import StudyError
from ostrom.models import client_name, open_model
from ostrom.models.base import Message, Request
from ostrom.models.embedded import runtime as shared_runtimes
from ostrom.probe.training.trainer import Trained
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan

ASKED = Request((Message("user", "Rules.\nChoose."),), {"max_tokens": 24, "temperature": 1, "seed": 1})


@pytest.fixture
def adapter(trained: Trained) -> Path:
    pytest.importorskip("xllamacpp")
    return trained.folder


def test_all_arms_share_one_runtime_and_scale_zero_is_no_adapter(tiny: Path, adapter: Path) -> None:
    async def ask() -> list[str]:
        arms: list[dict[str, Any]] = [{}, {"adapter": str(adapter)}, {"adapter": str(adapter), "scale": 0}]
        models = [open_model(f"embedded/{tiny}", mode="reproducible", threads=1, **arm) for arm in arms]
        try:
            replies = [await model.complete(ASKED) for model in models]
            (loaded,) = (of for load, of in shared_runtimes._LOADED.items() if load.path == tiny)
            assert len(loaded) == 1 and len(loaded[0].adapters) == 1
            alone = open_model(f"embedded/{tiny}", mode="reproducible", threads=1, context=512)
            replies.append(await alone.complete(ASKED))
            await alone.close()
        finally:
            for model in models:
                await model.close()
        assert all(load.path != tiny for load in shared_runtimes._LOADED)
        assert models[1].describe()["adapter"]["scale"] == 1 and "adapter" not in models[0].describe()
        return [reply.text for reply in replies]

    base, tuned, zero, alone = asyncio.run(ask())
    assert base == zero == alone != tuned


def test_types_of_a_study_may_differ_by_their_adapter_and_by_nothing_else() -> None:
    def plan(**tuned: object) -> StudyPlan:
        return StudyPlan(
            load_study(
                {"name": "s", "game": "prisoners_dilemma", "agent": {"model": "embedded/smollm2-135m"},
                 "types": {"base": {}, "tuned": {"settings": tuned}}}
            )
        )  # fmt: skip

    assert plan(adapter="d", scale=0.5).models == (
        "embedded/smollm2-135m",
        client_name("embedded/smollm2-135m", {"adapter": "d", "scale": 0.5}),
    )
    with pytest.raises(StudyError, match="two different settings"):
        plan(adapter="d", threads=1)
    with pytest.raises(StudyError, match="set adapter too"):
        open_model("embedded/smollm2-135m", scale=0.5)
    with pytest.raises(StudyError, match="from -10 to 10"):
        open_model("embedded/smollm2-135m", adapter="d", scale="x")


@pytest.mark.parametrize("study", ["probe", "probe-exploited", "probe-source"])
def test_the_studies_can_be_played_by_models_that_take_no_adapter(study: str, ostrom: Command) -> None:
    done = ostrom("run", study, "--preset", "smoke", "--model", "openai/gpt-4o", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
