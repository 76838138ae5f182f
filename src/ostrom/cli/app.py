"""All commands in one place; each lives in a file of its own and is imported when it is called."""

from __future__ import annotations

from pathlib import Path

import typer

from ostrom.cli.commands import catalog
from ostrom.cli.commands import completion as completing
from ostrom.cli.commands import estimate as estimating
from ostrom.cli.commands import models as model_commands
from ostrom.cli.commands import resume as resuming
from ostrom.cli.commands import run as running
from ostrom.cli.commands import validate as validating
from ostrom.features.authoring import command as authoring
from ostrom.features.batches import command as batching
from ostrom.features.branching import command as counterfactual
from ostrom.features.comparing import command as comparing
from ostrom.features.evolution import command as evolving
from ostrom.features.exporting import command as data
from ostrom.features.gates import command as gating
from ostrom.features.importing import command as importing
from ostrom.features.inference import command as inferring
from ostrom.features.judging import command as judging
from ostrom.features.observing import command as observing
from ostrom.features.play import command as playing
from ostrom.features.power import command as powering
from ostrom.features.profile import command as profiling
from ostrom.features.robustness import command as robust
from ostrom.features.transcript import command as transcribing
from ostrom.features.trees import command as trees
from ostrom.ground.terminal import write
from ostrom.ground.version import __version__
from ostrom.people import commands as peopling
from ostrom.people import pilot_command as piloting
from ostrom.people import serve_command as serving
from ostrom.probe import corpus_command as probing
from ostrom.probe import regress_command as regressing
from ostrom.probe import train_command as training
from ostrom.view import bundle_command as bundling
from ostrom.view import command as viewing

app = typer.Typer(
    name="ostrom",
    help="A laboratory for cooperation between language-model agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
models = typer.Typer(help="Language models: check one, fetch the embedded ones.", no_args_is_help=True)
view = typer.Typer(
    help="Runs in a browser, live; `view bundle`: a static copy of one.", cls=bundling.ViewGroup
)

app.command("run")(running.run)
app.command("resume")(resuming.resume)
app.command("batches")(batching.batches)
app.command("serve")(serving.serve)
app.command("list")(catalog.list_parts)
app.command("show")(catalog.show)
app.command("validate")(validating.validate_file)
app.command("export")(data.export)
app.command("report")(data.report)
app.command("transcript")(transcribing.transcript)
app.command("estimate")(estimating.estimate)
app.command("test")(estimating.test)
app.command("gate")(gating.gate)
app.command("power")(powering.power)
app.command("profile")(profiling.profile)
app.command("robustness")(robust.robustness)
app.command("infer")(inferring.infer)
app.command("import")(importing.import_files)
app.command("play")(playing.play)
app.command("tree")(trees.tree)
app.command("pilot")(piloting.pilot)
app.command("evolve")(evolving.evolve)
app.command("judge")(judging.judge)
app.command("corpus")(probing.corpus)
app.command("train")(training.train)
app.command("regress")(regressing.regress)
app.command("author")(authoring.author)
app.command("compare")(comparing.compare)
app.command("traces")(comparing.traces)
app.command("observe")(observing.observe)
app.command("branch")(counterfactual.branch)
app.command("attribute")(counterfactual.attribute)
app.command("completion")(completing.completion)
models.command("check")(model_commands.check)
models.command("fetch")(model_commands.fetch)
models.command("list")(model_commands.list_models)
view.command("pages")(viewing.view)
view.command("bundle")(bundling.bundle)
app.add_typer(view, name="view")
app.add_typer(models, name="models")
app.add_typer(peopling.people, name="people")


def _version(show: bool) -> None:
    if show:
        write(f"ostrom {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(  # noqa: ARG001
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
    verbose: int = typer.Option(
        0, "--verbose", "-v", count=True, help="Log retries and limits on stderr; -vv: every call."
    ),
    log_file: Path | None = typer.Option(
        None, "--log-file", help="Write the log, every call in it, to this file."
    ),
) -> None:
    """A laboratory for cooperation between language-model agents."""
    if verbose or log_file is not None:
        from ostrom.cli.logs import set_up

        set_up(verbose, log_file)
