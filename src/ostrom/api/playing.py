"""Play a study from a script, a notebook or inside a running event loop."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ostrom.api.runs import Run, open_run
from ostrom.api.stating import Study
from ostrom.api.stating import study as stated
from ostrom.api.threads import in_a_thread, inside_a_loop
from ostrom.cli.progress import stop_in, watch_with
from ostrom.engine import loop
from ostrom.engine.batching.polling import PollingPolicy
from ostrom.engine.folder import Folder, check_name
from ostrom.engine.runner import Options, Result
from ostrom.ground.errors import RunError, UsageError
from ostrom.studies.run import play_plan, play_plan_async
from ostrom.studies.session import RunOptions, save_session
from ostrom.studies.waves import check_batch

BUDGETS = ("budget_usd", "budget_calls", "budget_tokens")
"""What may be given to ``play`` beside a study that was stated already."""


def play(
    study: Study | str | Path | Mapping[str, Any],
    *,
    name: str | None = None,
    runs: str | Path = "runs",
    limit: int | None = None,
    max_connections: int | None = None,
    cache: str | Path | None = None,
    batch: bool = False,
    batch_waves: int | None = None,
    report: bool = False,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Play a study into ``runs/<name>``, or go on where it stopped; gives the run.

    ``options`` are those of ``ostrom.study`` (models, preset, budget_usd, ...) where a name, a file or a mapping is
    given; beside a study that was stated already, a budget. Works inside a running event loop too, as in a notebook. An
    interrupt stops cleanly: calls under way are kept, and the same call goes on. ``batch`` asks through the batch
    endpoints of the models, at their lower price (``batch_waves``: how many may follow one another). Where every match
    fails an error says why, and ``ostrom.open_run`` opens what was played; where some fail, ``run.result`` counts them.
    """
    ready = _ready(study, options)
    given = _arguments(ready, name, runs, limit, max_connections, cache, batch)
    if batch:
        check_batch(ready.plan, batch_waves)
    if inside_a_loop():
        watch = watch_with(signals=False, quiet=not progress)
        result = in_a_thread(lambda: loop.run(play_plan_async(**given, watch=watch)), stop_in)
    else:
        on_main = threading.current_thread() is threading.main_thread()
        result = play_plan(**given, watch=watch_with(signals=on_main) if progress else None)
    return _ended(given, result, report)


async def play_async(
    study: Study | str | Path | Mapping[str, Any],
    *,
    name: str | None = None,
    runs: str | Path = "runs",
    limit: int | None = None,
    max_connections: int | None = None,
    cache: str | Path | None = None,
    batch: bool = False,
    batch_waves: int | None = None,
    report: bool = False,
    progress: bool = True,
    **options: Any,
) -> Run:
    """As ``play``, on the event loop that is running."""
    ready = _ready(study, options)
    given = _arguments(ready, name, runs, limit, max_connections, cache, batch)
    if batch:
        check_batch(ready.plan, batch_waves)
    watch = watch_with(signals=False) if progress else None
    return _ended(given, await play_plan_async(**given, watch=watch), report)


def _ready(study: Study | str | Path | Mapping[str, Any], options: Mapping[str, Any]) -> Study:
    if not isinstance(study, Study):
        return stated(study, **options)
    other = [name for name in options if name not in BUDGETS]
    if other or (options and study.given is None):
        raise UsageError(f"{next(iter(other or options))}: give this to ostrom.study(), which made the study")
    return stated(**{**(study.given or {}), **options}) if options else study


def _arguments(
    study: Study,
    name: str | None,
    runs: str | Path,
    limit: int | None,
    max_connections: int | None,
    cache: str | Path | None,
    batch: bool,
) -> dict[str, Any]:
    """What plays the study, as ``play_plan`` takes it."""
    store = None if cache is None else Path(cache)
    session = RunOptions.of(
        **(study.session or {}), cache=store, max_connections=max_connections, batch=batch or None
    )

    async def begin(home: Folder) -> None:
        save_session(home.path, session)

    options = Options(
        max_connections=max_connections, limit=limit, cache=store, prices=study.prices,
        batch=PollingPolicy() if batch else None,
    )  # fmt: skip
    return {
        "plan": study.plan,
        "name": check_name(name or study.name),
        "runs": runs,
        "options": options,
        "begin": begin,
    }


def _ended(given: Mapping[str, Any], result: Result, report: bool) -> Run:
    tally = result.tally
    if tally.failures and tally.failed == tally.matches and not result.interrupted:
        raise RunError(
            f"run {given['name']}: no match was finished, all {tally.failed} failed; {tally.failures[0]}"
        )
    run = open_run(Path(given["runs"]) / given["name"], result=result)
    if report:
        run.report()
    return run
