"""`ostrom more completion`: a script for a shell that completes commands, options, built-in studies and runs.

The script is written out whole, from the commands themselves: completing starts no Python.
"""

from typing import Annotated, Any

import typer

from ostrom.cli.output import Output
from ostrom.ground.commands import MORE, every_command, group_of

SHELLS = ("bash", "zsh", "fish")


def completion(
    shell: Annotated[str, typer.Argument(help="bash | zsh | fish")],
) -> object:
    """Print a completion script for bash, zsh or fish.

    Load it with `source <(ostrom more completion bash)`, or for fish `ostrom more completion fish | source`.
    """
    from ostrom.ground.errors import UsageError

    if shell not in SHELLS:
        raise UsageError(
            f"completion {shell}: there is no script for that shell (allowed: {', '.join(SHELLS)})"
        )
    tree = {words: parts[-1].params for words, parts in every_command().items()}
    script = _fish(tree) if shell == "fish" else _bash(tree, zsh=shell == "zsh")
    return Output({"shell": shell, "script": script}, [script])


def _options(parameters: list[Any]) -> list[str]:
    return [flag for p in parameters for flag in (*p.opts, *p.secondary_opts) if flag.startswith("--")]


def _first(parameters: list[Any]) -> str | None:
    """What the first argument of a command names."""
    names = [p.name for p in parameters if p.param_type_name == "argument"]
    return names[0] if names and names[0] in ("run", "study") else None


def _studies() -> list[str]:
    from ostrom.studies.files import builtin_names

    return builtin_names()


def _levels(tree: dict[str, list[Any]]) -> tuple[list[str], list[str]]:
    """The commands that `ostrom` completes, and those that `ostrom more` does."""
    names = sorted({name.partition(" ")[0] for name in tree})
    further = [name for name in names if group_of(name) == MORE]
    return [*(name for name in names if name not in further), MORE], further


def _bash(tree: dict[str, list[Any]], *, zsh: bool) -> str:
    top, further = _levels(tree)
    groups = sorted({name.partition(" ")[0] for name in tree if " " in name})
    cases = []
    for name, parameters in tree.items():
        words = " ".join(_options(parameters))
        first = {"study": '"$studies"', "run": '"$runs"', None: '""'}[_first(parameters)]
        cases.append(f'    "{name}") options="{words} --help"; names={first} ;;')
    for group in groups:
        inner = " ".join(sorted(n.partition(" ")[2] for n in tree if n.startswith(f"{group} ")))
        cases.append(f'    "{group} "*|"{group}") options="--help"; names="{inner}" ;;')
    head = ["#compdef ostrom", "autoload -U +X bashcompinit && bashcompinit"] if zsh else []
    return "\n".join(
        [
            *head,
            "_ostrom() {",
            '  local word="${COMP_WORDS[COMP_CWORD]}" command="" second="" options="" names="" more="" i',
            f'  local studies="{" ".join(_studies())}"',
            '  local runs="$(ls "${OSTROM_RUNS:-runs}" 2>/dev/null)"',
            "  for ((i = 1; i < COMP_CWORD; i++)); do",
            f'    case "${{COMP_WORDS[i]}}" in -*) ;; {MORE}) [ -z "$command" ] && more=1 ;; '
            '*) if [ -z "$command" ]; then command="${COMP_WORDS[i]}";'
            ' elif [ -z "$second" ]; then second="${COMP_WORDS[i]}"; fi ;; esac',
            "  done",
            f'  case " {" ".join(groups)} " in *" $command "*) [ -n "$second" ] && command="$command $second" ;; esac',
            '  case "$command" in',
            f'    "") options="--help --version --verbose --log-file"; names="{" ".join(top)}"',
            f'        [ -n "$more" ] && options="--help" names="{" ".join(further)}" ;;',
            *cases,
            "  esac",
            '  case "$word" in',
            '    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;',
            '    *) COMPREPLY=($(compgen -W "$names" -- "$word")) ;;',
            "  esac",
            "}",
            "complete -o default -F _ostrom ostrom",
        ]
    )


def _fish(tree: dict[str, list[Any]]) -> str:
    top, further = _levels(tree)
    lines = [f"complete -c ostrom -f -n __fish_use_subcommand -a {name}" for name in top]
    lines += [f"complete -c ostrom -f -n '__fish_seen_subcommand_from {MORE}' -a {name}" for name in further]
    for name, parameters in tree.items():
        first, _, second = name.partition(" ")
        seen = f"__fish_seen_subcommand_from {first}"
        if second:
            lines.append(f"complete -c ostrom -f -n '{seen}' -a {second}")
            seen += f"; and __fish_seen_subcommand_from {second}"
        if _first(parameters) == "study":
            lines.append(f"complete -c ostrom -n '{seen}' -a '{' '.join(_studies())}'")
        if _first(parameters) == "run":
            lines.append(f"complete -c ostrom -n '{seen}' -a '(ls runs 2>/dev/null)'")
        for parameter in parameters:
            for flag in (*parameter.opts, *parameter.secondary_opts):
                if flag.startswith("--"):
                    what = (parameter.help or "").replace("'", "").replace("\\", "")
                    lines.append(f"complete -c ostrom -n '{seen}' -l {flag[2:]} -d '{what}'")
    return "\n".join(dict.fromkeys(lines))
