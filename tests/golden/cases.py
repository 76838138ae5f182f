"""Commands whose output is pinned, by the name of the file that holds it.

A case is one command, or several that follow each other in one folder; ``cat PATTERN`` shows files that they wrote.
``BOTH`` are printed as text and, under the same name with ``-json``, with ``--json``.
"""

from pathlib import Path

import yaml

from ostrom.ground.commands import GROUPED

CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text(encoding="utf-8"))
MORE = "more"
KINDS = (
    "games", "strategies", "mechanisms", "networks", "memories", "styles", "models", "studies", "prompts", "mappings",
    "measures", "charts", "panels", "references", "replications", "runs",
)  # fmt: skip
SHOWN = {
    "game": ("prisoners_dilemma", "public_goods:n=4", "ultimatum", "common_pool", "centipede", "stag_hunt"),
    "strategy": ("tit_for_tat", "random:0.5", "grim", "win_stay_lose_shift"),
    "mechanism": ("repetition", "negotiation", "society", "mediation"),
    "network": ("small_world", "ring"),
    "memory": ("window:2", "full", "summary"),
    "style": ("reasoned", "logprob"),
    "model": ("openai/gpt-4o-mini", "embedded/smollm2-135m"),
    "study": ("memory", "pd-tournament", "sharing", "repeated-games-people"),
    "prompt": ("answers/choice_direct", "mechanisms/negotiation"),
    "mapping": ("repeated-games-pd", "axelrod"),
    "measure": ("cooperation", "score", "survival_time"),
    "chart": ("bars", "dots"),
    "panel": ("control_effects", "cost"),
    "reference": ("commons", "coopeval"),
    "replication": ("memory_curse", "coopeval"),
}

BOTH: dict[str, str] = CASES["both"]

SLOW = frozenset(
    "infer infer-by-json power-from power-within-json power-contrast compare-personas compare-personas-json "
    "compare-memory compare-tournament replicate-dry-run replicate-dry-run-tournaments-json run-report-json "
    "profile-against-json run-dry-run-memory-json compare-mechanisms gate-simultaneous-json "
    "traces-sensitivity-json register-new register-new-json gate-study-json gate-dry-run gate-levels-json "
    "gate-fail-json test-anova-two-json pool-mean-json compare-two-runs-options-json infer-by power-from-json "
    "power-within register-pages".split()
)
"""Cases that take a second or more and whose other form, or a sister, is quick: `make test` leaves them out."""

TEXT: dict[str, tuple[str, ...]] = {name: tuple(many) for name, many in CASES["text"].items()}

KEYED: dict[str, tuple[str, str]] = {
    "play": ("play prisoners_dilemma --against tit_for_tat --rounds 3", "A0\nA1\nwhat\nA0\n"),
    "play-json": ("play prisoners_dilemma --against grim --rounds 2 --json", "A0\nA1\n"),
    "play-amount": ("play ultimatum --against random --rounds 1 --seed 2", "40\n40\nyes\n"),
}
"""Commands with what somebody types."""

ERRORS: dict[str, str] = CASES["errors"]


def commands() -> list[str]:
    """Every command as it is called, those of groups with the name of the group."""
    names = []
    for group, entries in GROUPED.items():
        names += [f"{MORE} {name}" if group == MORE else name for name in entries]
    return names


SUBCOMMANDS = (
    *(f"models {name}" for name in ("check", "fetch", "list")),
    *(f"people plain {name}" for name in ("list", "links", "close", "bonuses", "erase", "withdraw", "audit")),
)
