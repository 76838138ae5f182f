"""``agent.memory.from: RUN`` of a sanitized memory becomes the shares of actions that were played in that run.

The shares stand in the study as it is recorded, so that a run never depends on another one once it has begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ostrom.ground.errors import StudyError

KEY = "from"


def with_baselines(data: dict[str, Any], file: str) -> dict[str, Any]:
    """The content of a study in which every ``from`` of a memory is replaced by shares."""
    return {key: _replaced(value, key, file) for key, value in data.items()}


def _replaced(value: Any, path: str, file: str) -> Any:
    if isinstance(value, list):
        return [_replaced(one, path, file) for one in value]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    for key, inner in value.items():
        text = str(key)
        if (text == KEY and path.rpartition(".")[2] == "memory") or text.endswith(f"memory.{KEY}"):
            found[text.removesuffix(KEY) + "shares"] = action_shares(inner, f"{path}.{text}", file)
        else:
            found[key] = _replaced(inner, f"{path}.{text}", file)
    return found


def action_shares(run: Any, key: str, file: str) -> dict[str, dict[str, float]]:
    """How often every combination of actions was played in a run, by game; of finished matches alone."""
    from ostrom.data.rundata import run_data
    from ostrom.memory.catalog.sanitized import text_of
    from ostrom.studies.run import open_run

    if not isinstance(run, str) or not run.strip():
        raise StudyError("must be a run: its name or folder", file=file, key=key, found=run)
    found: dict[str, dict[str, float]] = {}
    with (
        open_run(run, Path("runs")) as opened,
        run_data(opened.rows, opened.folder.path, opened.manifest) as data,
    ):
        rows = data.records(
            "SELECT match, any_value(game) AS game, round, list(action ORDER BY seat) AS actions FROM decisions "
            "WHERE kind = 'act' AND state = 'done' AND unit = 'match' AND action IS NOT NULL AND seat IS NOT NULL "
            "GROUP BY match, round ORDER BY match, round"
        )
        for row in rows:
            game = opened.plan.unit(row["match"]).game
            if len(row["actions"]) == game.seats:
                text = text_of(game, [game.index(seat, action) for seat, action in enumerate(row["actions"])])
                of = found.setdefault(game.name, {})
                of[text] = of.get(text, 0) + 1
    if not found:
        raise StudyError("the run has no finished match to take actions from", file=file, key=key, found=run)
    return {
        game: {text: round(times / sum(of.values()), 6) for text, times in sorted(of.items())}
        for game, of in sorted(found.items())
    }
