"""The commands, found by name as every other part is: ours in a table, those of other packages by their entry points.

A command is a function whose parameters Typer reads, or a group of them (``typer.Typer``). Another distribution adds
one in its pyproject.toml, and it is a command of `ostrom` and a function of ``ostrom.commands``::

    [project.entry-points."ostrom.commands"]
    tally = "my_package.tally:tally"

The table holds where ours are and the first line of what they say of themselves, so that `ostrom --help` imports none.
"""

from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any

from ostrom.ground.errors import OstromError, StudyError
from ostrom.ground.registry import Registry

OURS: dict[str, tuple[str, str]] = {
    "new": (
        "ostrom.features.new.command:new",
        "Begin with something of your own: a commented, valid and playable folder in the current one.",
    ),
    "run": (
        "ostrom.cli.commands.run:run",
        "Play a study against models; the same command or `ostrom resume RUN` goes on with it.",
    ),
    "resume": (
        "ostrom.cli.commands.run:resume",
        "Go on with a run where it stopped, with the study and the options that it was begun with.",
    ),
    "batches": (
        "ostrom.features.batches.command:batches",
        "List the batches of a run that was played with --batch; ask for, cancel or give up those under way.",
    ),
    "serve": (
        "ostrom.people.commands:serve",
        "Serve a study with people; the same command goes on after a stop, a crash or a restart.",
    ),
    "list": ("ostrom.cli.commands.catalog:list_parts", "List what can be used by name."),
    "show": ("ostrom.cli.commands.catalog:show", "Show one part in full."),
    "validate": (
        "ostrom.cli.commands.validate:validate_file",
        "Check a file from end to end and say what it is.",
    ),
    "export": (
        "ostrom.features.exporting.command:export",
        "Write a run as files for other tools: tables, Inspect logs, a dataset folder, oTree's wide table.",
    ),
    "report": (
        "ostrom.features.reporting.command:report",
        "Write the report of a run: one HTML page that opens offline, with figures and tables beside it.",
    ),
    "transcript": (
        "ostrom.features.transcript.command:transcript",
        "Show a match as it was said: every prompt, every reply, and how it was read.",
    ),
    "estimate": (
        "ostrom.cli.commands.estimate:estimate",
        "Estimate a measure: its mean, a difference (--contrast) or a slope (--over), with intervals.",
    ),
    "test": (
        "ostrom.cli.commands.estimate:test",
        "Test whether a measure differs between the levels of a factor: any column of the matches.",
    ),
    "gate": (
        "ostrom.features.gates.command:gate",
        "Judge statements about a run by bounds that hold for any distribution; a study is played first.",
    ),
    "power": (
        "ostrom.features.power.command:power",
        "Say how many seeds a study needs to find a difference: its own analysis on simulated values.",
    ),
    "profile": (
        "ostrom.features.profile.command:profile",
        "Profile models: play a battery of studies within a budget and write a page per model, with intervals.",
    ),
    "replicate": (
        "ostrom.features.replicate.command:replicate",
        "Replicate a paper: play its arms, or take runs, and write one page with a verdict for every claim.",
    ),
    "robustness": (
        "ostrom.features.robustness.command:robustness",
        "Decompose the variance of an outcome, and say which conclusions hold in every framing.",
    ),
    "infer": (
        "ostrom.features.inference.command:infer",
        "Estimate shares of strategies and memory-one responses from a run's repeated two-player matches.",
    ),
    "import": (
        "ostrom.features.importing.command:import_files",
        "Read foreign rounds into a run, so that all measures, charts and tests work on them.",
    ),
    "play": ("ostrom.features.play.command:play", "Play a game yourself."),
    "tree": (
        "ostrom.features.trees.command:tree",
        "Ask every answer of the types with `tree: auto`, one per history of the others' moves; shows the cost first.",
    ),
    "pilot": (
        "ostrom.people.commands:pilot",
        "Let simulated participants through the same visit as people, into a run of its own.",
    ),
    "evolve": (
        "ostrom.features.evolution.command:evolve",
        "Let a population of agent types evolve on the payoffs of a tournament.",
    ),
    "judge": (
        "ostrom.features.judging.command:judge",
        "Label the motives of every reasoned play decision of a run; the same command goes on.",
    ),
    "corpus": (
        "ostrom.probe.commands:corpus",
        "Select reasoning traces for fine-tuning, every drop with its reason; the same command goes on.",
    ),
    "train": (
        "ostrom.probe.commands:train",
        "Train an adapter; the same command goes on after a stop and does nothing when all is done.",
    ),
    "regress": (
        "ostrom.probe.commands:regress",
        "Ask the base model and the adapter the same questions and compare them in pairs; the same command goes on.",
    ),
    "author": (
        "ostrom.features.authoring.command:author",
        "Write stories, have another model read them without the table, and keep those that it reads rightly.",
    ),
    "compare": (
        "ostrom.features.comparing.command:compare",
        "Set the figures of a run beside the published ones, or beside those of another run (compare NEW OLD).",
    ),
    "traces": (
        "ostrom.features.words.command:traces",
        "Count the words of reasoning traces: matches, per 1,000 words, ratios, mentions.",
    ),
    "observe": (
        "ostrom.features.observing.command:observe",
        "Show models the matches of a run round by round and ask what happens next; the same command resumes it.",
    ),
    "branch": (
        "ostrom.features.branching.command:branch",
        "Play on from a round of a finished match as a new run; the same command resumes it.",
    ),
    "attribute": (
        "ostrom.features.attribution.command:attribute",
        "Say how much each remembered round moved a decision, by leaving it out or flipping it.",
    ),
    "completion": (
        "ostrom.cli.commands.completion:completion",
        "Print a completion script: `source <(ostrom completion bash)`, or for fish `ostrom completion fish | source`.",
    ),
    "view": ("ostrom.view.commands:view", "Runs in a browser, live; `view bundle`: a static copy of one."),
    "models": ("ostrom.cli.commands.models:models", "Language models: check one, fetch the embedded ones."),
    "people": (
        "ostrom.people.commands:people",
        "People who took part: list, links, close, bonuses, erase, withdraw, audit.",
    ),
}
"""Where each command is and its first line of help, in the order of `ostrom --help`."""

