"""Hints for common wrong guesses on the command line: commands, options and arguments of other tools."""

from typing import Any

from ostrom.ground.commands import command_line_name, command_names
from ostrom.ground.errors import nearest

BEGIN = "`ostrom new study NAME` writes a study to begin with; `ostrom list studies` names built-in ones"
PLAY = "`ostrom run STUDY --model PROVIDER/MODEL` plays a study (`ostrom list studies`)"
FIGURES = "`ostrom estimate RUN MEASURE` gives figures, `ostrom report RUN` writes a page with all of them"
CHARTS = "`ostrom report RUN` draws the charts of a run (report/figures: SVG and PNG)"
LISTED = "`ostrom list studies` (or games, strategies, measures, models, runs)"
RUNS = "`ostrom list runs` says how far every run is; `ostrom view` shows them in a browser"
COST = "`ostrom run STUDY --dry-run` says what it takes: matches, calls, tokens and money"
KEYS = "keys come from the environment, such as OPENAI_API_KEY; `ostrom models check MODEL` tries one"
SINGLE = "`ostrom transcript RUN --match 0` shows a match, `ostrom view` all of them"
PACKAGE = "`pip install --upgrade ostrom` installs the newest version, `ostrom --version` prints this one"

COMMANDS = {
    BEGIN: "init create start begin make generate scaffold template study tutorial demo quickstart example examples",
    PLAY: "play-study playstudy exec execute launch simulate experiment go eval benchmark",
    FIGURES: "result results stats statistics summary summarise summarize analyse analyze analysis mean measure score",
    CHARTS: "plot plots chart charts graph figure figures draw visualise visualize",
    LISTED: "ls dir games studies strategies memories mechanisms measures parts catalog catalogue search find",
    RUNS: "status runs progress ps top history jobs queue",
    COST: "cost costs price forecast dry-run dryrun dry_run budget",
    KEYS: "login logout auth key keys config configure settings setup",
    SINGLE: "log logs trace match matches replay inspect reasoning",
    PACKAGE: "install upgrade update version",
    "`ostrom resume RUN` goes on with a run": "continue restart retry rerun go-on",
    "`ostrom validate FILE` checks a study or any other file": "check lint verify test-study doctor",
    "`ostrom export RUN` writes its tables": "download csv dump save data table tables",
    "`ostrom view` shows runs in a browser": "open ui web browse dashboard gui show-run explore",
    "`ostrom show KIND NAME` shows one part: `ostrom show game chicken`": "describe info cat print explain about",
    "`ostrom test RUN MEASURE --factor COLUMN` tests a difference": "ttest t-test anova significance pvalue contrast",
    "`ostrom compare NEW OLD` compares two runs": "diff versus vs",
    "`ostrom serve STUDY` serves a study with people": "server host deploy participants humans",
    "a run is a folder in runs/: delete it there": "rm delete remove clean clear reset",
    "`ostrom models check MODEL` makes one call; `ostrom models list` names providers": "model ping providers",
}
"""Hints by guessed commands."""
GUESSED = {guess: answer for answer, guesses in COMMANDS.items() for guess in guesses.split()}

OPTIONS = {
    "--model MODEL, once for each model": "-m --models --llm --provider --engine --agent",
    "--seeds NUMBER: how many replicates": "-n --seed -s --n --repeats --repetitions --replicates --reps --num-seeds",
    "--name NAME: the name of the run": "-o --output --run --run-name --output-dir --out --id",
    "--runs FOLDER: the folder of all runs": "--runs-dir --dir --folder --root",
    "--set KEY=VALUE, such as --set agent.params.temperature=0": "-t --temperature --temp --max-tokens --top-p --param",
    "--set mechanism.rounds=10": "-r --rounds --n-rounds --turns --iterations",
    "--set game=NAME": "-g --game --games",
    "--set agent.memory=window:2": "--memory --window",
    "--set agent.style=direct": "--style --prompt-style --cot",
    "--preset NAME, such as --preset small": "--size --smoke --small --quick --fast",
    "--budget-usd NUMBER (or --budget-calls, --budget-tokens)": "--budget --max-cost --max-usd --cost",
    "--dry-run: say what it takes and play nothing": "--dryrun --dry --estimate --forecast --plan",
    "--max-connections NUMBER: calls in flight": "-j --jobs --parallel --threads --concurrency --batch-size",
    "keys come from the environment, such as OPENAI_API_KEY": "-k --api-key --key --token",
    "a model may be an address: --model http://HOST:PORT/v1#MODEL": "--base-url --url --endpoint --host --api-base",
    "`ostrom resume RUN` goes on with a run": "--resume --continue --restart",
    "--where CONDITION, such as --where game=chicken": "--filter --only --subset --select",
    "--by COLUMNS, separated by commas": "--group-by --groupby --split --per --facet",
    "--contrast FACTOR=A-B": "--diff --difference --versus --vs",
    "--level NUMBER, such as --level 0.9": "--confidence --ci --alpha --conf",
    "--json prints JSON": "--format --as-json -f",
    "--factor COLUMN": "--group --between",
}  # fmt: skip
"""Hints by guessed options; the first word of a hint must be an option of the command."""
INSTEAD = {guess: answer for answer, guesses in OPTIONS.items() for guess in guesses.split()}

