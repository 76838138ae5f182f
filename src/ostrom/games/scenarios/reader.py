"""Reads scenario files and refuses inconsistent ones, wrong equilibrium claims included."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

from ostrom.games.scenarios.proof import prove
from ostrom.games.scenarios.scenario import CLAIMS_OF_CLASS, Action, Canonical, Profile, Role, Scenario
from ostrom.games.scenarios.schema import CanonicalEntry, CanonicalPair, CastFile, RoleEntry, ScenarioFile, parse
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.ground.files import read_text_file
from ostrom.ground.parameters import is_finite
from ostrom.ground.registry import NamedFiles, broken_note, replication_files


def read_table(rows: dict[str, Any], roles: tuple[Role, ...], file: str) -> dict[Profile, tuple[float, ...]]:
    """Return the table in the order of the profiles; a StudyError names a wrong row."""
    payoffs: dict[Profile, tuple[float, ...]] = {}
    for written, row in rows.items():
        key = f"payoffs.{written}"
        profile = read_profile(written.split(), roles, file, key)
        if profile in payoffs:
            raise StudyError("duplicate profile", file=file, key=key, actual=" ".join(profile))
        payoffs[profile] = _numbers(row, roles, file, key)
    wanted = prod(len(role.actions) for role in roles)
    if len(payoffs) < wanted:
        missing = next(p for p in product(*(role.action_keys for role in roles)) if p not in payoffs)
        raise StudyError(
            f"{wanted - len(payoffs)} of {wanted} profiles missing, the first is {' '.join(missing)!r}",
            file=file,
            key="payoffs",
        )
    return {profile: payoffs[profile] for profile in product(*(role.action_keys for role in roles))}


def read_profile(words: list[str], roles: tuple[Role, ...], file: str, key: str) -> Profile:
    """Return action keys as a profile in the order of the roles; unknown or missing actions are refused."""
    if len(words) != len(roles):
        raise StudyError(
            f"must name one action for each of the {len(roles)} roles",
            file=file,
            key=key,
            actual=" ".join(words),
            allowed=[role.key for role in roles],
        )
    for action, role in zip(words, roles, strict=True):
        if action not in role.action_keys:
            raise StudyError(
                f"unknown action for {role.key}", file=file, key=key, actual=action, allowed=role.action_keys
            )
    return tuple(words)


def _numbers(row: Any, roles: tuple[Role, ...], file: str, key: str) -> tuple[float, ...]:
    if not isinstance(row, list):
        raise StudyError("must be a list of numbers, one per role", file=file, key=key, actual=row)
    if len(row) != len(roles):
        raise StudyError(
            f"must hold {len(roles)} payoffs, one per role, has {len(row)}",
            file=file,
            key=key,
            allowed=[role.key for role in roles],
        )
    for role, value in zip(roles, row, strict=True):
        # True is an int in Python and would silently count as 1.
        if isinstance(value, bool) or not isinstance(value, int | float) or not is_finite(value):
            raise StudyError(
                "payoff must be a finite number", file=file, key=f"{key}.{role.key}", actual=_error_text(value)
            )
    return tuple(float(value) for value in row)


def _error_text(value: object) -> object:
    if value is None:
        return "nothing"
    return value if len(str(value)) <= 40 else f"{str(value)[:40]}..."


Model: TypeAlias = Mapping[str, Mapping[str, float]]
Line: TypeAlias = tuple[frozenset[tuple[int, str]], float]


def evaluate(model: Model, roles: tuple[Role, ...], file: str) -> dict[Profile, tuple[float, ...]]:
    """Return the payoffs by a scenario's ``model``: each role's base plus the effects of the actions played."""
    if set(model) != {role.key for role in roles}:
        raise StudyError(
            "must have one part per role",
            file=file,
            key="model",
            actual=", ".join(model),
            allowed=[role.key for role in roles],
        )
    lines: list[tuple[float, list[Line]]] = []
    for role in roles:
        part = dict(model[role.key])
        if "base" not in part:
            raise StudyError("is missing", file=file, key=f"model.{role.key}.base")
        base = part.pop("base")
        lines.append((base, [(_played(term, roles, file, role.key), effect) for term, effect in part.items()]))
    # Decimal inputs, binary sums: ten digits keep 0.1 + 0.2 at 0.3.
    return {
        profile: tuple(
            round(base + sum(effect for needed, effect in effects if needed <= set(enumerate(profile))), 10)
            for base, effects in lines
        )
        for profile in product(*(role.action_keys for role in roles))
    }


def check_model(model: Model, roles: tuple[Role, ...], table: dict[Profile, tuple[float, ...]], file: str) -> None:
    """Refuse a table that its own model does not reproduce."""
    for profile, modelled in evaluate(model, roles, file).items():
        for role, expected, frozen in zip(roles, modelled, table[profile], strict=True):
            if not abs(expected - frozen) <= 1e-9:
                raise StudyError(
                    f"payoff differs from the scenario's model, which gives {expected:g}",
                    file=file,
                    key=f"payoffs.{' '.join(profile)}.{role.key}",
                    actual=frozen,
                )


def _played(term: str, roles: tuple[Role, ...], file: str, owner: str) -> frozenset[tuple[int, str]]:
    return frozenset(_place(part.strip(), roles, file, f"model.{owner}.{term}") for part in term.split("&"))


def _place(word: str, roles: tuple[Role, ...], file: str, key: str) -> tuple[int, str]:
    wanted, _, action = word.rpartition(":")
    places = [
        (seat, action) for seat, role in enumerate(roles) if action in role.action_keys and wanted in ("", role.key)
    ]
    if len(places) == 1:
        return places[0]
    if places:
        raise StudyError(f"several roles have the action, write ROLE:{action}", file=file, key=key, actual=word)
    raise StudyError(
        "unknown action",
        file=file,
        key=key,
        actual=word,
        allowed=[action for role in roles for action in role.action_keys],
    )


CAST = "cast.yaml"


def families() -> list[str]:
    """Return the names of the scenario families that come with Ostrom and with installed replications.

    >>> families()
    ['archive', 'commons', 'data-alliance', 'festival', 'newsroom', 'theatre']
    """
    return sorted(_folders())


def scenarios(family: str) -> list[str]:
    """Names of all scenarios of a shipped family, in alphabetical order.

    >>> scenarios("data-alliance")[0]
    'early_warning'
    """
    return sorted(
        name.removesuffix(".yaml")
        for name in (entry.name for entry in _family_folder(family).iterdir())
        if name.endswith(".yaml") and name != CAST
    )


@cache
def shipped_scenario(family: str, name: str) -> Scenario:
    """A scenario that comes with Ostrom.

    >>> shipped_scenario("commons", "debt_crisis").tragedy.name
    'Tragedy of the Commons'
    """
    shipped = scenarios(family)
    if name not in shipped:
        raise UnknownName(f"scenario of {family}", name, shipped)
    entry = _family_folder(family).joinpath(f"{name}.yaml")
    return _build(parse(ScenarioFile, entry.read_text("utf-8"), str(entry)), shipped_cast(family), str(entry))


def cast_file(family: str) -> Traversable:
    """The file with the cast of a shipped family."""
    return _family_folder(family).joinpath(CAST)


@cache
def shipped_cast(family: str) -> CastFile:
    """The cast of a shipped family.

    >>> [role.key for role in shipped_cast("commons").roles]
    ['industrialist', 'government', 'activist', 'citizen']
    """
    entry = _family_folder(family).joinpath(CAST)
    return parse(CastFile, entry.read_text("utf-8"), str(entry))


def load_scenario(path: str | Path) -> Scenario:
    """Read one scenario file; its cast is the ``cast.yaml`` beside it, else the shipped family's."""
    path = Path(path)
    written = parse(ScenarioFile, read_text_file(path), str(path))
    if written.name != path.stem:
        raise StudyError("must equal the name of the file", file=str(path), key="name", actual=written.name)
    return _build(written, _cast_for(written, path), str(path))