commands: Registry[Any] = Registry(
    "command", None, "COMMAND", "ostrom.commands", table={name: place for name, (place, _) in OURS.items()}
)


def command_names() -> list[str]:
    """Every command: ours in their order, then those of other packages."""
    return [*OURS, *(name for name in commands if name not in OURS)]


def first_line(name: str) -> str:
    """What a command says of itself in one line; where its package is broken, why."""
    if name in OURS:
        return OURS[name][1]
    try:
        return str(built(name).help or "")
    except OstromError as error:
        return str(error)


def built(name: str) -> Any:
    """A command as Typer's parser has it; built once."""
    return _built(name, commands.get(name))


def parts_of(name: str) -> dict[str, tuple[Any, ...]]:
    """A command, or those of a group: the words that call it (``models check``), and the parser's parts on the way."""
    part = built(name)
    inner = getattr(part, "commands", None)
    return {name: (part,)} if inner is None else {f"{name} {sub}": (part, inner[sub]) for sub in inner}


def every_command() -> dict[str, tuple[Any, ...]]:
    """All commands by the words that call them; one whose package is broken is left out."""
    found: dict[str, tuple[Any, ...]] = {}
    for name in command_names():
        with suppress(OstromError):
            found.update(parts_of(name))
    return found


@lru_cache(maxsize=256)
def _built(name: str, part: Any) -> Any:
    import typer
    from typer.main import get_command

    frame = typer.Typer(add_completion=False, rich_markup_mode=None)
    frame.callback()(lambda: None)  # with a callback it stays a group, whatever is in it
    if isinstance(part, typer.Typer):
        frame.add_typer(part, name=name)
    else:
        frame.command(name)(part)
    try:
        tree: Any = get_command(frame)
    except Exception as error:  # a part of another package that is no command
        raise StudyError(f"command {name}: cannot be read by Typer: {error}") from error
    return tree.commands[name]


def exposed(command: str, name: str) -> Any:
    """What the module of a command offers to Python besides the command itself."""
    return getattr(import_module(OURS[command][0].partition(":")[0]), name)
