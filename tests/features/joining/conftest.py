"""A study in shards: how the tests of joining play one, and look at what came of it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from ostrom.engine.folder import manifest_bytes, read_manifest
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import RetryPolicy
from ostrom.features.joining import ShardState, join_shards
from ostrom.ground.validation import validate
from ostrom.studies.run import play
from ostrom.studies.schema import StudyFile

QUICK = RetryPolicy(tries=30, first=0.001, longest=0.02)
SCRIPTED: dict[str, Any] = {
    "name": "whole",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 6},
    "types": {"echo": "tit_for_tat", "chance": "random:0.6"},
    "seating": "ordered",
    "vary": {"rounds": {"set": "mechanism.rounds", "to": [3, 6, 2]}},
    "seeds": 2,
}
"""24 matches; those of the arrays are played as such."""


def asked(model: str, **changes: Any) -> dict[str, Any]:
    """A study that asks a model: 18 matches."""
    return {
        "name": "whole",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 3},
        "agent": {"style": "direct", "memory": "window:2", "framing": {"order": "shuffled"}},
        "types": {
            "model": {"model": model},
            "talker": {"model": model, "conversation": "dialogue"},
            "chance": "random",
        },
        "seating": "ordered",
        "seeds": 2,
        **changes,
    }


def play_whole(study: Mapping[str, Any], runs: Path, **options: Any) -> Path:
    """Play a study undivided; the folder of its run."""
    stated = validate(StudyFile, dict(study), "test")
    assert play(stated, runs=runs, options=PlayOptions(retry=QUICK, **options)).complete
    return runs / stated.name


def play_shards(
    study: Mapping[str, Any], runs: Path, of: int, only: Iterable[int] | None = None, **options: Any
) -> list[Path]:
    """Play all shards of a study, or some of them; their folders."""
    stated = validate(StudyFile, dict(study), "test")
    folders = []
    for number in only or range(1, of + 1):
        how = PlayOptions(retry=QUICK, shard=f"{number}/{of}", **options)
        assert play(stated, runs=runs, options=how).complete
        folders.append(runs / f"{stated.name}.{number}-of-{of}")
    return folders


def play_joined(study: Mapping[str, Any], runs: Path, of: int, **options: Any) -> Path:
    """Play all shards of a study and join them; the folder of the joined run."""
    joined: list[ShardState] = join_shards("whole", play_shards(study, runs, of, **options), runs)
    assert all(state.complete for state in joined)
    return runs / "whole"


def rewrite(folder: Path, **changes: Any) -> None:
    """Change a manifest as somebody would who knows how it is sealed; a value of None takes its key away."""
    path = folder / "run.json"
    manifest = {**read_manifest(path.read_bytes(), path), **changes}
    path.write_bytes(manifest_bytes({key: value for key, value in manifest.items() if value is not None}))


def manifest_of(folder: Path) -> dict[str, Any]:
    """The manifest of a run as it is written."""
    content: dict[str, Any] = orjson.loads((folder / "run.json").read_bytes())
    return content
