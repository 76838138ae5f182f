"""Joins shards into one run: shards are checked against each other and listed, not copied."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.data.rundata import FRESHNESS
from ostrom.engine.folder import MANIFEST, Folder, check_name, identity, refuse_apart, refuse_versions, without_shards
from ostrom.engine.joined import JoinedJournal, allow_files
from ostrom.engine.plan import Counted, PlanSource
from ostrom.engine.shards import Shard
from ostrom.games import copy_game_files, game_hashes
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import refuse_link
from ostrom.ground.words import how_many, join_words
from ostrom.studies.plan import read_plan
from ostrom.studies.run import find_run
from ostrom.studies.verify import check_run


@dataclass(frozen=True)
class ShardState:
    """A joined shard and its progress."""

    shard: Shard
    folder: Path
    units: Counted

    @property
    def complete(self) -> bool:
        """Whether all matches of the shard are done or skipped."""
        return self.units.done + self.units.skipped == self.units.planned


def join_shards(
    name: str, shards: Sequence[str | Path], runs: str | Path = "runs", *, verify: bool = True
) -> list[ShardState]:
    """List shards as the run ``runs/NAME``; a missing, duplicate or foreign shard is refused.

    A shard that is not complete may be joined: the run then grows with it. With ``verify`` every shard is checked
    first as ``ostrom check`` does: each of its matches is replayed.
    """
    target = Folder(Path(runs) / check_name(name))
    manifests = _in_order([find_run(refuse_link(Path(shard)), runs) for shard in shards])
    combined = _joined_manifest(manifests)
    if len({manifest["shard"]["trees"] for _, manifest in manifests}) > 1:
        raise RunError(f"{manifests[0][0].path}: was played with other trees than another of the shards")
    with ExitStack() as stack:
        allow_files(len(manifests))
        journals = [stack.enter_context(folder.open_journal(manifest)) for folder, manifest in manifests]
        refuse_versions(journals)
        # The plan of the whole study says which units belong to which shard.
        journal = JoinedJournal(target.path / MANIFEST, journals)
        plan = read_plan(PlanSource(manifests[0][0].path, combined, journal))
        journal.assign(plan.group)
        if (most := max((*journal.states(), *journal.begun()), default=0)) >= len(plan) > 0:
            raise RunError(f"{journal.file(most)}: holds match {most}, the study has only {len(plan)}")
        shards_of = [Shard(number, len(manifests)) for number in range(1, len(manifests) + 1)]
        joined = [
            ShardState(shard, folder.path, plan.divided(shard).played(part.states()))
            for shard, (folder, _), part in zip(shards_of, manifests, journals, strict=True)
        ]
        for folder, _ in manifests if verify else ():
            check_run(folder.path)
        _write(target, combined, manifests, [part.entries for part in journals])
    return joined


def _in_order(folders: Sequence[Folder]) -> list[tuple[Folder, dict[str, Any]]]:
    """Return the shards in order, each with its manifest; a missing or duplicate shard is refused."""
    places: dict[int, tuple[Folder, dict[str, Any]]] = {}
    of = 0
    for folder in folders:
        manifest = folder.manifest()
        shard = Shard.of_manifest(manifest)
        if shard is None:
            raise UsageError(f"{folder.path}: is no shard: it was played without --shard")
        of = of or shard.of
        if shard.of != of:
            raise UsageError(f"{folder.path}: is shard {shard}, and {folders[0].path} is one of {of}")
        if shard.number in places:
            first = places[shard.number][0].path
            raise UsageError(f"{folder.path}: is shard {shard}, and so is {first}: leave one of them out")
        places[shard.number] = folder, manifest
    if missing := [str(number) for number in range(1, of + 1) if number not in places]:
        raise UsageError(
            f"{how_many(len(missing), 'shard')} of {of} {'is' if len(missing) == 1 else 'are'} missing: "
            f"{join_words(missing[:10])}{' and others' if len(missing) > 10 else ''}"
        )
    return [places[number] for number in sorted(places)]


def _joined_manifest(manifests: Sequence[tuple[Folder, dict[str, Any]]]) -> dict[str, Any]:
    """Return the manifest of the whole study; a shard of another study is refused."""
    combined = without_shards(manifests[0][1])
    for number, (folder, manifest) in enumerate(manifests, 1):
        refuse_apart(folder.path, manifest, combined, Shard(number, len(manifests)))
    models: dict[str, Any] = {}
    for _, manifest in manifests:
        models = {**(manifest.get("models") or {}), **models}
    apart = {key: value for key, value in combined.items() if key not in ("models_before", "served")}
    return {**apart, "created": min(manifest["created"] for _, manifest in manifests), "models": models}


def _write(
    target: Folder, combined: dict[str, Any], manifests: Sequence[tuple[Folder, dict[str, Any]]], entries: Sequence[int]
) -> None:
    """Write the manifest of the joined run; another run of this name is refused."""
    refuse_link(target.path)
    if target.path.exists() and any(target.path.iterdir()):
        old = target.manifest()
        if old.get("joined") is None or identity(without_shards(old)) != identity(combined):
            raise RunError(f"{target.path}: holds another run (choose another name)")
    home = target.path.resolve().parent
    paths = [folder.path.resolve() for folder, _ in manifests]
    if odd := [str(path) for path in paths if not str(path).isprintable()]:
        raise UsageError(f"{odd[0]!a}: has unprintable characters in its name (rename it)")
    shard_entries = [
        {"path": path.name if path.parent == home else str(path), "identity": identity(manifest), "entries": count}
        for path, (_, manifest), count in zip(paths, manifests, entries, strict=True)
    ]
    target.lock()
    try:
        # Tables of the shards joined before may have as many entries as those of the new ones.
        (target.path / FRESHNESS).unlink(missing_ok=True)
        target.write_manifest({**combined, "joined": shard_entries})
        copy_game_files(game_hashes(combined), manifests[0][0].path, target.path)
    finally:
        target.unlock()
