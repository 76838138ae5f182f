"""Commands by name: ours in a table, those of other packages by entry point.

A command is a function whose parameters Typer reads, or a group of them (``typer.Typer``). One that returns an
``Output`` (``ostrom.ground.results``) has the option ``--json``, and the frame prints what it returns.

Another distribution adds one in its pyproject.toml, and it is a command of `ostrom` and a function of
``ostrom.commands``::

    [project.entry-points."ostrom.commands"]
    tally = "my_package.tally:tally"

Commands have a group, by which `ostrom --help` lists them; those of the group ``more`` are called `ostrom more NAME`.
One of another package says its group by an attribute (``tally.group = "Ask"``), and belongs to ``more`` without one.

The table holds where ours are and the first line of what they say of themselves, so that `ostrom --help` imports none.
"""

from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from inspect import signature
from typing import Any

from ostrom.ground.errors import OstromError, StudyError
from ostrom.ground.registry import Registry
from ostrom.ground.results import Output
from ostrom.ground.terminal import want_json

GROUPED: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "new": ("ostrom.features.new.command:new", "Write a file to begin with: a study, a game, a memory, ..."),
        "run": ("ostrom.cli.commands.run:run", "Play a study against models; the same command goes on with it."),
        "resume": ("ostrom.cli.commands.run:resume", "Go on with a run where it stopped."),
        "view": ("ostrom.view.commands:view", "Look at runs in a browser, live."),
        "report": (
            "ostrom.features.reporting.command:report",
            "Write the report of a run: one HTML page that opens offline.",
        ),
        "validate": (
            "ostrom.cli.commands.validate:validate_file",
            "Before playing: is this file right, and what will it take?",
        ),
    },
    "Ask": {
        "estimate": ("ostrom.cli.commands.estimate:estimate", "Estimate a measure: a mean, a difference or a slope."),
        "test": (
            "ostrom.cli.commands.estimate:test",
            "Does a measure differ between the levels of a factor? A p-value.",
        ),
        "compare": (
            "ostrom.features.comparing.command:compare",
            "Compare a run with published figures, or with another run.",
        ),
        "pool": ("ostrom.features.pooling.command:pool", "Pool runs of one study by several labs: a mean over labs."),
        "gate": ("ostrom.features.gates.command:gate", "Is a model good enough? Statements: pass, fail or undecided."),
        "power": ("ostrom.features.power.command:power", "Say how many seeds a study needs to find a difference."),
        "register": (
            "ostrom.features.registering.command:register",
            "Register what will be played and tested, before it is played.",
        ),
        "replicate": (
            "ostrom.features.replicate.command:replicate",
            "Replicate a paper: one page with a verdict for every claim.",
        ),
    },
    "People": {
        "serve": ("ostrom.people.commands:serve", "Serve a study with people in their browsers."),
        "pilot": ("ostrom.people.commands:pilot", "Let simulated participants through a study with people."),
        "people": ("ostrom.people.commands:people", "Manage who took part: list, links, close, bonuses, erase, audit."),
    },
    "Look": {
        "list": (
            "ostrom.cli.commands.catalog:list_parts",
            "List what can be used by name: studies, games, measures, ...",
        ),
        "show": ("ostrom.cli.commands.catalog:show", "Show one part in full: a study, a game, a strategy, ..."),
        "transcript": (
            "ostrom.features.transcript.command:transcript",
            "Show a match as it was said: every prompt and every reply.",
        ),
        "play": ("ostrom.features.play.command:play", "Play a game yourself."),
        "seat": ("ostrom.features.seats.command:seat", "Let an agent outside play a seat of a study, through MCP."),
        "models": ("ostrom.cli.commands.models:models", "Language models: check one, list them, fetch embedded ones."),
    },
    "Files": {
        "import": (
            "ostrom.features.importing.command:import_files",
            "Read matches that were played elsewhere into a run.",
        ),
        "export": ("ostrom.features.exporting.command:export", "Write a run as files for other tools."),
        "join": (
            "ostrom.features.joining.command:join",
            "Make one run of shards that were played on several machines.",
        ),
        "check": (
            "ostrom.features.checking.command:check",
            "After playing: is this run intact? Every seal, every match.",
        ),
    },
    "more": {
        "judge": ("ostrom.features.judging.command:judge", "Label the motives in the reasoning of a run."),
        "traces": ("ostrom.features.words.command:traces", "Count the words of reasoning traces."),
        "infer": ("ostrom.features.inference.command:infer", "Estimate which strategies the agents of a run followed."),
        "evolve": (
            "ostrom.features.evolution.command:evolve",
            "Let agent types evolve on the payoffs of a tournament.",
        ),
        "branch": (
            "ostrom.features.branching.command:branch",
            "Play on from a round of a finished match as a new run.",
        ),
        "attribute": (
            "ostrom.features.attribution.command:attribute",
            "Say how much each remembered round moved a decision.",
        ),
        "observe": (
            "ostrom.features.observing.command:observe",
            "Show models the matches of a run and ask what happens next.",
        ),
        "robustness": ("ostrom.features.robustness.command:robustness", "Say which conclusions hold in every framing."),
        "profile": (
            "ostrom.features.profile.command:profile",
            "Profile models: play a battery of studies, a page per model.",
        ),
        "corpus": ("ostrom.probe.commands:corpus", "Select reasoning traces for fine-tuning."),
        "train": ("ostrom.probe.commands:train", "Train an adapter on selected traces."),
        "regress": ("ostrom.probe.commands:regress", "Ask the base model and the adapter the same questions."),
        "author": (
            "ostrom.features.authoring.command:author",
            "Write stories for games and have another model read them.",
        ),
        "tree": ("ostrom.features.trees.command:tree", "Ask every answer of a precomputed player beforehand."),
        "batches": (
            "ostrom.features.batches.command:batches",
            "List the batches of a run; cancel or give up those under way.",
        ),
        "openenv": ("ostrom.features.environments.command:openenv", "Serve a study as an OpenEnv environment."),
    },
}
"""The module and first help line of each command, by group, in the order of `ostrom --help`."""
MORE = "more"
"""The group of commands called as `ostrom more NAME`."""
OURS: dict[str, tuple[str, str]] = {name: entry for entries in GROUPED.values() for name, entry in entries.items()}
"""All of our commands by name."""

