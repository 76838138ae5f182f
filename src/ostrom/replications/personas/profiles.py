"""Played profiles: whether each is an equilibrium, and its distance from one.

A profile is a Nash equilibrium when no player gains by changing its own action alone (weak inequality, as
Manoranjan & Gaikwad 2026 count them). Works for any one-shot game, with or without a story.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import ne
from typing import Any

from ostrom.analysis.determinism import Determinism
from ostrom.data.rundata import RunData, columns
from ostrom.games.equilibria import pure_equilibria
from ostrom.games.game import Game, Profile
from ostrom.games.parameters import shown
from ostrom.ground.values import Derived, grouped
from ostrom.reports.words import labels, pretty, written

GameOf = Callable[[int], Game]
APART = "mixed"
"""The class of scenarios that is reported separately and never in "all"."""
MIXED_GROUP = "Mixed/Complex"
"""The group of subtypes that the paper counts among environmental scenarios (Table 8)."""
EXAMPLES = ("Trade Embargo", "Carbon Tax Implementation", "Biodiversity Collapse")
"""The subtypes of the printed examples (Table 7)."""


@dataclass(frozen=True, slots=True)
class Played:
    """One played profile. Tuples are by seat."""

    match: int
    agent: str
    """The agent at all seats, or all agents joined by a plus."""
    scenario: str
    scenario_class: str | None
    actions: tuple[str, ...]
    roles: tuple[str, ...]
    nash: bool
    green: bool
    """Whether every seat took its cooperative action (the green transition)."""
    tragedy: bool
    """Whether every seat took its defective action (the tragedy of the commons)."""
    greens: tuple[bool, ...]
    regrets: tuple[float, ...]
    """Each seat's possible gain by its best reply; 0 if it gave one."""
    distance: int | None
    """The number of players that would have to change for the nearest pure equilibrium; None without one."""
    cell: Mapping[str, Any] = field(default_factory=dict)
    """The levels of the study's factors."""
    exact: bool = False
    """Whether the match would end the same way again."""

    def __getitem__(self, column: str) -> Any:
        """Return a column by name: a field, or a factor of the study."""
        if column in self.cell and column not in ("agent", "scenario_class"):
            return self.cell[column]
        return getattr(self, column) if column in self.__slots__ else None


ACTED = "SELECT * FROM rounds WHERE action IS NOT NULL AND at_table IS NOT NULL ORDER BY match, meeting, round, seat"
"""The SQL for the rows of ``rounds`` that make profiles."""


def played(
    rows: Iterable[Mapping[str, Any]], game_of: GameOf, exact: Callable[[int], bool] | None = None
) -> list[Played]:
    """Return the profiles of finished matches, one per round and table, from rows of rounds.

    ``game_of`` gives the game of a match, ``exact`` says which matches have no sampling error.
    """
    column_names = set(columns("rounds", {}))
    rounds = grouped(
        ((row["match"], row["meeting"], row["round"], row["at_table"]), row)
        for row in rows
        if row["action"] is not None
    )
    equilibria = Derived[Game, tuple[Profile, ...]](lambda game: tuple(e.profile for e in pure_equilibria(game)))
    profiles = []
    crowds = grouped((match, row["player"]) for (match, *_), acted in rounds.items() for row in acted)
    for (match, *_), acted in sorted(rounds.items()):
        game = game_of(match)
        if len(acted) != game.seats or max(crowds[match]) > game.seats:
            continue  # a round in which not everybody acted, or a society
        by_seat = sorted(acted, key=lambda row: row["seat"])
        profile = tuple(game.index(seat, str(row["action"])) for seat, row in enumerate(by_seat))
        agents = [str(row["agent"]) for row in by_seat]
        agent = agents[0] if len(set(agents)) == 1 else " + ".join(agents)
        cell = {name: value for name, value in by_seat[0].items() if name not in column_names}
        description = describe(game, profile, equilibria(game), match=match, agent=agent, cell=cell)
        profiles.append(replace(description, exact=exact(match)) if exact else description)
    return profiles


def profiles_of(data: RunData) -> list[Played]:
    """The profiles of all finished matches of a run."""
    return played(data.records(ACTED), data.game, Determinism(data.unit))


def describe(
    game: Game,
    profile: Profile,
    equilibria: Iterable[Profile] | None = None,
    *,
    match: int = 0,
    agent: str = "",
    cell: Mapping[str, Any] | None = None,
) -> Played:
    """Describe one profile of a game: its actions, its regrets and whether it is an equilibrium.

    >>> from ostrom.games import build_game
    >>> one = describe(build_game("scenario:commons/debt_crisis"), (1, 1, 1, 0))
    >>> one.nash, one.distance, one.regrets
    (False, 1, (0.0, 0.0, 0.0, 4.0))
    """
    stable = [e.profile for e in pure_equilibria(game)] if equilibria is None else list(equilibria)
    seats = range(game.seats)
    return Played(
        match=match,
        agent=agent,
        scenario=game.name,
        scenario_class=game.params.get("class"),
        actions=tuple(game.actions[s][profile[s]] for s in seats),
        roles=game.words.titles or game.roles,
        nash=profile in stable,
        green=all(profile[s] == game.cooperative[s] for s in seats),
        tragedy=all(profile[s] == game.defective[s] for s in seats),
        greens=tuple(profile[s] == game.cooperative[s] for s in seats),
        regrets=tuple(regret(game, s, profile) for s in seats),
        distance=min((sum(map(ne, profile, e)) for e in stable), default=None),
        cell=cell or {},
    )


