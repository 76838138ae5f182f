"""`ostrom corpus`: from the reasoning traces of runs to a corpus for fine-tuning."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.ending import forecast_data, leave, print_forecast, say_trouble, spent_data
from ostrom.cli.options import BUDGET, DryRun, Json, Runs, say_allowed, with_play_options
from ostrom.cli.output import print_json, print_table, say
from ostrom.engine.play_options import PlayOptions

if TYPE_CHECKING:
    from ostrom.probe.plan import Probing


@with_play_options(*BUDGET, "max_connections", "prompts", "prices", "runs", "allow_key")
def corpus(
    run: Annotated[list[str], typer.Argument(help="Runs whose traces are taken: names or folders.")],
    out: Annotated[Path, typer.Option(help="The folder of the corpus.")],
    judge: Annotated[
        str, typer.Option(help="Who scores: provider/model, or scripted/lexicon, which counts words.")
    ],
    second_judge: Annotated[
        str | None, typer.Option(help="A second judge: both must agree that a reply passes.")
    ] = None,
    arm: Annotated[str, typer.Option(help="forward | placebo | shuffled")] = "forward",
    sample: Annotated[int, typer.Option(help="Score at most so many replies.", min=1)] = 12_000,
    forward: Annotated[int, typer.Option(help="The least forward score.", min=0, max=10)] = 9,
    quality: Annotated[int, typer.Option(help="The least quality score.", min=0, max=10)] = 9,
    specificity: Annotated[int, typer.Option(help="The least specificity score.", min=0, max=10)] = 7,
    placebo_below: Annotated[
        int, typer.Option(help="A placebo's forward score is below this.", min=1, max=10)
    ] = 4,
    family: Annotated[int, typer.Option(help="At most so many replies that begin alike.", min=1)] = 3,
    held_out: Annotated[float, typer.Option(help="The share for validation.", min=0, max=0.5)] = 0.05,
    leave_out: Annotated[
        list[str] | None, typer.Option(help="Take no trace of this game. May be given several times.")
    ] = None,
    retries: Annotated[int, typer.Option(help="Ask again so often after an unreadable answer.", min=0)] = 3,
    invalid: Annotated[
        str, typer.Option(help="Then: fail (asked again next time) | skip-match (left without scores).")
    ] = "fail",
    options: PlayOptions = PlayOptions(),
    runs: Runs = Path("runs"),
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Select reasoning traces for fine-tuning, every drop with its reason; the same command goes on.

    Exit code: 0 complete, 1 scores are missing, 2 wrong use, 130 interrupted.
    """
    from ostrom.engine.progress import watch_with
    from ostrom.features.judging.plan import judges_of
    from ostrom.ground.errors import UnknownName
    from ostrom.probe.agreement import agreement
    from ostrom.probe.files import write_corpus
    from ostrom.probe.funnel import ARMS, Rules
    from ostrom.probe.lexicon_judge import install
    from ostrom.probe.plan import Probing, Unscored
    from ostrom.probe.summary import summary
    from ostrom.studies.run import open_run

    if arm not in ARMS:
        raise UnknownName("arm", arm, ARMS)
    install()
    say_allowed(options.allow_key, judge, second_judge)
    judges = judges_of(judge, second_judge)
    rules = Rules(
        sample, forward, quality, specificity, family, held_out, placebo_below, tuple(leave_out or ())
    )
    with ExitStack() as stack:
        opened = [stack.enter_context(open_run(name, runs)) for name in run]
        probing = Probing(
            opened, judges, options.prompts, options.budget, retries, invalid, replace(options, ask_again=True),
            lambda: watch_with(json=json),
        )  # fmt: skip
        if dry_run:
            _forecast(probing, arm, rules, json)
            return
        try:
            made = probing.corpus(arm, rules)
        except Unscored as error:
            say("the corpus is not written: judges have not scored every reply")
            say_trouble(error.result, " and asks again what failed")
            leave(error.result)
            return
        told = summary(made, rules, [one.name for one in opened], [one.name for one in judges])
    least = {"forward": forward, "quality": quality, "specificity": specificity}
    if agreed := agreement(probing.asked, least):
        told["agreement"] = agreed
    written = write_corpus(out, made, told)
    told["scored_now"] = probing.scored
    if json:
        print_json({"corpus": str(out), "written": written, **told,
                    "spent": [spent_data(result.tally) for result in probing.results]})  # fmt: skip
        return
    _print(told)
    if not made.examples:
        say("nothing passed the funnel; drops.jsonl says why, reply by reply")
    state = "written" if written else "already up to date"
    say(
        f"{told['train']} training and {told['val']} validation examples ({arm}); {told['scored_now']} replies scored "
        f"now; {out}: {state}"
    )


def _print(told: dict[str, Any]) -> None:
    print_table(
        f"Funnel of the arm {told['arm']}",
        ["stage", "in", "kept", "dropped because"],
        [
            [stage["stage"], stage["in"], stage["kept"],
             "; ".join(f"{why} ({n})" for why, n in stage["reasons"].items()) or None]
            for stage in told["stages"]
        ],
    )  # fmt: skip
    share, echoes = told["cooperative_share"], told["echoes"]
    say(
        f"cooperative: {_percent(share['before'])} of what was collected, {_percent(share['after'])} of the corpus; "
        f"{echoes['forward_terms_that_echo_the_prompt']} of {echoes['forward_terms']} forward terms echo the prompt"
    )
    if matching := told.get("matching"):
        say(f"matched {matching['matched']} of {matching['wanted']}; {_reasons(matching['reasons'])}")
    for row in told.get("agreement", ()):
        kappa = "undefined" if row["kappa"] is None else f"{row['kappa']:.2f}"
        say(
            f"judges on {row['score']}: same {_percent(row['same'])}, within one {_percent(row['within_one'])}, "
            f"kappa at {row['threshold']} {kappa} ({row['traces']} replies)"
        )


def _reasons(reasons: dict[str, int]) -> str:
    return "; ".join(f"{why}: {n}" for why, n in reasons.items()) or "no shortfall"


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _forecast(probing: Probing, arm: Any, rules: Any, json: bool) -> None:
    found = probing.forecast(arm, rules)
    if json:
        keep = ("calls", "tokens_in", "tokens_out", "usd", "budget")
        told = [
            {"run": plan.run.name, "replies": len(plan.corpus), "due": bound.matches,
             **{k: v for k, v in forecast_data(bound, plan.budget).items() if k in keep}}
            for plan, bound in found
        ]  # fmt: skip
        print_json({"arm": arm, "scoring": told})
        return
    for plan, bound in found:
        counted = {"replies": len(plan.corpus), "scores due": bound.matches}
        print_forecast(f"{plan.run.name}/{plan.name}", counted, bound, plan.budget)
    if not found:
        say("no reply is left to score")
