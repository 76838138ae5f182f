"""Commands, options and formats of earlier versions, each with what to use instead."""

from collections.abc import Sequence

from ostrom.ground.commands import spoken

VERSION = "2.0"
LM_EVAL = "`ostrom more regress ADAPTER --task humaneval_instruct --allow-code-execution` asks lm-eval"
REMOVED = {
    "compare --lower-is-better": "`ostrom compare NEW OLD --better lower` says it",
    "completion": "`ostrom --install-completion` sets up your shell, `ostrom --show-completion` prints the script",
    "export --format registry": "`ostrom estimate FOLDER MEASURE` reads a shared run, `ostrom pool FOLDER ...` several",
    "pilot --browser": "`ostrom pilot` without it tries the study, `ostrom serve STUDY --test` shows its pages",
    "regress --human-eval": LM_EVAL,
    "regress --run-code": LM_EVAL,
}
"""What to use instead, by the command, or by the command with the option, and its value, that is gone."""


def removed(words: Sequence[str]) -> str | None:
    """What to say to a command line that uses what was removed; None where it does not.

    >>> removed(["export", "shared", "--format=registry"]).partition(":")[0]
    '`ostrom export --format registry` was removed in 2.0'
    >>> removed(["export", "shared", "--format=csv"])
    """
    options = f" {' '.join(words[1:])} ".replace("=", " ")
    for key, instead in REMOVED.items():
        command, _, option = key.partition(" ")
        if command == words[0] and f" {option} ".lstrip() in options:
            return f"`ostrom {f'{spoken(command)} {option}'.strip()}` was removed in {VERSION}: {instead}"
    return None
