"""Games: payoffs, catalog, equilibria and descriptions, as pure functions."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ostrom.games.game import Game
from ostrom.ground.errors import GameError, RunError, StudyError
from ostrom.ground.files import content_hash, read_plain, write_atomically
from ostrom.ground.registry import Registry

__all__ = ["Game", "build_game", "games", "load_game"]

FAMILIES = {
    "_auctions": ("first_price_auction", "second_price_auction"),
    "_groups": (
        "beauty_contest",
        "common_pool",
        "coordination",
        "minimum_effort",
        "public_goods",
        "public_goods_amounts",
        "volunteers_dilemma",
    ),
    "_sequential": ("alternating_offers", "centipede", "dictator", "gift_exchange", "trust_amounts", "ultimatum"),
}
"""Modules of the catalog that hold several games, with the names of the functions that build them."""

games: Registry[Game] = Registry(
    "game",
    "ostrom.games.catalog",
    "GAME",
    "ostrom.games",
    folder="games",
    declared="ostrom.games.declared",
    code="ostrom.games.absent",
    table={name: f"ostrom.games.catalog.{module}:{name}" for module, names in FAMILIES.items() for name in names},
)

FILE_ENDINGS = (".yaml", ".yml", ".nfg")


def build_game(spec: str | Mapping[str, Any] | Game | Path, *, key: str | None = None, file: str | None = None) -> Game:
    """Build a game from a name, ``name:params``, a mapping, a file, an inline game or a Game.

    ``key`` and ``file`` say where the specification stands, for the messages; a relative path of a game file
    is looked up beside ``file`` first.

    >>> build_game("prisoners_dilemma:coopeval").payoff((0, 0))
    (2.0, 2.0)
    >>> build_game({"name": "public_goods", "n": 4}).seats
    4
    >>> build_game("ordinal_2x2:12").title
    'Game 12: Chicken'
    >>> build_game({"actions": ["a", "b"], "payoffs": [[[1, 1], [0, 0]], [[0, 0], [1, 1]]]}).seats
    2
    """
    match spec:
        case Game():
            return spec
        case Path() | str() if isinstance(spec, Path) or is_game_file(spec):
            return load_game(_beside(spec, file), key=key)
        case Mapping() if "file" in spec:
            return _from_file(spec, key, file)
        case Mapping() if _inline(spec):
            from ostrom.games.yaml_file import game_from_mapping

            return game_from_mapping(spec, key=key, file=file)
    try:
        return games.build(spec, key=key, file=file)
    except GameError as error:
        raise StudyError(str(error), key=key, file=file) from None


def load_game(path: str | Path, *, key: str | None = None) -> Game:
    """Read a game from a .yaml, .yml or .nfg file; a scenario file is a game with a story."""
    ending, there = Path(path).suffix.lower(), Path(path)
    if there.exists() and not there.is_file():
        raise StudyError("is not a game file (a plain file is needed)", key=key, file=str(path))
    if ending == ".nfg":
        from ostrom.games.nfg import load_nfg

        return load_nfg(path)
    if ending in FILE_ENDINGS:
        from ostrom.games.scenarios.reader import is_scenario, load_scenario
        from ostrom.games.yaml_file import load_yaml

        return load_scenario(path).game() if is_scenario(path) else load_yaml(path)
    raise StudyError("a game file must end in .yaml, .yml or .nfg", key=key, actual=str(path))


def is_game_file(name: str) -> bool:
    """Return whether the name of a game is the name of a game file, by its ending."""
    return name.lower().endswith(FILE_ENDINGS)


def game_files(stated: Any, file: str | None) -> dict[str, str]:
    """Return the hashes of the game files that a part of a study names at any depth, by name."""
    match stated:
        case Mapping():
            return game_files(list(stated.values()), file)
        case list() | tuple():
            return {name: digest for part in stated for name, digest in game_files(part, file).items()}
        case str() if is_game_file(stated) and (path := _beside(stated, file)).is_file():
            return {stated: content_hash(path.read_bytes())}
    return {}


def game_hashes(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the hashes of the game files of a run, by name."""
    return {name: digest for name, digest in (manifest.get("prompts") or {}).items() if is_game_file(name)}


def check_game_files(known: Mapping[str, str], file: str) -> None:
    """Refuse game files that changed since the run began: its figures would be of another game."""
    folder = Path(file).parent
    for name, digest in known.items():
        path = _beside(name, file)
        inside = path.is_relative_to(folder)
        if (inside or path.is_file()) and content_hash(read_plain(path) if inside else path.read_bytes()) != digest:
            raise RunError(f"{folder}: {name} was changed since the run was begun (put it back)")


def copy_game_files(known: Mapping[str, str], run: Path, target: Path) -> None:
    """Copy a run's own unchanged game files to a new folder; files outside the run are skipped, links refused."""
    for name, digest in known.items():
        path = run / name
        inside = path.resolve().is_relative_to(run.resolve()) and ".." not in Path(name).parts
        if inside and path.is_file() and content_hash(data := read_plain(path)) == digest:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(target / name, data)


def keep_game_files(names: Iterable[str], file: str | None, folder: Path) -> None:
    """Copy the game files of a study to a run folder, so that the run can be read anywhere.

    A file that is named by an absolute path, or by one that leads out of a folder, stays where it is.
    """
    for name in names:
        path, source = Path(name), _beside(name, file)
        copy = folder / path
        if not path.is_absolute() and ".." not in path.parts and source.is_file() and not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(copy, source.read_bytes())


def _inline(spec: Mapping[str, Any]) -> bool:
    name = spec.get("name")
    if "payoffs" in spec and "actions" in spec:
        return True  # written out completely, whatever its name
    return not (isinstance(name, str) and name in games) and ("payoffs" in spec or "actions" in spec)


def _from_file(spec: Mapping[str, Any], key: str | None, file: str | None) -> Game:
    """Read the game file that a mapping names, and let the mapping's other keys replace what the file states.

    An .nfg file, for example, states no cooperative action.
    """
    from ostrom.games.yaml_file import game_from_mapping, game_to_mapping

    changeable = ("name", "title", "citation", "roles", "cooperative", "defective")
    if unknown := [name for name in spec if name != "file" and name not in changeable]:
        raise StudyError(f"unknown key {unknown[0]!r}", key=key, file=file, allowed=("file", *changeable))
    if not isinstance(spec["file"], (str, Path)):
        raise StudyError("must be a path", key=f"{key}.file" if key else "file", file=file, actual=spec["file"])
    game = load_game(_beside(spec["file"], file), key=key)
    changes = {name: value for name, value in spec.items() if name != "file"}
    if not changes:
        return game
    data = game_to_mapping(game) | changes
    if "cooperative" in changes and "defective" not in changes:
        del data["defective"]  # derived anew: the other action of a seat with two
    return game_from_mapping(data, key=key, file=file)


def _beside(path: str | Path, file: str | None) -> Path:
    here = Path(path)
    if file is not None and not here.is_absolute() and (near := Path(file).parent / here).exists():
        return near
    return here
