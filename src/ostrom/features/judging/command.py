"""`ostrom more judge`: label the motives in the reasoning of a run's players."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.ending import ask_models, exit_code, forecast_data, forecast_text, spent_data, trouble
from ostrom.cli.options import BUDGET, DryRun, PlayOptions, RunName, Runs, standing_of, with_play_options
from ostrom.cli.output import Output, TextItem, TextTable
from ostrom.engine.folder import check_name
from ostrom.engine.runner import Result
from ostrom.features.judging import load_motives
from ostrom.features.judging.judgements import (
    NONE,
    JudgedCorpus,
    agreements,
    corpus_of,
    dependences,
    motive_shares,
    same_sets,
)
from ostrom.features.judging.plan import (
    JudgePlan,
    collect,
    corpus_name,
    judged_rows,
    judges_of,
    read_corpus,
    write_judged,
)
from ostrom.ground.words import how_many
from ostrom.studies.run import open_run


@with_play_options(*BUDGET, "max_connections", "prompts", "prices", "runs", "batch", "allow_key")
def judge(
    run: RunName,
    model: Annotated[str, typer.Option(help="The judge: provider/model or http://host:port/v1#model")],
    second_model: Annotated[
        str | None, typer.Option(help="A second judge, whose agreement with the first is measured.")
    ] = None,
    passes: Annotated[
        int, typer.Option(help="Ask one judge so many times; even passes list the motives backwards.", min=1)
    ] = 1,
    limit: Annotated[int | None, typer.Option(help="Judge at most so many decisions now.", min=1)] = None,
    name: Annotated[
        str | None, typer.Option(help="The name of the judged corpus (default: that of its judges).")
    ] = None,
    motives: Annotated[Path | None, typer.Option(help="A file with other motives (YAML).")] = None,
    by: Annotated[str, typer.Option(help="Factors whose levels are compared.")] = "mechanism,model,game",
    shortest: Annotated[int, typer.Option(help="Judge replies of at least so many characters.", min=1)] = 80,
    retries: Annotated[int, typer.Option(help="Ask again so often after an unreadable answer.", min=0)] = 3,
    invalid: Annotated[
        str, typer.Option(help="Then: fail (asked again when judging goes on) | skip-match (never again).")
    ] = "fail",
    max_tokens: Annotated[int, typer.Option(help="The longest answer of a judge.", min=1)] = 1000,
    options: PlayOptions = PlayOptions(),
    runs: Runs = Path("runs"),
    dry_run: DryRun = False,
) -> Output:
    """Label the motives in the reasoning of a run.

    Every reasoned play decision is judged; the same command goes on.

    Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    judges = judges_of(model, second_model, passes)
    labels = load_motives(motives)
    called = check_name(f"judge-{name or corpus_name(judges)}")
    factors = [factor.strip() for factor in by.split(",") if factor.strip()]
    with open_run(run, runs) as source:
        folder = source.folder.path / called
        plan = JudgePlan(
            source, called, judges, labels, collect(source, read_corpus(folder), shortest),
            prompts=options.prompts, retries=retries, policy=invalid, max_tokens=max_tokens, shortest=shortest,
            budget=options.budget,
        )  # fmt: skip
        options = replace(options, limit=None if limit is None else limit * len(judges))
        if dry_run:
            return _forecast(plan, options, folder)
        result = ask_models(plan, options)
        with plan.folder.open_journal() as journal:
            rows = list(judged_rows(plan, journal))
        table = write_judged(rows, plan, folder)
        corpus = corpus_of(plan.resolved(), rows)
        registered = standing_of(source)
    report = _report(corpus, factors, result, len(plan.corpus), table)
    return Output(
        report,
        _text(corpus, report),
        [*_ending(report), *trouble(result, " and asks again what failed")],
        exit_code(result),
        registered,
    )


def _forecast(plan: JudgePlan, options: PlayOptions, folder: Path) -> Output:
    bound, batch = plan.forecast(options.rates, options.limit), bool(options.batch)
    decisions, judgements = how_many(len(plan.corpus), "decision"), how_many(len(plan), "judgement")
    size = f"{decisions}, {judgements}, {bound.matches:,} due now"
    cost = forecast_data(bound, plan.budget, batch=batch)
    return Output(
        {
            "corpus": str(folder),
            "decisions": len(plan.corpus),
            "judgements": {"planned": len(plan), "due": bound.matches},
            **{k: v for k, v in cost.items() if k not in ("cells", "matches", "designs", "decisions")},
        },
        forecast_text(folder.name, size, bound, plan.budget, batch=batch),
    )


def _report(corpus: JudgedCorpus, factors: list[str], result: Result, decisions: int, table: Path) -> dict[str, Any]:

    tally = result.tally
    judges = [judge for judge in corpus.judges if corpus.judged(judge)]
    return {
        "corpus": str(table.parent),
        "table": str(table),
        "complete": result.complete,
        "why": result.why,
        "decisions": decisions,
        "judgements": {
            "planned": tally.matches,
            "done": len(corpus.judged()),
            "without_labels": corpus.failed,
            "self_judged": corpus.self_judged,
        },
        "judges": list(corpus.judges),
        **spent_data(tally),
        "shares": [s.as_dict() for j in judges for f in factors for s in motive_shares(corpus, f, j)],
        "tests": [test for j in judges for f in factors for test in dependences(corpus, f, j)],
        "agreement": agreements(corpus),
        "same_labels": same_sets(corpus),
    }


def _text(corpus: JudgedCorpus, report: dict[str, Any]) -> Iterator[TextItem]:
    first = corpus.judges[0]
    titles = {**{motive.name: motive.title for motive in corpus.motives}, NONE: "(none of them)"}
    for factor in dict.fromkeys(share["factor"] for share in report["shares"]):
        shares = [s for s in report["shares"] if s["factor"] == factor and s["judge"] == first]
        tests = {t["motive"]: t for t in report["tests"] if t["factor"] == factor and t["judge"] == first}
        levels = list(dict.fromkeys(s["level"] for s in shares))
        by_level = {(s["motive"], s["level"]): s["share"] for s in shares}
        yield TextTable(
            f"Share of decisions by {factor}, judged by {first}",
            ["motive", *levels, "Cramer's V", "p (Holm)"],
            [
                [title, *(by_level[name, level] for level in levels), tests[name]["cramers_v"], tests[name]["p_holm"]]
                for name, title in titles.items()
            ],
        )
    if report["agreement"]:
        yield TextTable(
            f"Agreement of {' and '.join(corpus.judges[:2])}",
            ["motive", "decisions", *corpus.judges[:2], "kappa", "95 % CI"],
            [
                [
                    titles.get(a["motive"], a["motive"]), a["decisions"], a["first"], a["second"],
                    a["kappa"] if a["why"] is None else a["why"],
                    None if a["ci"] is None else f"{a['ci'][0]:.2f} to {a['ci'][1]:.2f}",
                ]
                for a in report["agreement"]
            ],
        )  # fmt: skip


def _ending(report: dict[str, Any]) -> Iterator[str]:
    counts = report["judgements"]
    yield (
        f"{counts['done']} of {counts['planned']} judgements of {report['decisions']} decisions; "
        f"{counts['without_labels']} without labels; {report['calls']} calls, "
        f"{report['unreadable_replies']} unreadable replies"
    )
    if counts["self_judged"]:
        yield (
            f"mind: {counts['self_judged']} of {counts['done']} judgements are by the model that played "
            "(self_judged in the table)"
        )
    yield f"table: {report['table']}"
