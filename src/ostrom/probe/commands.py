"""`ostrom more corpus`, `train` and `regress`: select traces, train an adapter, see what else it changed."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.ending import exit_code, forecast_data, forecast_text, spent_data, trouble
from ostrom.cli.options import BUDGET, DryRun, PlayOptions, Runs, standing_of, with_play_options
from ostrom.cli.output import Output, Remark, TextItem, TextTable, print_stderr
from ostrom.ground.errors import ModelError, UnknownName, UsageError
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    from ostrom.probe.regression import Item, Regression, ReplyFile
    from ostrom.probe.scores import Probing
    from ostrom.probe.training.trainer import Progress


@with_play_options(*BUDGET, "max_connections", "prompts", "prices", "runs", "allow_key")
def corpus(
    run: Annotated[list[str], typer.Argument(help="Runs whose traces are taken: names or folders.")],
    out: Annotated[Path, typer.Option(help="The folder of the corpus.")],
    judge: Annotated[str, typer.Option(help="Who scores: provider/model, or scripted/lexicon, which counts words.")],
    second_judge: Annotated[
        str | None, typer.Option(help="A second judge: both must agree that a reply passes.")
    ] = None,
    arm: Annotated[str, typer.Option(help="forward | placebo | shuffled")] = "forward",
    sample: Annotated[int, typer.Option(help="Score at most so many replies.", min=1)] = 12_000,
    forward: Annotated[int, typer.Option(help="The least forward score.", min=0, max=10)] = 9,
    quality: Annotated[int, typer.Option(help="The least quality score.", min=0, max=10)] = 9,
    specificity: Annotated[int, typer.Option(help="The least specificity score.", min=0, max=10)] = 7,
    placebo_below: Annotated[int, typer.Option(help="A placebo's forward score is below this.", min=1, max=10)] = 4,
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
) -> Output:
    """Select reasoning traces for fine-tuning.

    Every drop has its reason; the same command goes on.

    Exit code: 0 complete, 1 scores are missing, 2 wrong use, 130 interrupted.
    """
    from ostrom.engine.progress import watch_with
    from ostrom.features.judging.plan import judges_of
    from ostrom.probe.files import agreement, summary, write_corpus
    from ostrom.probe.funnel import ARMS, Rules
    from ostrom.probe.scores import Probing, Unscored, install
    from ostrom.studies.run import open_run

    if arm not in ARMS:
        raise UnknownName("arm", arm, ARMS)
    install()
    judges = judges_of(judge, second_judge)
    rules = Rules(sample, forward, quality, specificity, family, held_out, placebo_below, tuple(leave_out or ()))
    with ExitStack() as stack:
        open_runs = [stack.enter_context(open_run(name, runs)) for name in run]
        probing = Probing(
            open_runs, judges, options.prompts, options.budget, retries, invalid, replace(options, ask_again=True),
            watch_with,
        )  # fmt: skip
        if dry_run:
            return _forecast(probing, arm, rules)
        try:
            selection = probing.corpus(arm, rules)
        except Unscored as error:
            return Output(
                messages=[
                    "the corpus is not written: judges have not scored every reply",
                    *trouble(error.result, " and asks again what failed"),
                ],
                code=exit_code(error.result),
            )
        if not selection.stages[0].kept and not selection.stages[0].dropped:
            raise UsageError(f"{', '.join(run)}: has no finished match with a reply of a model to select from")
        facts = summary(selection, rules, [one.name for one in open_runs], [one.name for one in judges])
        registered = standing_of(*open_runs)
    if agreed := agreement(probing.asked, {"forward": forward, "quality": quality, "specificity": specificity}):
        facts["agreement"] = agreed
    files = write_corpus(out, selection, facts)
    facts["scored_now"] = probing.scored
    document = {
        "corpus": str(out), "written": files, **facts, "spent": [spent_data(one.tally) for one in probing.results],
    }  # fmt: skip
    end = (
        f"{facts['train']} training and {facts['val']} validation examples ({arm}); {facts['scored_now']} replies "
        f"scored now; {out}: {'written' if files else 'already up to date'}"
    )
    nothing = "nothing passed the funnel; drops.jsonl says why, reply by reply"
    return Output(
        document, [*_text(facts), None if selection.examples else Remark(nothing), Remark(end)], standing=registered
    )


def _text(facts: dict[str, Any]) -> list[TextItem]:
    share, echoes, matching = facts["cooperative_share"], facts["echoes"], facts.get("matching")
    return [
        TextTable(
            f"Funnel of the arm {facts['arm']}",
            ["stage", "in", "kept", "published", "dropped because"],
            [
                [stage["stage"], stage["in"], stage["kept"], stage["published"],
                 "; ".join(f"{why} ({n})" for why, n in stage["reasons"].items()) or None]
                for stage in facts["stages"]
            ],
        ),
        Remark(
            f"cooperative: {_percent(share['before'])} of what was collected, {_percent(share['after'])} of the "
            f"corpus; {echoes['forward_terms_that_echo_the_prompt']} of {echoes['forward_terms']} forward terms echo "
            "the prompt"
        ),
        Remark(f"matched {matching['matched']} of {matching['wanted']}; {_reasons(matching['reasons'])}")
        if matching
        else None,
        *(
            Remark(
                f"judges on {row['score']}: same {_percent(row['same'])}, within one {_percent(row['within_one'])}, "
                f"kappa at {row['threshold']} {'undefined' if row['kappa'] is None else format(row['kappa'], '.2f')} "
                f"({row['traces']} replies)"
            )
            for row in facts.get("agreement", ())
        ),
    ]  # fmt: skip


def _reasons(reasons: dict[str, int]) -> str:
    return "; ".join(f"{why}: {n}" for why, n in reasons.items()) or "no shortfall"


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def _forecast(probing: Probing, arm: Any, rules: Any) -> Output:
    forecast = probing.forecast(arm, rules)
    keep = ("calls", "tokens_in", "tokens_out", "usd", "budget")
    scoring = [
        {"run": plan.run.name, "replies": len(plan.corpus), "due": bound.matches,
         **{k: v for k, v in forecast_data(bound, plan.budget).items() if k in keep}}
        for plan, bound in forecast
    ]  # fmt: skip
    text = [
        item
        for plan, bound in forecast
        for item in forecast_text(
            f"{plan.run.name}/{plan.name}",
            f"{how_many(len(plan.corpus), 'reply')}, {how_many(bound.matches, 'score')} due",
            bound,
            plan.budget,
        )
    ]
    return Output({"arm": arm, "scoring": scoring}, text or [Remark("no reply is left to score")])


def train(
    corpus: Annotated[Path, typer.Argument(help="A corpus: the folder that `ostrom more corpus` wrote.")],
    base: Annotated[str, typer.Option(help="embedded/NAME, a GGUF file, or a folder with weights.")],
    out: Annotated[Path, typer.Option(help="The folder of the adapter.")],
    device: Annotated[str, typer.Option(help="auto | cpu | cuda")] = "auto",
    minutes: Annotated[
        float | None, typer.Option(help="Stop cleanly after so many minutes; the same command goes on.", min=0)
    ] = None,
    seed: Annotated[int, typer.Option(help="The training seed.", min=0)] = 0,
    epochs: Annotated[float, typer.Option(help="Times through the corpus.", min=0.01)] = 3.0,
    steps: Annotated[int | None, typer.Option(help="Exactly so many steps instead of epochs.", min=1)] = None,
    batch: Annotated[int, typer.Option(help="Examples per step.", min=1)] = 16,
    micro: Annotated[int, typer.Option(help="Examples in memory at a time.", min=1)] = 2,
    rate: Annotated[float, typer.Option(help="Peak learning rate.", min=1e-8)] = 2e-4,
    rank: Annotated[int, typer.Option(help="Rank of the adapter.", min=1)] = 16,
    alpha: Annotated[int, typer.Option(help="Scale of the adapter.", min=1)] = 32,
    dropout: Annotated[float, typer.Option(help="Dropout before the adapter.", min=0, max=0.9)] = 0.05,
    most_tokens: Annotated[int, typer.Option(help="The longest example.", min=16)] = 3072,
    truncate: Annotated[
        str, typer.Option(help="What a longer example loses: history (oldest rounds) | left (as the paper)")
    ] = "history",
) -> Output:
    """Train an adapter on selected traces.

    The same command goes on after a stop and does nothing when all is done.

    Exit code: 0 complete, 1 stopped by --minutes, 2 wrong use, 130 interrupted.
    """
    from ostrom.probe.training.data import TRUNCATE
    from ostrom.probe.training.lora import Shape
    from ostrom.probe.training.trainer import Schedule, Settings, train_adapter

    if device not in ("auto", "cpu", "cuda"):
        raise UnknownName("device", device, ("auto", "cpu", "cuda"))
    if truncate not in TRUNCATE:
        raise UnknownName("way to truncate", truncate, TRUNCATE)
    schedule = Schedule(epochs=epochs, batch=batch, micro=micro, rate=rate, steps=steps)
    settings = Settings(seed, Shape(rank, alpha, dropout), schedule, most_tokens, truncate)  # type: ignore[arg-type]
    training = train_adapter(corpus, base, out, settings, device=device, minutes=minutes, tell=_tell)
    record, progress, parity = training.record, training.progress, training.parity
    document = {
        "adapter": str(out), "complete": record is not None, "did": list(training.did),
        "parity": None if parity is None else asdict(parity), "step": progress.step, "steps": progress.total,
        "record": record,
    }  # fmt: skip
    if record is None:
        return Output(
            document,
            (),
            [f"stopped after step {progress.step} of {progress.total}; the same command goes on from here"],
            1,
        )
    losses, ppl = record["losses"], record["held_out_perplexity"]
    perplexity = "" if ppl["base"] is None else f"; held-out perplexity {ppl['base']:.2f} to {ppl['adapter']:.2f}"
    lines = [
        f"{out}: {' and '.join(training.did) or 'already complete, nothing to do'}; {record['steps']} steps on "
        f"{record['device']}, loss {losses[0]:.3f} to {losses[-1]:.3f}{perplexity}"
    ]
    if parity is None:
        return Output(document, (), lines)
    lines += [
        f"embedded runtime against the training, four likeliest tokens at {parity.places} places: "
        f"log-probabilities differ by at most {parity.adapter:.3f}; training moved them by up to {parity.moved:.3f}",
        *([] if parity.held else ["mind: more than 0.2; the runtime does not play the adapter that was trained"]),
    ]
    return Output(document, (), lines, int(not parity.held))


def _tell(progress: Progress) -> None:
    if progress.step % 10 == 0 or progress.step in (1, progress.total):
        print_stderr(f"step {progress.step}/{progress.total}  loss {progress.losses[-1]:.4f}")


def regress(
    adapter: Annotated[Path, typer.Argument(help="An adapter: the folder that `ostrom more train` wrote.")],
    model: Annotated[
        str, typer.Option(help="The base model: embedded/NAME, or a model of a server.")
    ] = "embedded/smollm2-135m",
    corpus: Annotated[Path | None, typer.Option(help="Ask prompts of this corpus, held-out ones first.")] = None,
    reasoning_gym: Annotated[
        list[str] | None, typer.Option(help="An exercise of reasoning-gym. May be given several times.")
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            help="A task of lm-eval: gsm8k, triviaqa, humaneval_instruct, mbpp_instruct. May be given several times."
        ),
    ] = None,
    task_folder: Annotated[
        Path | None, typer.Option(help="A folder with tasks of your own for lm-eval, and their Python code.")
    ] = None,
    allow_code_execution: Annotated[
        bool, typer.Option("--allow-code-execution", help="Let lm-eval run code that a model wrote, in no sandbox.")
    ] = False,
    adapter_model: Annotated[
        str | None,
        typer.Option(
            help="The adapter as a model of a server: http://HOST:PORT/v1#NAME (default: loaded on the base)."
        ),
    ] = None,
    items: Annotated[int, typer.Option(help="So many items per task.", min=1)] = 50,
    max_tokens: Annotated[int, typer.Option(help="The longest reply; tasks of lm-eval have their own.", min=1)] = 120,
) -> Output:
    """Ask the base model and the adapter the same questions.

    They are compared in pairs; the same command goes on.
    """
    from ostrom.models import open_model
    from ostrom.probe.lm_eval import program
    from ostrom.probe.regression import ReplyFile, format_items, gym_items

    if not adapter.is_dir():
        raise UsageError(f"{adapter}: is no folder of an adapter (`ostrom more train` writes one)")
    questions = [] if corpus is None else format_items(corpus, items)
    for exercise in reasoning_gym or ():
        questions += gym_items(exercise, items)
    if task:
        program()
    elif not questions:
        raise UsageError("nothing to ask: give --corpus DIR, --reasoning-gym TASK or --task TASK")
    elif task_folder is not None or allow_code_execution:
        raise UsageError("--task-folder and --allow-code-execution belong to --task, which is missing")
    other = open_model(adapter_model) if adapter_model else open_model(model, adapter=str(adapter))
    replies = ReplyFile({"base": open_model(model), "adapter": other}, adapter)
    reports = asyncio.run(
        _regress(replies, questions, max_tokens, task or [], adapter, items, task_folder, allow_code_execution)
    )
    table = TextTable(
        "Base model and adapter on the same items (McNemar, exact)",
        ["task", "items", "base", "adapter", "lost", "gained", "p", "smallest drop that would show"],
        [
            [one.task, c.pairs, c.before, c.after, c.lost, c.gained, c.p,
             "none could" if c.detectable is None else f"{c.detectable} items ({100 * c.detectable / c.pairs:.0f} %)"]
            for one in reports
            for c in [one.compared]
        ],
    )  # fmt: skip
    note = Remark(
        "no difference found is not the absence of one: a smaller drop than the last column could not have shown"
    )
    return Output({"adapter": str(adapter), "tasks": [one.as_dict() for one in reports]}, [table, note])


async def _regress(
    replies: ReplyFile,
    questions: list[Item],
    max_tokens: int,
    tasks: list[str],
    folder: Path,
    items: int,
    include: Path | None,
    run_code: bool,
) -> list[Regression]:
    from ostrom.probe.lm_eval import compare_tasks

    try:
        reports = await replies.compare(questions, max_tokens)
        if tasks:
            reports += await compare_tasks(replies, tasks, folder, items=items, include=include, run_code=run_code)
        return reports
    except ModelError as error:
        raise UsageError(f"stopped: {error}; the same command goes on") from None
    finally:
        await replies.close()
