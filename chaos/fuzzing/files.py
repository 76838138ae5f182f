"""Files that people write, gone wrong: studies, games, scenarios, mappings, tables, lexicons, prices, prompts."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

from chaos.fuzzing import mutate
from chaos.fuzzing import yaml_seeds as seeds
from chaos.fuzzing.watch import Target
from ostrom.features.importing.mapping import load_mapping
from ostrom.features.importing.table import read_table
from ostrom.features.judging.judgements import load_motives
from ostrom.features.words.lexicons import load_lexicons
from ostrom.framing import Library
from ostrom.games.nfg import parse_nfg
from ostrom.games.scenarios import load_cast, load_scenario
from ostrom.games.yaml_file import game_from_mapping, parse_yaml
from ostrom.models.prices import load_prices
from ostrom.studies.files import read_study
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan

SHM = Path("/dev/shm")


@cache
def folder(process: int) -> Path:
    """A folder of this process for the files that are fed, in memory where the machine has that."""
    made = tempfile.mkdtemp(prefix=f"ostrom-fuzz-{process}-", dir=SHM if SHM.is_dir() else None)
    atexit.register(shutil.rmtree, made, True)
    return Path(made)


def written(name: str, content: str | bytes) -> Path:
    """The content as a file."""
    path = folder(os.getpid()) / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


def texts(examples: Sequence[str], words: Sequence[str] = seeds.WORDS) -> Callable[[Random], str]:
    """Draws changed texts."""
    return lambda rng: mutate.text(rng, examples, words)


def file(name: str, read: Callable[[Path], object]) -> Callable[[str], object]:
    """Feeds a text to a reader of files."""
    return lambda content: read(written(name, content))


@cache
def _library() -> Library:
    return Library()


@cache
def _studies() -> tuple[dict[str, Any], ...]:
    """Valid studies as data."""
    return tuple(read_study(written("seed.yaml", text))[0] for text in seeds.STUDIES[:3])


@cache
def _games() -> tuple[dict[str, Any], ...]:
    import yaml

    return tuple(yaml.safe_load(text) for text in seeds.GAMES[:3])


KEYS = (
    "name", "title", "game", "mechanism", "agent", "types", "seats", "seating", "vary", "seeds", "seed",
    "invalid", "budget",
    "strategy", "model", "style", "memory", "framing", "persona", "params", "rounds", "set", "to", "from",
    "each", "policy",
    "retries", "observers", "report", "presets", "repetition", "window", "prisoners_dilemma", "cooperator",
    "window:2", "k",
    "actions", "payoffs", "cooperative", "roles", "words", "self", "ordered", "chicken", "reasoned", "direct", "file",
)  # fmt: skip


def _load_and_plan(path: Path) -> None:
    study = load_study(path)
    StudyPlan(study, _library(), str(path))


def _plan(data: Any) -> None:
    if isinstance(data, dict):
        preset = "smoke" if data.get("presets") else None
        StudyPlan(load_study(data, preset=preset), _library())


def _draw_change(rng: Random) -> list[str]:
    changes = (
        "mechanism.rounds=3",
        "types.m.memory=window:2",
        "vary.x=null",
        "seats.1.persona=A",
        "agent={style: direct}",
    )
    return [mutate.text(rng, changes, seeds.WORDS) for _ in range(rng.choice((1, 1, 2)))]


def _change(changes: list[str]) -> None:
    load_study(_studies()[0], changes=changes)


def _story(content: str) -> None:
    path = written("prompts/stories/fuzzed.txt", content)
    library = Library(path.parent.parent)
    words = {"player": "p", "players": "ps"}
    library.open_story("stories/fuzzed.txt", {"words": words, "facts": {}})


def _scenarios() -> tuple[str, ...]:
    home = files("ostrom.games.scenarios").joinpath("families", "data-alliance")
    return (home.joinpath("early_warning.yaml").read_text("utf-8"), seeds.bomb("payoffs"))


def _casts() -> tuple[str, ...]:
    home = files("ostrom.games.scenarios").joinpath("families", "data-alliance")
    return (home.joinpath("cast.yaml").read_text("utf-8"), seeds.bomb("roles"))


def _draw_table(rng: Random) -> tuple[str, bytes]:
    table = mutate.text(rng, (seeds.TABLE,), ('"', ",", ";", "\n", '""', "\r", "\x00", "X", "nan"))
    encoding = rng.choice(("utf-8", "utf-8", "utf-8", "utf-16"))
    return seeds.MAPPINGS[0], table.encode(encoding, "surrogatepass")


def _table(given: tuple[str, bytes]) -> None:
    mapping, name = load_mapping(written("mapping.yaml", given[0]))
    read_table(written("table.csv", given[1]), mapping, name)


TARGETS = (
    Target("file: .nfg game", 60_000, texts(seeds.NFG, seeds.NFG_WORDS), parse_nfg),
    Target("file: YAML game", 10_000, texts(seeds.GAMES), parse_yaml),
    Target("data: inline game", 20_000, lambda rng: mutate.tree(rng, _games(), KEYS), game_from_mapping),
    Target("file: study", 6_000, texts(seeds.STUDIES), file("study.yaml", _load_and_plan)),
    Target("data: study", 12_000, lambda rng: mutate.tree(rng, _studies(), KEYS), _plan),
    Target("text: --set", 12_000, _draw_change, _change),
    Target("file: scenario", 3_000, texts(_scenarios()), file("early_warning.yaml", load_scenario)),
    Target("file: cast", 2_000, texts(_casts()), file("casts/cast.yaml", load_cast)),
    Target("file: mapping", 6_000, texts(seeds.MAPPINGS), file("mapping.yaml", load_mapping)),
    Target("file: foreign table", 6_000, _draw_table, _table),
    Target("file: lexicon (YAML)", 6_000, texts(seeds.LEXICONS, seeds.LEXICON_WORDS), file("l.yaml", load_lexicons)),
    Target(
        "file: lexicon (JSON)", 20_000, texts(seeds.LEXICONS_JSON, seeds.LEXICON_WORDS), file("l.json", load_lexicons)
    ),
    Target("file: motives", 4_000, texts(seeds.MOTIVES), file("motives.yaml", load_motives)),
    Target("file: prices", 8_000, texts(seeds.PRICES), file("prices.yaml", load_prices)),
    Target("file: prompt with header", 6_000, texts(seeds.STORIES, seeds.STORY_WORDS), _story),
)
