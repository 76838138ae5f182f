"""Commands of the pages run as they are printed: `ostrom run` for one match, with a model that stands in for the one
it names, and all others on small runs that were played before.

A command that cannot run is marked `<!-- not run: why -->` before its block. `make blocks` runs everything. `make test`
leaves out what takes seconds (commands in SLOW, pages in LONG) and all but one of the commands that differ by values of
their options alone; that these exist and parse is tested in test_blocks.py and test_replication_pages.py.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ostrom  # noqa: F401
from tests.docs.commands import blocks_of, stand_in, words_of
from tests.replications.golden_runs import play_any

from ostrom.studies.files import builtin_names
from ostrom.studies.load import load_study
from ostrom.studies.run import play

Command = Callable[..., "subprocess.CompletedProcess[str]"]
ROOT = Path(__file__).parents[2]
EVERYTHING = bool(os.environ.get("OSTROM_DOCS"))
LONG = {"replications", "mechanisms", "personas", "society", "games"}
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if any(blocks_of(page))
    and "tutorials" not in page.parts  # run from end to end in test_blocks.py
    and page.stem != "results"  # run on the published tables in test_results_page.py
    and (EVERYTHING or not {page.parent.name, page.stem} & LONG)
]
SECONDS = {"memory", "society", "replicate"}
"""Pages whose commands take seconds: left out by `make test`, run by `make test-all`."""
SLOW = ("report", "infer", "compare", "judge")
NAMES = {
    "MODEL": "openai/gpt-4o-mini",
    "M": "openai/gpt-4o-mini",
    "NEW": "memory",
    "OLD": "demo",
    "provider/model": "openai/gpt-4o-mini",
    "other/model": "openai/gpt-4o",
    "gpt": "grim",
}
"""Names on the pages that stand for others."""
RUNS = {"society": "mechanisms", "probe": "memory"}
"""What RUN is on a page; elsewhere it is a run of the memory study with a model that reasons."""
MODEL = ["openai/gpt-4o-mini"]
PREPARED: dict[str, dict[str, Any]] = {
    "demo": {"source": "memory", "models": MODEL, "changes": ["mechanism.rounds=21"]},
    "memory": {"models": MODEL, "changes": ["mechanism.rounds=6"]},
    "mechanisms-controls": {"preset": "small", "changes": ["types={openai/gpt-4o-mini: {strategy: tit_for_tat}}"]},
    "mechanisms": {
        "preset": "small",
        "changes": [
            "types={tft: {strategy: tit_for_tat, attributes: {index: 1, thinking: false}}, "
            "all_d: {strategy: defector, attributes: {index: 2, thinking: false}}, "
            "half: {strategy: random, attributes: {index: 3, thinking: true}}}"
        ],
    },
    "personas": {"preset": "small", "changes": ["types={p: {model: openai/gpt-4o-mini}, r: random}"]},
    "personas-mitigation": {"preset": "small", "models": MODEL},
    "s": {
        "source": {
            "name": "s",
            "game": "prisoners_dilemma",
            "vary": {"game": ["prisoners_dilemma", "stag_hunt"]},
            "mechanism": {"name": "repetition", "rounds": 12},
            "types": {"coin": "random:0.5", "mostly": "random:0.9", "tft": "tit_for_tat"},
            "seating": "self",
        },
        "preset": None,
        "seeds": 4,
    },
}
"""Runs that pages speak of and that are not golden ones (``play_any``)."""
RAN: set[tuple[str, ...]] = set()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A small run of that name, played when it is first asked for."""
    runs = tmp_path_factory.mktemp("played")

    def find(name: str) -> Path:
        if not (runs / name).exists() and name in PREPARED:
            study = load_study(**{"source": name, "preset": "smoke", **PREPARED[name]})
            play(study, name=name, runs=runs, open_models=lambda model, _: stand_in(model))
        return runs / name if (runs / name).exists() else play_any(name, runs)

    return find


def cases() -> Iterator[Any]:
    for page in PAGES:
        marks = [pytest.mark.slow] if page.stem in SECONDS else []
        yield pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


@pytest.mark.sample(2)
@pytest.mark.parametrize("page", list(cases()))
def test_the_commands_of_a_page_run(
    page: Path,
    ostrom: Command,  # noqa: F811
    played: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("studies.run", "features.attribution.plan"):
        monkeypatch.setattr(f"ostrom.{module}.open_model", stand_in)
    _save_files(page, tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    names = {**NAMES, "RUN": RUNS.get(page.stem, "demo")}
    problems = []
    for line in (line for block in blocks_of(page) if not block.why_not for line in block.lines):
        words, allowed = words_of(line, names), {0}
        if not EVERYTHING and (words[0] in SLOW or _ran(words)):
            continue
        if words[0] == "run":
            words = [word for word in words if word != "--report"]
            if "--dry-run" not in words:
                words, allowed = [*words, "--limit", "1"], {0, 1}
                if "--name" not in words:  # runs that pages go on to speak of are whole ones
                    words += ["--runs", "asked"]
        else:
            if words[0] == "replicate" and "--dry-run" not in words:  # test_replicate.py plays one
                words.append("--dry-run")
            for name in (word.removeprefix("runs/") for word in words[1:]):
                known = name in PREPARED or name in builtin_names()
                if known and not (tmp_path / "runs" / name).exists():
                    shutil.copytree(played(name), tmp_path / "runs" / name)
        done = ostrom(*words, input="A0\n" * 9 if words[0] == "play" else "")
        if done.returncode not in allowed:
            problems.append(f"{line}\n  exit code {done.returncode}: {done.stderr[-600:]}")
    assert not problems, "\n".join(problems)


def _ran(words: list[str]) -> bool:
    """Whether a command has run that differs by values alone; of runs, one of the same study."""
    told = [word.partition("=")[0] for word in words[1:] if word.startswith("--")]
    what = [word for word in words[1:2] if words[0] in ("run", "branch", "attribute")]
    key = (words[0], *what, *(["--dry-run"] if "--dry-run" in told else told if words[0] != "run" else []))
    known = key in RAN
    RAN.add(key)
    return known


def _save_files(page: Path, folder: Path) -> None:
    """The files that a page shows (first line: their name) and the folders that its commands name."""
    if "new prompts my-prompts" not in page.read_text("utf-8"):
        shutil.copytree(ROOT / "src" / "ostrom" / "framing" / "prompts", folder / "my-prompts")
    for name, content in re.findall(r"^```yaml\n# (\w+\.yaml)(.*?)^```", page.read_text("utf-8"), re.M | re.S):
        for place in (folder, folder / "harbour"):
            place.mkdir(exist_ok=True)
            (place / name).write_text(f"# {content}")