ARGUMENTS = {
    "study": "name a study: a file of yours (`ostrom new study NAME` writes one) or a built-in (`ostrom list studies`)",
    "run": "name a run (`ostrom list runs`)",
    "arguments": "name a run (`ostrom list runs`) and then a measure (`ostrom list measures`)",
    "name": "give it a name, such as `ostrom new study my_study` or `ostrom show game chicken`",
    "kind": "name a kind (the command with --help lists them)",
    "game": "name a game (`ostrom list games`)",
    "factor": "say with --factor which column is compared; `ostrom report RUN` names the factors of a run",
    "gates": "name the file of statements with --gates FILE (docs/gates.md)",
    "model": "name a model with --model PROVIDER/MODEL (`ostrom models list`)",
}
"""Hints for missing arguments or required options."""


def unknown_command(name: str) -> str:
    """Return the hint for an unknown command.

    >>> unknown_command("ls")
    "there is no command 'ls': `ostrom list studies` (or games, strategies, measures, models, runs)"
    >>> unknown_command("estimat")
    "there is no command 'estimat': did you mean `ostrom estimate`?"
    """
    answer = GUESSED.get(name.lower())
    if answer is None and name.endswith((".yaml", ".yml")):
        answer = f"`ostrom run {name}` plays a study file, `ostrom validate {name}` checks any file"
    if answer is None and (near := nearest(name, command_names())) is not None:
        answer = f"did you mean `ostrom {command_line_name(near)}`?"
    usual = GUESSED.get(nearest(name, GUESSED) or "", "`ostrom --help` lists the commands")
    return f"there is no command {name!r}: {answer or usual}"


def wrong_option(error: Exception) -> str | None:
    """Return one line for a parser error: the right option or argument, or what is wrong.

    None for any other error: the parser is not imported here, its errors are known by their names.
    """
    kind, context = type(error).__name__, getattr(error, "ctx", None)
    message: Any = getattr(error, "format_message", None)
    if context is None or message is None or kind == "NoArgsIsHelpError":
        return None
    path = context.command_path.removeprefix("ostrom ")
    more = f"`ostrom {path} --help`"
    parameter: Any = getattr(error, "param", None)
    if kind == "MissingParameter" and (answer := ARGUMENTS.get(getattr(parameter, "name", None) or "")):
        argument = parameter.param_type_name == "argument"
        written = parameter.metavar if argument else max(parameter.opts, key=len)
        return f"{path}: {written} is missing: {answer}; {more} says more"
    if kind != "NoSuchOption":
        text = str(message())
        return f"{path}: {text[:1].lower()}{text[1:].rstrip('.')}; {more} says more"
    option = str(getattr(error, "option_name", ""))
    flags = [flag for p in context.command.params for flag in (*p.opts, *p.secondary_opts) if flag.startswith("--")]
    return f"{path}: there is no option {option}{_instead(option, flags)} ({more} lists them)"


def _instead(option: str, flags: list[str]) -> str:
    answer = INSTEAD.get(option.lower())
    if answer is not None and (not answer.startswith("--") or answer.split()[0].rstrip(":,") in flags):
        return f": {answer}" if not answer.startswith("--") else f": write {answer}"
    near = nearest(option, flags)
    return f", did you mean {near}?" if near else ""