def regret(game: Game, seat: int, profile: Profile) -> float:
    """Return a seat's possible gain by its best reply to the others' actions.

    >>> from ostrom.games import build_game
    >>> regret(build_game("prisoners_dilemma"), 0, (0, 0))
    2.0
    """
    paid = [game.payoff((*profile[:seat], own, *profile[seat + 1 :]))[seat] for own in range(len(game.actions[seat]))]
    return max(paid) - paid[profile[seat]]


def of_type(profiles: Iterable[Played], scenario_type: str) -> list[Played]:
    """Return the profiles of one class of scenarios; "all" excludes those reported separately."""
    if scenario_type == "all":
        return [p for p in profiles if p.scenario_class != APART]
    return [p for p in profiles if p.scenario_class == scenario_type]


def types_in(profiles: Iterable[Played]) -> list[str]:
    """Return the scenario types to report: all, then every class that occurs."""
    classes = sorted({p.scenario_class for p in profiles if p.scenario_class is not None})
    others = [name for name in classes if name != APART]
    return [*(["all"] if others or not classes else []), *others, *([APART] if APART in classes else [])]


def split(
    profiles: Sequence[Played], by: Sequence[str], types: Sequence[str] | None = None
) -> list[tuple[str, tuple[Any, ...], list[Played]]]:
    """Return the profiles by scenario type and group, in order of appearance."""
    return [
        (kind, key, own)
        for kind in (types_in(profiles) if types is None else types)
        for key, own in grouped((tuple(p[c] for c in by), p) for p in of_type(profiles, kind)).items()
    ]


def conditions(data: RunData, found: Sequence[Played]) -> list[str]:
    """Return the factors that define conditions: without those that name the game or depend on others.

    In the published design persona and payoffs determine the instruction and the names: two factors suffice.
    """
    names: list[str] = []
    for name in data.factors:
        if not all(p.cell.get(name) == p.scenario for p in found) and not _follows(name, names, found):
            names.append(name)
    return names


def _follows(name: str, others: Sequence[str], found: Sequence[Played]) -> bool:
    """Return whether the other factors determine a factor's level."""
    levels = grouped((tuple(p.cell.get(other) for other in others), p.cell.get(name)) for p in found)
    return all(len(set(of)) == 1 for of in levels.values())


def condition_label(key: Mapping[str, Any], by: Sequence[str]) -> str:
    """A condition in words.

    >>> condition_label({"persona": "yes", "payoffs": "hidden"}, ["persona", "payoffs"])
    'persona yes, payoffs hidden'
    """
    return ", ".join(f"{pretty(name)} {written(key[name])}" for name in by) or "all"


def profile_kinds(found: Sequence[Played], by: Sequence[str]) -> list[dict[str, Any]]:
    """Count profiles by kind for every type of scenario and group; groups in the order of their first column."""
    firsts, types = list(dict.fromkeys(p[by[0]] for p in found)), types_in(found)
    groups = sorted(split(found, by, types), key=lambda group: (types.index(group[0]), firsts.index(group[1][0])))
    return [
        {"scenario_type": kind, "key": dict(zip(by, key, strict=True)), "counts": Counter(map(kind_of, own))}
        for kind, key, own in groups
    ]


def kind_of(p: Played) -> str:
    """Return a profile's kind in the paper's terms: all cooperative, all defective or mixed; equilibrium or not."""
    name = "Green Transition" if p.green else "Tragedy of the Commons" if p.tragedy else ""
    if not name:
        return "other equilibrium" if p.nash else "other"
    return name if p.nash else f"{name}, no equilibrium"


def examples(data: RunData, found: Sequence[Played]) -> list[tuple[str, Game]]:
    """Return one scenario of each type, preferably of a subtype that the paper prints (Table 7)."""
    kinds = grouped(
        (MIXED_GROUP if p.cell.get("scenario_group") == MIXED_GROUP else str(p.scenario_class), p.match)
        for p in sorted(found, key=lambda p: p.cell.get("subtype") not in EXAMPLES)
    )
    return [(kind, data.game(matches[0])) for kind, matches in sorted(kinds.items())]


def names_of(game: Game, profile: Profile) -> tuple[str, ...]:
    """The actions of a profile by their names."""
    return tuple(game.actions[seat][action] for seat, action in enumerate(profile))


def amounts(payoffs: Iterable[float]) -> list[str]:
    """Format payoffs."""
    return [shown(payoff) for payoff in payoffs]


def payoff_rows(game: Game, own: Sequence[Played]) -> list[list[str]]:
    """Return the payoff table: actions, payoffs, whether they are an equilibrium, and their frequency."""
    stable, times = {e.profile for e in pure_equilibria(game)}, Counter(p.actions for p in own)
    return [
        [
            *(actions := names_of(game, profile)), *amounts(game.payoff(profile)),
            "yes" if profile in stable else "", str(times[actions] or ""),
        ]
        for profile in game.profiles()
    ]  # fmt: skip


def played_rows(found: Sequence[Played], own: Sequence[Played], by: Sequence[str]) -> list[list[str]]:
    """Return what was played in a scenario: agent, condition, profile, equilibrium, and frequency."""
    names = labels(p.agent for p in found)
    counts = Counter(
        (names[p.agent], condition_label({n: p[n] for n in by}, by), " / ".join(p.actions), p.nash) for p in own
    )
    return [[*words, "yes" if nash else "", str(n)] for (*words, nash), n in counts.items()]
