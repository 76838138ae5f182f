"""`ostrom more attribute`: which remembered round moved a decision?"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.ending import exit_code, spending_text, trouble
from ostrom.cli.options import BUDGET, MatchNumber, NewRun, PlayOptions, RunName, Runs, standing_of, with_play_options
from ostrom.cli.output import Output, Remark, TextItem, TextTable, cell
from ostrom.engine.progress import watch_with
from ostrom.features.attribution.effects import Attribution, draw_svg, read_effects, strips
from ostrom.features.attribution.plan import attribute as play_attribution
from ostrom.ground.errors import UsageError
from ostrom.studies.run import open_run

MOST_ROWS = 40


@with_play_options(*BUDGET, "max_connections", "prices", "cache", "batch", "allow_key", "allow_command")
def attribute(
    run: RunName,
    match: MatchNumber,
    round_: Annotated[int, typer.Option("--round", help="The round of the decision.", min=1)],
    seat: Annotated[int, typer.Option(help="Whose decision.", min=1)] = 1,
    stage: Annotated[
        str | None, typer.Option(help="The stage of the round, in a game whose rounds have several.")
    ] = None,
    method: Annotated[str, typer.Option(help="drop | flip | both")] = "both",
    samples: Annotated[int, typer.Option(help="How often to ask where the odds are not known otherwise.", min=1)] = 20,
    last: Annotated[int | None, typer.Option(help="Only the so many last remembered rounds.", min=1)] = None,
    measure: Annotated[
        str | None, typer.Option(help="odds | logprob | sample (default: the surest that fits the agent)")
    ] = None,
    name: NewRun = None,
    runs: Runs = Path("runs"),
    options: PlayOptions = PlayOptions(),
) -> Output:
    """Say how much each remembered round moved a decision.

    A round is left out or flipped, and the decision is asked for again.

    Flipping shows a round as if one player had defected instead of cooperating, or cooperated instead; in a game with
    amounts or stages, as if it had named the other end of the range or another option.
    """
    with open_run(run, runs) as parent:
        result, folder = play_attribution(
            parent,
            match,
            round_,
            seat=seat,
            stage=stage,
            method=_one_of("--method", method, ("drop", "flip", "both")),
            measure=None if measure is None else _one_of("--measure", measure, ("odds", "logprob", "sample")),
            samples=samples,
            last=last,
            name=name,
            runs=runs,
            budget=options.budget,
            options=options,
            watch=watch_with(),
        )
        registered = standing_of(parent)
    with open_run(folder) as played:
        effects = read_effects(played)
    svg = folder / "attribution.svg"
    drawn = draw_svg(effects, svg)
    return Output(
        {"run": str(folder), **asdict(effects), "svg": str(svg) if drawn else None},
        [*_text(effects), Remark(f"drawn: {svg}" if drawn else "install ostrom[report] for the strip as SVG")],
        [f"{spending_text(result.tally)}; run: {folder}", *trouble(result)],
        exit_code(result),
        registered,
    )


def _text(attribution: Attribution) -> list[TextItem]:
    how = {
        "odds": "exact odds of the strategy",
        "logprob": "log-probabilities of the options, asked for without reasoning",
        "sample": f"{attribution.baseline.n} askings each",
    }[attribution.measure]
    rows = list(attribution.effects)
    title = f"change in {attribution.what}"
    if len(rows) > MOST_ROWS:
        rows = sorted(rows, key=lambda e: -abs(e.change or 0.0))[:MOST_ROWS]
        title += f", the {MOST_ROWS} largest of {len(attribution.effects)} (--json has all)"
    return [
        f"{attribution.run}, match {attribution.match}: player {attribution.seat} ({attribution.agent}) in round "
        f"{attribution.round}",
        f"{attribution.what} as it was: {cell(attribution.baseline.p)}{_interval(attribution.baseline)} ({how})\n",
        *strips(attribution),
        "",
        TextTable(
            title,
            ["round", "own / others", "change made", attribution.what, "change", "95 % CI", "invalid"],
            [
                [f"R{e.round}", e.shown, e.row, e.chance.p, e.change, _bounds(e.low, e.high), e.chance.invalid]
                for e in rows
            ],
        ),
    ]


def _interval(chance: Any) -> str:
    return "" if chance.low is None else f" {_bounds(chance.low, chance.high)}"


def _bounds(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else f"[{low:.3f}, {high:.3f}]"


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise UsageError(f"{option} {value!r} (allowed: {', '.join(allowed)})")
    return value
