"""The table of a judged corpus: one row per decision and judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ostrom.data.tables import TYPES, factor_types, write_parquet
from ostrom.engine.journal import Journal
from ostrom.features.judging.judgements import JUDGED, motive_column
from ostrom.features.judging.plan import JudgePlan
from ostrom.ground.errors import RunError
from ostrom.ground.files import draft_of


def judged_rows(plan: JudgePlan, journal: Journal) -> Iterator[dict[str, Any]]:
    """Every judgement that has begun, failed ones included: their labels are not known."""
    ended = {unit: (state, reason) for unit, state, reason in journal.endings()}
    open_units = {unit for unit in journal.begun() if unit not in ended}
    for index in sorted({*ended, *open_units}):
        row, judge = plan.place(index)
        state, reason = ended.get(index, ("open", None))
        answer, complaints, _ = journal.answers(index).get((0, 0, ""), (None, 0, None))
        value = answer.value if answer is not None and state == "done" else None
        labels = None if value is None else [m.name for m in plan.motives if m.name in value["labels"]]
        yield {
            **row,
            "judge": judge.name,
            "judge_model": judge.model,
            "pass": judge.pass_,
            "self_judged": same_model(judge.model, row["model"]),
            "judged": state,
            "reason": reason,
            "labels": None if labels is None else ";".join(labels),
            "labelled": None if labels is None else len(labels),
            "confidence": None if value is None else float(value["confidence"]),
            "explanation": None if value is None else value["explanation"],
            "unreadable": complaints,
            **{motive_column(m.name): None if labels is None else m.name in labels for m in plan.motives},
        }


def write_judged(rows: Sequence[Mapping[str, Any]], plan: JudgePlan, folder: Path) -> Path:
    """Write ``judged.parquet`` beside the journal of the corpus."""
    kinds: dict[str, type] = {
        **TYPES,
        **factor_types(plan.run.rows),
        **dict.fromkeys(["pass", "call", "labelled", "unreadable"], int),
        **dict.fromkeys(["self_judged", *(motive_column(m.name) for m in plan.motives)], bool),
        "confidence": float,
    }
    path = folder / JUDGED
    draft = draft_of(path)
    try:
        write_parquet(draft, [dict(row) for row in rows], kinds)
        draft.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None
    return path


def same_model(judge: str, contestant: str | None) -> bool:
    """Whether a judge judges itself: the same model, through whatever provider it is reached.

    >>> same_model("openai/gpt-5", "openrouter/openai/gpt-5"), same_model("openai/gpt-5", "openai/gpt-5-mini")
    (True, False)
    """
    return contestant is not None and _bare(judge) == _bare(contestant)


def _bare(model: str) -> str:
    return model.rpartition("#")[2].rpartition("/")[2].lower()
