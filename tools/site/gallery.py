"""Reports for the gallery: real ones, of matches that strategies play while the site is built."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import ostrom

ENTRIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("pd-tournament", "A round robin of strategies and their scores", {"preset": "smoke"}),
    (
        "memory",
        "Cooperation against the length of the visible history; two strategies stand in for models",
        {"preset": "smoke", "set": ["types={tft: tit_for_tat, chance: 'random:0.5'}"], "seeds": 3},
    ),
    (
        "mechanisms",
        "One-shot games under repetition, reputation, mediation and contracts",
        {"preset": "smoke", "set": ["types={reasoner: best_response, kind: cooperator}"]},
    ),
)


def build(out: Path, work: Path) -> str:
    """Play and write all reports under ``out``; gives the page that leads to them."""
    lines = [
        "# Gallery",
        "",
        "Reports as `ostrom report` writes them: one HTML page each that opens offline. Strategies played these",
        "while the site was built, so what they show is how a report looks and not how models behave.",
        "",
    ]
    for name, what, options in ENTRIES:
        run = ostrom.play(name, runs=work / "runs", progress=False, **options)
        page = run.report()
        shutil.copytree(page.parent, out / name, dirs_exist_ok=True)
        picture = min((page.parent / "figures").glob("*.png")).name
        changes = " ".join(f'--set "{change}"' for change in options.get("set", []))
        seeds = f" --seeds {options['seeds']}" if "seeds" in options else ""
        lines += [
            f"## [{name}]({name}/index.html)",
            "",
            f"{what}.",
            "",
            f"[![{what}]({name}/figures/{picture})]({name}/index.html)",
            "",
            "```sh",
            f"ostrom run {name} --preset smoke{seeds} {changes}".rstrip() + " --report",
            "```",
            "",
        ]
    return "\n".join(lines)
