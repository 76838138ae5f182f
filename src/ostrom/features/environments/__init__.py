"""Studies as reinforcement-learning environments: questions go out, answers come in, scores are rewards."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ostrom.api import Study
from ostrom.api import study as state
from ostrom.features.environments.environment import Environment, Episode, EpisodeClosed, OutsideQuestion
from ostrom.ground.errors import UsageError

__all__ = ["Environment", "Episode", "EpisodeClosed", "OutsideQuestion", "environment"]


def environment(
    study: Study | str | Path | Mapping[str, Any],
    *,
    name: str | None = None,
    runs: str | Path = "runs",
    allow_command: Sequence[str] | None = None,
    **options: Any,
) -> Environment:
    """A study whose players ``outside/NAME`` are answered by the caller, match by match.

    ``options`` are those of ``ostrom.study``; with ``name`` the matches are kept as a run. Close it, or use ``with``.

    >>> duel = {"name": "duel", "game": "prisoners_dilemma", "types": {"me": {"model": "outside/me"}, "it": "grim"}}
    >>> with environment({**duel, "seating": "seats"}) as env:
    ...     episode = env.episode(0)
    ...     for question in episode:
    ...         question.answer(question.form["choices"][0])
    ...     episode.rewards
    {1: 3.0}
    """
    if isinstance(study, Study) and options:
        raise UsageError(f"{next(iter(options))}: give this to ostrom.study(), which made the study")
    stated = study if isinstance(study, Study) else state(study, **options)
    if allow_command is not None:
        stated = replace(stated, options=replace(stated.options, allow_command=allow_command))
    return Environment(stated, name=name, runs=runs)