def is_scenario(path: str | Path) -> bool:
    """Return whether a YAML file is a scenario; False for an unreadable file, which its reader refuses later."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return any(line.startswith(("narrative:", "claim:")) for line in text.splitlines())


def load_cast(path: str | Path) -> CastFile:
    """Read a family's ``cast.yaml``."""
    path = Path(path)
    cast = parse(CastFile, read_text_file(path), str(path))
    _canonical(cast.canonical, _roles(cast.roles, None, str(path)), str(path))
    return cast


def _cast_for(source: ScenarioFile, path: Path) -> CastFile | None:
    beside = path.with_name(CAST)
    if beside.is_file():
        cast = load_cast(beside)
        if cast.family != source.family:
            raise StudyError(
                f"differs from the family of {beside}",
                file=str(path),
                key="family",
                actual=source.family,
                allowed=[cast.family],
            )
        return cast
    if source.family in families():
        return shipped_cast(source.family)
    if source.roles is None or source.canonical is None:
        raise StudyError(
            f"no {CAST} beside the file and no shipped family of that name; write roles and canonical here",
            file=str(path),
            key="family",
            actual=source.family,
            allowed=families(),
        )
    return None


def _build(source: ScenarioFile, cast: CastFile | None, file: str) -> Scenario:
    roles = _roles(source.roles or (cast.roles if cast else []), cast, file)
    pair = source.canonical or (cast.canonical if cast else None)
    assert pair is not None, "a file without a cast has its own canonical profiles"
    green, tragedy = _canonical(pair, roles, file)
    _check_labels(source, cast, file)
    table = read_table(source.payoffs, roles, file)
    if source.model is not None:
        check_model(source.model, roles, table, file)
    titles = cast.class_titles if cast else {}
    scenario = Scenario(
        name=source.name,
        title=source.title,
        family=source.family,
        scenario_class=source.scenario_class,
        class_title=titles.get(source.scenario_class, source.scenario_class),
        subtype=source.subtype,
        narrative=source.narrative,
        roles=roles,
        green=green,
        tragedy=tragedy,
        claim=source.claim,
        payoffs=tuple(table.values()),
        group=_group(source.subtype, cast),
        author=source.author or "",
        **({"citation": cast.citation} if cast is not None and cast.citation else {}),
    )
    proof = prove(scenario)
    if not proof.holds:
        raise StudyError(proof.refutation(), file=file, key="claim", actual=source.claim, allowed=[proof.found])
    return scenario


