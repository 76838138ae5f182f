"""`ostrom seat`: play a study with an external agent in one of its seats, through MCP."""

from __future__ import annotations

import asyncio
import json as json_text
import re
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import BUDGET, PlayOptions, Presets, Runs, Seeds, Sets, with_play_options
from ostrom.cli.output import Output, Remark, emit, json_wanted
from ostrom.ground.errors import RunError, UsageError

if TYPE_CHECKING:
    from ostrom.engine.folder import Folder
    from ostrom.engine.runner import Result, Runner
    from ostrom.studies.resolve import Resolved

MOST_BYTES = 65_536
"""The largest file of tokens, in bytes."""
ADDRESS = re.compile(r"http://127\.0\.0\.1:[0-9]{1,5}/mcp")


@with_play_options("limit", *BUDGET, "prompts", "prices", "cache", "allow_key", "allow_command")
def seat(
    study: Annotated[str, typer.Argument(help="A study (file or name), or a run: its name or folder.")],
    seat: Annotated[list[int] | None, typer.Option(help="The seat, from 1; may be given several times.")] = None,
    http: Annotated[bool, typer.Option("--http", help="Serve on this machine instead of on stdin/stdout.")] = False,
    port: Annotated[int, typer.Option(help="With --http: the port (0: any).", min=0, max=65535)] = 0,
    preset: Presets = None,
    set_: Sets = None,
    name: Annotated[str | None, typer.Option(help="The name of the run (default: that of the study).")] = None,
    runs: Runs = Path("runs"),
    seeds: Seeds = None,
    options: PlayOptions = PlayOptions(),
) -> Output:
    """Let an agent outside play a seat of a study, through MCP.

    The study is played here; where another process plays the run, the agent joins that one. The same command goes on.
    Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.cli.commands.run import end_lines
    from ostrom.cli.ending import exit_code
    from ostrom.engine.folder import Folder
    from ostrom.ground import loop

    if json_wanted() and not http:
        raise UsageError("--json: needs --http; on stdin/stdout the agent and Ostrom speak MCP")
    seats = list(dict.fromkeys(seat or [1]))
    home = _run_of(study, runs)
    if home is None or not home.is_locked:
        resolved, folder = _resolved(study, home, preset, set_, name, seeds, runs, options)
        home = Folder(folder)
    if home.is_locked:
        return _join(home, seats, http=http)
    result = loop.run(_play(resolved, folder, seats, http=http, port=port))
    return Output(None, (), end_lines(result, folder), exit_code(result))


def _run_of(text: str, runs: Path) -> Folder | None:
    """Return the run with this name or folder; None if there is none."""
    from ostrom.engine.folder import Folder

    return next((Folder(path) for path in (Path(text), runs / text) if (path / "run.json").exists()), None)


def _resolved(
    study: str,
    home: Folder | None,
    preset: str | None,
    changes: list[str] | None,
    name: str | None,
    seeds: int | None,
    runs: Path,
    options: PlayOptions,
) -> tuple[Resolved, Path]:
    from ostrom.engine.folder import check_name
    from ostrom.studies.resolve import resolve, resolve_run

    if home is not None:
        if preset is not None or changes or name is not None:
            raise UsageError(f"{study}: is a run, which keeps its study and its name")
        resolved = resolve_run(home.path, runs, options=options, seeds=seeds)
        return resolved, resolved.folder
    resolved = resolve(study, preset=preset, changes=changes or (), seeds=seeds, options=options)
    if resolved.plan.study.people is not None:
        raise UsageError(f"{study}: is a study with people; `ostrom serve {study}` serves it")
    return resolved, runs / check_name(resolved.plan.run_name(name))


async def _play(resolved: Resolved, folder: Path, seats: list[int], *, http: bool, port: int) -> Result:
    """Play a plan while an agent plays the seats, over HTTP or over stdin and stdout."""
    from ostrom.engine.progress import watch_with
    from ostrom.features.seats.host import SeatHost, waiting_seats
    from ostrom.studies.resolve import save_session
    from ostrom.studies.run import play_plan_async

    open_ = waiting_seats(resolved.plan)
    if wrong := [number for number in seats if number not in open_]:
        there = f"allowed: {', '.join(map(str, open_))}" if open_ else "a type needs `mcp: seat`"
        raise UsageError(f"--seat {wrong[0]}: {resolved.plan.file} has no seat {wrong[0]} for an agent ({there})")
    host = SeatHost(resolved.plan, resolved.options, port=port, quiet=set(open_) <= set(seats))
    resolved.plan.outside = host
    running: list[Runner] = []
    watch = watch_with()

    def watched(runner: Runner) -> Any:
        running.append(runner)
        return watch(runner)

    async def begin(home: Folder) -> None:
        save_session(home.path, resolved.options)
        if http:
            emit(_places(host.url, {number: host.chair(number).token for number in seats}))

    playing = asyncio.create_task(
        play_plan_async(
            resolved.plan, name=folder.name, runs=folder.parent, options=resolved.options, watch=watched, begin=begin
        )
    )
    if http:
        return await playing
    from ostrom.features.seats.server import own_seats, serve_stdio

    serving = asyncio.create_task(serve_stdio(own_seats(*map(host.chair, seats))))
    try:
        await asyncio.wait({playing, serving}, return_when=asyncio.FIRST_COMPLETED)
        if not playing.done():
            serving.result()
            for number in seats:
                host.chair(number).heard = False  # no agent is left to be told
            for runner in running:
                runner.stop("the agent closed its connection", interrupted=True)
        result = await playing
        # The agent may still ask how the run ended; a signal ends the wait.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().remove_signal_handler(number)
        await serving
        return result
    finally:
        for task in (playing, serving):
            task.cancel()
        with suppress(BaseException):
            await asyncio.gather(playing, serving, return_exceptions=True)


def _places(url: str, tokens: dict[int, str]) -> Output:
    """Return the address and token of each seat."""
    rows = [{"seat": number, "url": url, "token": token} for number, token in tokens.items()]
    return Output(
        {"seats": rows},
        [Remark(f"seat {row['seat']}: {url} with the header `Authorization: Bearer {row['token']}`") for row in rows],
    )


def _join(home: Folder, seats: list[int], *, http: bool) -> Output:
    """Connect to seats of a run that another process of this user plays."""
    from ostrom.features.seats.host import FILE
    from ostrom.ground import loop
    from ostrom.ground.files import read_plain

    try:
        access = json_text.loads(read_plain(home.path / FILE, MOST_BYTES))
        url, tokens = str(access["url"]), {int(number): str(token) for number, token in access["tokens"].items()}
        if not ADDRESS.fullmatch(url):
            raise ValueError
    except (OSError, RunError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{home.path}: is being played by another process, with no seat for an agent") from None
    if wrong := [number for number in seats if number not in tokens]:
        raise UsageError(f"--seat {wrong[0]}: allowed: {', '.join(map(str, tokens))}")
    chosen = {number: tokens[number] for number in seats}
    if http:
        return _places(url, chosen)
    from ostrom.features.seats.server import remote_seats, serve_stdio

    loop.run(serve_stdio(remote_seats(url, chosen)))
    return Output()
