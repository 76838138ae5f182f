"""Games in YAML files, or as a mapping inside a study.

::

    name: my_game                        # an identifier; by default the file's name
    title: My game                       # optional, as are citation, roles, cooperative, defective, params
    seats: 2                             # only when one list of actions is shared by all seats (default 2)
    actions: [cooperate, defect]         # or one list per seat
    formerly: [stay, leave]              # optional: what the actions of all seats were called before a renaming
    cooperative: cooperate               # one name for all seats, or one per seat (null: none)
    payoffs:                             # nested lists in the order of the actions, or one line per outcome:
      cooperate, cooperate: [3, 3]
      cooperate, defect: [0, 5]
      defect, cooperate: [5, 0]
      defect, defect: [1, 1]
    words:                               # for framings that tell a story; each part is optional
      narrative: Two firms fish the same lake.
      titles: [Owner, Neighbour]         # one per seat, as are personas and the lists of actions
      personas: [You own the old boat., You came last year.]
      actions: [[rest the lake, fish every day], [rest the lake, fish every day]]
      order: [[defect, cooperate], [cooperate, defect]]  # in which prompts name them; left out: that of actions
      kinds: [economic, social]          # what sort of player sits there, for analysis only
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostrom.games.game import Game
from ostrom.games.tensor import MAX_SEATS, TensorGame, check_size
from ostrom.games.text_file import identifier, rational, read_text
from ostrom.games.words import Words
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEYS = (
    "name",
    "title",
    "citation",
    "seats",
    "roles",
    "actions",
    "formerly",
    "cooperative",
    "defective",
    "payoffs",
    "params",
    "words",
)

_RARE_BREAKS = frozenset("\x85\u2028\u2029\ufeff")
"""Unicode line breaks that PyYAML does not round-trip: they must be escaped."""


def load_yaml(path: str | Path) -> Game:
    """Read a game from a YAML file."""
    return parse_yaml(read_text(Path(path), what="game"), file=str(path), name=identifier(Path(path).stem))


def parse_yaml(text: str, *, file: str | None = None, name: str = "game") -> Game:
    """Read a game from YAML text.

    >>> parse_yaml("{actions: [[up, down]], payoffs: [[1], [2]]}").payoff((1,))
    (2.0,)
    """
    from ostrom.ground.yaml import read_yaml

    return game_from_mapping(read_yaml(text, file, numbers=False), file=file, name=name)


def game_from_mapping(data: Any, *, file: str | None = None, key: str | None = None, name: str = "game") -> Game:
    """Build a game from its mapping in a file or a study."""
    reader = _Reader(file, key)
    if not isinstance(data, Mapping):
        raise reader.error("a game is a mapping with 'actions' and 'payoffs'", actual=_brief(data))
    for written_key in data:
        reader._refuse_if(written_key not in KEYS, f"unknown key {str(written_key)!r}", None, allowed=KEYS)
    for needed in ("actions", "payoffs"):
        if needed not in data:
            raise reader.error(f"lacks '{needed}'", actual=list(data))
    game_name = reader.text(data, "name") or name
    if not game_name.isidentifier():
        raise reader.error("must be letters, digits and underscores", "name", actual=game_name)
    try:
        actions = reader.actions(data)
        check_size(game_name, [len(names) for names in actions])
        return TensorGame(
            game_name,
            actions,
            reader.payoffs(data["payoffs"], actions),
            cooperative=reader.indices(data, "cooperative", actions),
            defective=reader.indices(data, "defective", actions),
            roles=reader.roles(data, len(actions)),
            title=reader.text(data, "title"),
            citation=reader.text(data, "citation"),
            params=reader.params(data),
            words=reader.words(data),
            formerly=() if data.get("formerly") is None else reader.names(data["formerly"], "formerly"),
        )
    except GameError as error:
        raise StudyError(str(error), file=file, key=key) from None


def game_to_mapping(game: Game) -> dict[str, Any]:
    """A game as plain data that ``game_from_mapping`` reads back exactly."""
    return {
        "name": game.name,
        "title": game.title,
        "citation": game.citation,
        "roles": list(game.roles),
        "actions": [list(names) for names in game.actions],
        "cooperative": _names(game, game.cooperative),
        "defective": _names(game, game.defective),
        "params": dict(game.params),
        "payoffs": game.payoffs.tolist(),
        **({"formerly": list(game.formerly)} if game.formerly else {}),
        **({"words": _words(game.words)} if game.words else {}),
    }


def write_yaml(game: Game) -> str:
    """A game as YAML text that ``parse_yaml`` reads back exactly."""
    import yaml

    data = game_to_mapping(game)
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)
    return text if _RARE_BREAKS.isdisjoint(text) else yaml.safe_dump(data, sort_keys=False, width=110)


@dataclass(frozen=True)
class _Reader:
    """Reads single keys of a game's mapping; its errors name the file and the key."""

    file: str | None
    key: str | None

    def error(self, problem: str, at: str | None = None, actual: object = None, allowed: Any = None) -> StudyError:
        return StudyError(
            problem,
            file=self.file,
            key=".".join(part for part in (self.key, at) if part) or None,
            actual=actual,
            allowed=allowed,
        )

    def _refuse_if(self, wrong: Any, problem: str, at: str | None, *actual: Any, **allowed: Any) -> None:
        """Refuse the game if something is wrong; the actual value is shortened."""
        if wrong:
            raise self.error(problem, at, _brief(actual[0]) if actual else None, **allowed)

    def text(self, data: Mapping[Any, Any], key: str) -> str:
        value = "" if data.get(key) is None else data[key]
        self._refuse_if(not isinstance(value, str), "must be text (put it in quotes)", key, value)
        return str(value)

    def names(self, value: Any, at: str) -> tuple[str, ...]:
        self._refuse_if(not _is_list(value) or not value, "must be a list of names", at, value)
        for i, name in enumerate(value):
            self._refuse_if(not isinstance(name, str), "must be text (put it in quotes)", f"{at}[{i}]", name)
        return tuple(value)

    def actions(self, data: Mapping[Any, Any]) -> tuple[tuple[str, ...], ...]:
        value, seats = data["actions"], data.get("seats")
        wrong = seats is not None and (type(seats) is not int or not 1 <= seats <= MAX_SEATS)
        self._refuse_if(wrong, f"must be a whole number from 1 to {MAX_SEATS}", "seats", seats)
        self._refuse_if(
            not _is_list(value) or not value, "must be a list of names, or one list per seat", "actions", value
        )
        if not _is_list(value[0]):
            return (self.names(value, "actions"),) * (2 if seats is None else seats)
        if seats is not None and seats != len(value):
            raise self.error(f"lists the actions of {len(value)} seats, but seats is {seats}", "actions")
        return tuple(self.names(names, f"actions[{i}]") for i, names in enumerate(value))

    def roles(self, data: Mapping[Any, Any], seats: int) -> tuple[str, ...]:
        if data.get("roles") is None:
            return ()
        roles = self.names(data["roles"], "roles")
        self._refuse_if(len(roles) != seats, f"names {len(roles)} roles, the game has {seats} seats", "roles")
        return roles

    def indices(
        self, data: Mapping[Any, Any], key: str, actions: tuple[tuple[str, ...], ...]
    ) -> tuple[int | None, ...]:
        value = data.get(key)
        if value is None:
            return ()
        each = list(value) if _is_list(value) else [value] * len(actions)
        wrong = len(each) != len(actions)
        self._refuse_if(wrong, f"names {len(each)} actions, the game has {len(actions)} seats", key)
        for seat, name in enumerate(each):
            wrong = name is not None and name not in actions[seat]
            self._refuse_if(wrong, f"seat {seat + 1} has no such action", key, name, allowed=actions[seat])
        return tuple(None if name is None else actions[seat].index(name) for seat, name in enumerate(each))

    def params(self, data: Mapping[Any, Any]) -> dict[str, Any]:
        value = {} if data.get("params") is None else data["params"]
        fits = isinstance(value, Mapping) and all(isinstance(k, str) for k in value)
        self._refuse_if(not fits, "must be a mapping from names to values", "params", value)
        return dict(value)

    def words(self, data: Mapping[Any, Any]) -> Words:
        value = {} if data.get("words") is None else data["words"]
        self._refuse_if(not isinstance(value, Mapping), "must be a mapping", "words", value)
        word_keys = ("narrative", "titles", "personas", "kinds", "actions", "order")
        for key in value:
            self._refuse_if(key not in word_keys, "unknown key", f"words.{key}", allowed=word_keys)
        inner = _Reader(self.file, ".".join(part for part in (self.key, "words") if part))
        listed = {key: inner.names(value[key], key) for key in word_keys[1:4] if value.get(key) is not None}
        by_seat: dict[str, tuple[tuple[str, ...], ...]] = {}
        for key in word_keys[4:]:
            per_seat = () if value.get(key) is None else value[key]
            inner._refuse_if(not _is_list(per_seat), "must be one list per seat", key, per_seat)
            by_seat[key] = tuple(inner.names(names, f"{key}[{i}]") for i, names in enumerate(per_seat))
        return Words(
            inner.text(value, "narrative"),
            titles=listed.get("titles", ()),
            personas=listed.get("personas", ()),
            actions=by_seat["actions"],
            kinds=listed.get("kinds", ()),
            order=by_seat["order"],
        )

    def payoffs(self, value: Any, actions: tuple[tuple[str, ...], ...]) -> NDArray[np.float64]:
        import numpy as np

        tensor = np.full((*(len(names) for names in actions), len(actions)), np.nan)
        if isinstance(value, Mapping):
            self._by_outcome(value, actions, tensor)
        else:
            self._nested(value, actions, tensor, ())
        return tensor

    def _nested(self, value: Any, actions: Any, tensor: NDArray[np.float64], at: tuple[int, ...]) -> None:
        where = "payoffs" + "".join(f"[{i}]" for i in at)
        if len(at) == len(actions):
            tensor[at] = self._paid(value, len(actions), where)
            return
        if not _is_list(value) or len(value) != len(actions[len(at)]):
            raise self.error(
                f"must be a list with one entry per action of seat {len(at) + 1} ({len(actions[len(at)])})",
                where,
                actual=_brief(value),
            )
        for i, part in enumerate(value):
            self._nested(part, actions, tensor, (*at, i))

    def _by_outcome(self, value: Mapping[Any, Any], actions: Any, tensor: NDArray[np.float64]) -> None:
        import numpy as np

        for outcome, payoffs in value.items():
            names = [name.strip() for name in str(outcome).split(",")]
            if len(names) != len(actions):
                raise self.error(
                    f"names {how_many(len(names), 'action')}, and the game has {len(actions)} seats: an outcome names "
                    "one action for each (actions is one list for all seats, or one list per seat)",
                    f"payoffs.{outcome}",
                )
            for seat, name in enumerate(names):
                if name not in actions[seat]:
                    raise self.error(
                        f"seat {seat + 1} has no action {name!r}", f"payoffs.{outcome}", allowed=actions[seat]
                    )
            at = tuple(actions[seat].index(name) for seat, name in enumerate(names))
            if not np.isnan(tensor[at]).any():
                raise self.error("says this outcome twice", f"payoffs.{outcome}")
            tensor[at] = self._paid(payoffs, len(actions), f"payoffs.{outcome}")
        missing = np.argwhere(np.isnan(tensor).any(axis=-1))
        if len(missing):
            names = [actions[seat][i] for seat, i in enumerate(missing[0])]
            raise self.error(f"lacks the outcome '{', '.join(names)}' ({len(missing)} missing)", "payoffs")

    def _paid(self, value: Any, seats: int, at: str) -> list[float]:
        if not _is_list(value) or len(value) != seats:
            raise self.error(f"must be {seats} numbers, one per seat", at, actual=_brief(value))
        return [self._number(x, f"{at}[{i}]") for i, x in enumerate(value)]

    def _number(self, value: Any, at: str) -> float:
        # YAML reads 1e3 and 1/3 as text; people mean numbers.
        parsed = rational(value.strip()) if isinstance(value, str) else value
        if isinstance(parsed, bool) or not isinstance(parsed, (int, float)):
            raise self.error("must be a number", at, actual=_brief(value))
        try:
            number = float(parsed)
        except OverflowError:
            number = float("inf")
        if not isfinite(number):
            raise self.error("must be a finite number", at, actual=_brief(value))
        return number


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _brief(value: Any) -> Any:
    # A whole nested table in an error message helps nobody.
    match value:
        case Mapping():
            return f"a mapping of {len(value)}"
        case _ if _is_list(value):
            return f"a list of {len(value)}"
        case None:
            return "nothing"
    return value if len(text := str(value)) <= 60 else text[:57] + "..."


def _names(game: Game, indices: tuple[int | None, ...]) -> list[str | None]:
    return [None if i is None else game.actions[seat][i] for seat, i in enumerate(indices)]


def _words(words: Words) -> dict[str, Any]:
    parts = {
        "narrative": words.narrative,
        "titles": list(words.titles),
        "personas": list(words.personas),
        "kinds": list(words.kinds),
        "actions": [list(meanings) for meanings in words.actions],
        "order": [list(names) for names in words.order],
    }
    return {key: part for key, part in parts.items() if part}