def _group(subtype: str, cast: CastFile | None) -> str:
    groups = cast.subtypes.items() if cast and cast.subtypes else ()
    return next((group for group, names in groups if subtype in names), "")


def _roles(entries: list[RoleEntry], cast: CastFile | None, file: str) -> tuple[Role, ...]:
    inherited = {role.key: role.persona for role in cast.roles} if cast else {}
    roles = []
    for position, entry in enumerate(entries):
        persona = entry.persona or inherited.get(entry.key)
        if persona is None:
            raise StudyError("is missing and no cast supplies it", file=file, key=f"roles.{position}.persona")
        actions = tuple(Action(action.key, action.label, action.green) for action in entry.actions)
        roles.append(Role(entry.key, entry.title, persona, actions, entry.kind or "", tuple(entry.order or ())))
    return tuple(roles)


def _canonical(pair: CanonicalPair, roles: tuple[Role, ...], file: str) -> tuple[Canonical, Canonical]:
    return (
        _one_canonical(pair.green, roles, True, file, "canonical.green.profile"),
        _one_canonical(pair.tragedy, roles, False, file, "canonical.tragedy.profile"),
    )


def _one_canonical(entry: CanonicalEntry, roles: tuple[Role, ...], green: bool, file: str, key: str) -> Canonical:
    profile = read_profile(entry.profile, roles, file, key)
    for role, action in zip(roles, profile, strict=True):
        fitting = [option.key for option in role.actions if option.green is green]
        if action not in fitting:
            wanted = "a green action" if green else "an action that is not green"
            raise StudyError(f"must be {wanted} of {role.key}", file=file, key=key, actual=action, allowed=fitting)
    return Canonical(entry.name, profile)


def _check_labels(written: ScenarioFile, cast: CastFile | None, file: str) -> None:
    fitting = CLAIMS_OF_CLASS[written.scenario_class]
    if written.claim not in fitting:
        raise StudyError(
            f"does not go with class {written.scenario_class}",
            file=file,
            key="claim",
            actual=written.claim,
            allowed=fitting,
        )
    if cast is None or cast.subtypes is None:
        return
    subtypes = [name for group in cast.subtypes.values() for name in group]
    if written.subtype not in subtypes:
        raise StudyError("unknown subtype", file=file, key="subtype", actual=written.subtype, allowed=subtypes)


@cache
def _folders() -> NamedFiles:
    """Return the folder of every family: Ostrom's own, and those in ``scenarios/`` of replications."""
    families = replication_files("scenarios", "", "family of scenarios")
    for folder in files("ostrom.games.scenarios").joinpath("families").iterdir():
        families.put(folder.name, folder, "ostrom")
    for name in [name for name, folder in families.items() if not folder.joinpath(CAST).is_file()]:
        del families[name]
    return families


def _family_folder(family: str) -> Traversable:
    if (folder := _folders().named(family)) is None:
        raise UnknownName("scenario family", family, families(), broken_note())
    return folder
