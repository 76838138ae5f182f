"""What judging a run will take: an upper bound of what is left of it, before the first call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ostrom.engine.folder import Folder
from ostrom.engine.plan import Seated, Unit
from ostrom.features.judging.plan import JudgePlan, Judging
from ostrom.framing import PromptRenderer
from ostrom.memory import Shown
from ostrom.models.batches import may_batch
from ostrom.studies.forecast import CHARACTERS_PER_TOKEN, Forecast, PerCall, add_up, reply_of
from ostrom.studies.run import check_same
from ostrom.studies.waves import AT_ONCE, HOURS, MOST_HOURS, Waves


def forecast_judging(
    plan: JudgePlan, prices: Mapping[str, Any] | None = None, limit: int | None = None
) -> Forecast:
    """Bound the judgements that are still to be made, at most ``limit`` of them; each prompt is looked at."""
    plan.check()
    ended = _ended(plan)
    left = [index for index in range(len(plan)) if index not in ended][:limit]
    total = Forecast(matches=len(left), retries_per_decision=plan.retries)

    def per_call(unit: Unit, seated: Seated, seat: int) -> PerCall:  # noqa: ARG001
        assert isinstance(unit.mechanism, Judging)
        config = seated.config
        renderer = PromptRenderer(config.framing, plan.library, config.style)
        question = unit.mechanism.question(unit.game)
        text = renderer.prompt(question, Shown(), None, config.facts).text
        return PerCall(len(text) / CHARACTERS_PER_TOKEN, *reply_of(config, question.form))

    found = add_up(total, map(plan.unit, left), per_call, prices)
    if all(may_batch(model) for model in plan.models):
        count = -(-len(left) // AT_ONCE)
        found.waves = Waves(count, count * HOURS, count * MOST_HOURS)
    else:
        found.batch_usd = found.likely_batch_usd = None
    return found


def _ended(plan: JudgePlan) -> set[int]:
    """The judgements that earlier sessions brought to an end; failed ones are asked for again."""
    folder = Folder(plan.run.folder.path / plan.name)
    if not folder.exists:
        return set()
    manifest = check_same(folder, plan)  # type: ignore[arg-type]  # a plan of its own kind, as for play_plan
    if not folder.journal.exists():
        return set()
    journal = folder.open_journal(manifest)
    try:
        return {unit for unit, state in journal.states().items() if state in ("done", "skipped")}
    finally:
        journal.close()