commands: Registry[Any] = Registry(
    "command", None, "COMMAND", "ostrom.commands", table={name: place for name, (place, _) in OURS.items()}
)


def command_names() -> list[str]:
    """Every command: ours in their order, then those of other packages."""
    return [*OURS, *(name for name in commands if name not in OURS)]


def group_of(name: str) -> str:
    """Return the group of a command; ``more`` by default."""
    group = next((group for group, entries in GROUPED.items() if name in entries), None)
    with suppress(OstromError):
        group = group or getattr(commands.get(name), "group", MORE)
    return group if group in GROUPED else MORE


def command_line_name(name: str) -> str:
    """Return a command's name on the command line, after `ostrom`.

    >>> command_line_name("run"), command_line_name("judge")
    ('run', 'more judge')
    """
    return f"{MORE} {name}" if group_of(name.partition(" ")[0]) == MORE else name


def first_line(name: str) -> str:
    """Return a command's one-line help; if its package is broken, the reason."""
    if name in OURS:
        return OURS[name][1]
    try:
        return str(click_command(name).help or "").partition("\n")[0]
    except OstromError as error:
        return str(error)


def click_command(name: str) -> Any:
    """Return a command as Typer's parser has it, cached."""
    return _built(name, commands.get(name))


def parts_of(name: str) -> dict[str, tuple[Any, ...]]:
    """Return a command or those of a group: the words that call it, and the parser's objects on the way."""
    part = click_command(name)
    inner = getattr(part, "commands", None)
    return {name: (part,)} if inner is None else {f"{name} {sub}": (part, inner[sub]) for sub in inner}


def every_command() -> dict[str, tuple[Any, ...]]:
    """Return all commands by the words that call them; those of broken packages are left out."""
    entries: dict[str, tuple[Any, ...]] = {}
    for name in command_names():
        with suppress(OstromError):
            entries.update(parts_of(name))
    return entries


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
    return _worded(tree.commands[name])


COLUMNS = {"by": "COLUMNS", "balance": "COLUMNS", "cluster": "COLUMNS", "over": "COLUMN", "factor": "COLUMN"}
PLACEHOLDERS = COLUMNS | {"set": "KEY=VALUE", "where": "CONDITION", "as": "NAME"}
"""Placeholders for option values whose own name is unclear."""
FOLDERS = ("runs", "prompts", "lexicons", "out", "corpus", "adapter", "folder")


def _worded(part: Any) -> Any:
    """Return a command whose help names values by words (`--seeds NUMBER`) instead of Python types."""
    for parameter in part.params:
        if parameter.metavar is None:
            parameter.metavar = _placeholder(parameter)
        if parameter.param_type_name == "argument":
            parameter.display_type = lambda ctx: ""  # noqa: ARG005
    returns = signature(part.callback, eval_str=True).return_annotation if part.callback else None
    if getattr(returns, "__origin__", returns) is Output:  # Annotated[Output, "its help"] has an origin
        part.params.append(_json_option(*getattr(returns, "__metadata__", ("Print JSON.",))))
    for inner in getattr(part, "commands", {}).values():
        _worded(inner)
    return part


def _json_option(text: str) -> Any:
    """Return the option ``--json`` as Typer's parser has it."""
    import typer
    from typer.main import get_command

    option = typer.Option(False, "--json", help=text, callback=want_json, expose_value=False)

    def holder(json: bool = option) -> None:
        """Hold the option."""

    frame = typer.Typer(add_completion=False)
    frame.command()(holder)
    return get_command(frame).params[0]


def _placeholder(parameter: Any) -> str:
    flag: str = max(parameter.opts, key=len).lstrip("-")
    if parameter.param_type_name == "argument":
        return flag.upper()
    kind = str(parameter.type_descriptor.annotation)
    if "int" in kind or "float" in kind:
        return "NUMBER"
    if "Path" in kind:
        return "FOLDER" if flag in FOLDERS else "FILE"
    return PLACEHOLDERS.get(flag, flag.upper())


def exposed(command: str, name: str) -> Any:
    """Return a further object of a command's module, for Python."""
    return getattr(import_module(OURS[command][0].partition(":")[0]), name)
