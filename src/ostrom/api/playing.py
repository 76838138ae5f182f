"""Play a study from a script, a notebook or inside a running event loop."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from ostrom.api.runs import Run, open_run
from ostrom.api.stating import Study
from ostrom.api.stating import study as stated
from ostrom.api.threads import in_a_thread, inside_a_loop
from ostrom.engine import loop
from ostrom.engine.folder import Folder, check_name
from ostrom.engine.play_options import DECLARED, PlayOptions
from ostrom.engine.progress import stop_in, watch_with
from ostrom.engine.runner import Result
from ostrom.ground.errors import RunError, UsageError
from ostrom.models.grants import say_allowed
from ostrom.studies.run import play_plan, play_plan_async
from ostrom.studies.session import save_session
from ostrom.studies.waves import check_batch

BUDGETS = ("budget_usd", "budget_calls", "budget_tokens")
"""What may be given to ``play`` beside a study that was stated already."""
OF_THE_STUDY = (*BUDGETS, "prompts", "prices")
"""Options of playing that ``ostrom.study`` takes."""
F = TypeVar("F", bound=Callable[..., Any])


def _with_play_options(function: F) -> F:
    """Show the options of playing in the signature of a function that takes them by name."""
    own = list(inspect.signature(function).parameters.values())
    usual, keyword = PlayOptions(), inspect.Parameter.KEYWORD_ONLY
    shown = [inspect.Parameter(name, keyword, default=getattr(usual, name)) for name in DECLARED]
    signature = inspect.Signature([*own[:-1], *shown, own[-1]])
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


@_with_play_options
def play(
    study: Study | str | Path | Mapping[str, Any],
    *,
    name: str | None = None,
    runs: str | Path = "runs",
    report: bool = False,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Play a study into ``runs/<name>``, or go on where it stopped; gives the run.

    ``options`` are those of `ostrom run` under the same names (limit, max_connections, cache, executor, ...) and, where
    a name, a file or a mapping is given, those of ``ostrom.study`` (models, preset, ...); beside a study that was
    stated already, a budget. Works inside a running event loop too, as in a notebook. An interrupt stops cleanly:
    calls under way are kept, and the same call goes on. ``batch`` asks through the batch endpoints of the models, at
    their lower price (``batch_waves``: how many may follow one another). Where every match fails an error says why, and
    ``ostrom.open_run`` opens what was played; where some fail, ``run.result`` counts them.
    """
    playing = _prepared(study, name, runs, options)
    if inside_a_loop():
        watch = watch_with(signals=False, quiet=not progress)
        result = in_a_thread(lambda: loop.run(play_plan_async(**playing.arguments, watch=watch)), stop_in)
    else:
        on_main = threading.current_thread() is threading.main_thread()
        result = play_plan(**playing.arguments, watch=watch_with(signals=on_main) if progress else None)
    return playing.ended(result, report)


@_with_play_options
async def play_async(
    study: Study | str | Path | Mapping[str, Any],
    *,
    name: str | None = None,
    runs: str | Path = "runs",
    report: bool = False,
    progress: bool = True,
    **options: Any,
) -> Run:
    """As ``play``, on the event loop that is running."""
    playing = _prepared(study, name, runs, options)
    watch = watch_with(signals=False) if progress else None
    return playing.ended(await play_plan_async(**playing.arguments, watch=watch), report)


def _prepared(
    study: Study | str | Path | Mapping[str, Any],
    name: str | None,
    runs: str | Path,
    given: Mapping[str, Any],
) -> _Playing:
    """The study and how it is played, checked before anything begins."""
    if given.get("allow_key"):
        say_allowed(given["allow_key"], ())
    how = {key: value for key, value in given.items() if key in DECLARED}
    what = {key: value for key, value in given.items() if key not in DECLARED or key in OF_THE_STUDY}
    ready = _ready(study, what)
    options = replace(ready.options, **how)
    options.check()
    if options.batch:
        check_batch(ready.plan, options.batch_waves)
    return _Playing(ready, check_name(name or ready.name), Path(runs), options)


def _ready(study: Study | str | Path | Mapping[str, Any], what: Mapping[str, Any]) -> Study:
    if not isinstance(study, Study):
        return stated(study, **what)
    other = [name for name in what if name not in BUDGETS]
    if other or (what and study.given is None):
        raise UsageError(f"{next(iter(other or what))}: give this to ostrom.study(), which made the study")
    return stated(**{**(study.given or {}), **what}) if what else study


@dataclass(frozen=True)
class _Playing:
    """A study that is ready to be played into a folder."""

    study: Study
    name: str
    runs: Path
    options: PlayOptions

    @property
    def arguments(self) -> dict[str, Any]:
        """What plays it, as ``play_plan`` takes it."""

        async def begin(home: Folder) -> None:
            save_session(home.path, self.options)

        return {
            "plan": self.study.plan,
            "name": self.name,
            "runs": self.runs,
            "options": self.options,
            "begin": begin,
        }

    def ended(self, result: Result, report: bool) -> Run:
        """The run that was played; an error where no match was finished."""
        tally = result.tally
        if tally.failures and tally.failed == tally.matches and not result.interrupted:
            raise RunError(
                f"run {self.name}: no match was finished, all {tally.failed} failed; {tally.failures[0]}"
            )
        run = open_run(self.runs / self.name, result=result)
        if report:
            run.report()
        return run
