"""`ostrom more profile`: a battery of studies for one model or several, sized to a budget, as pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.batteries import sizes_output
from ostrom.cli.options import CALLS, DryRun, PlayOptions, with_play_options
from ostrom.cli.output import Output, Remark, TextItem, TextTable, print_stderr
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from ostrom.features.profile.battery import ModelProfile


@with_play_options("budget_usd", "preset", "battery", "out", "max_connections", "prompts", *CALLS)
def profile(
    model: Annotated[list[str], typer.Option("--model", help="A model; may be given several times.")],
    against: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Show every figure as a difference to this model, which is profiled too."),
    ] = None,
    options: PlayOptions = PlayOptions(),
    preset: Annotated[str | None, typer.Option(help="A preset of the battery, such as smoke.")] = None,
    battery: Annotated[str, typer.Option(help="A battery: its file (YAML) or its name.")] = "standard",
    out: Annotated[
        Path | None, typer.Option(help="The folder of runs and pages (default: profiles/BATTERY[-PRESET]).")
    ] = None,
    dry_run: DryRun = False,
) -> Output:
    """Profile models: play a battery of studies, a page per model.

    The battery is sized to the budget; figures have intervals.

    The same command goes on where it stopped. Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.cli.commands.run import play_resolved
    from ostrom.costs.battery import with_sizes
    from ostrom.costs.waves import check_batch
    from ostrom.features.profile import pages
    from ostrom.features.profile.battery import check_figures, play_battery, read_battery
    from ostrom.reports.figures import need_extras

    options.check()
    need_extras()
    if against is not None:
        model = [against, *model]  # pages show differences to the first model
    if len(set(model)) < len(model):
        raise UsageError("--model: a model is named twice")
    chosen, home = read_battery(battery, preset)
    sizes = with_sizes(chosen.parts, [[name] for name in model], home, preset, options, check_figures, dry_run=dry_run)
    if dry_run:
        return sizes_output(sizes, chosen.title)
    for part, name in [(one.part, name) for one in sizes if options.batch and one.seeds for name in model]:
        check_batch(part.resolved([name], 1, home, preset, options).plan, options.batch_waves)
    folder = out or Path("profiles") / (chosen.name + (f"-{preset}" if preset else ""))
    profiles, interrupted = play_battery(
        folder, chosen, sizes, model, play_resolved, home=home, preset=preset, options=options, tell=print_stderr,
    )  # fmt: skip
    if interrupted:
        return Output(messages=["interrupted; the same command goes on from here"], code=130)
    written = pages.write_pages(
        folder,
        chosen,
        profiles,
        about=(
            "A smoke test: parts are shorter than described, with too few matches to say anything about a model."
            if preset == "smoke"
            else ""
        ),
    )
    compared = None if against is None else pages.differences(profiles)
    beside = {} if compared is None else {"against": against, "differences": compared[0], "control": compared[1]}
    document = {
        "battery": chosen.name, "preset": preset, "folder": str(folder), "pages": [str(path) for path in written],
        "seeds": {one.part.name: one.seeds for one in sizes}, "profiles": pages.as_data(profiles), **beside,
    }  # fmt: skip
    tables = list[TextItem]()
    for one in profiles:
        tables += [_table(one), *map(Remark, one.notes)]
    if compared is not None and compared[0]:
        tables += [TextTable.from_mappings(f"Differences to {against}", compared[0]), Remark(compared[1])]
    return Output(
        document,
        [*tables, *map(str, written)],
        code=int(not all(one.complete for one in profiles)),
        standing=pages.standing_of(profiles),
    )


def _table(profile: ModelProfile) -> TextTable:
    return TextTable(
        f"{profile.model}: {profile.calls} calls, {profile.usd:.4f} USD",
        ["part", "figure", "group", "value", "interval", "n", "published and people"],
        [
            [
                entry.part.title, entry.figure.name,
                ", ".join(str(v) for k, v in e.key.items() if k != "over") or None, e.value, e.interval_text, e.n,
                ", ".join(f"{o.name} {o.value:.2f}" for o in entry.beside if not o.group)[:60] or None,
            ]
            for entry in profile.taken
            for e in entry.estimates
        ],
    )  # fmt: skip
