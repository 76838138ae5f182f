"""Controls of a mechanism: the same match without one part of it, to see which part matters.

``mechanism: {name: ..., control: NAME}`` puts one of these in its place:

* ``none``: the game once, without the mechanism;
* ``length``: the same, with a neutral text as long as the rules of the mechanism;
* ``induced``: the game that the mechanism makes rational players face, once, as plain payoffs and without its words;
* ``sham``: the words and the steps of the mechanism without its power, which the players are told.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from ostrom.games.game import Game
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.base import Mechanism, act, expected_payoffs, profile_of
from ostrom.mechanisms.protocol import Outcome, Play, Round, View
from ostrom.mechanisms.statements import Recognised

CONTROLS = ("none", "length", "induced", "sham")


def build_mechanism(spec: str | Mapping[str, Any], *, key: str, file: str | None = None) -> Mechanism:
    """Build a study's mechanism, or the control of it that ``control`` names."""
    if not isinstance(spec, Mapping) or "control" not in spec:
        return mechanisms.build(spec, key=key, file=file)
    rules = mechanisms.build({k: v for k, v in spec.items() if k != "control"}, key=key, file=file)
    control = spec["control"]
    if control is None:
        return rules
    if control not in CONTROLS:
        raise StudyError(
            "is no control of a mechanism", file=file, key=f"{key}.control", actual=control, allowed=CONTROLS
        )
    if control != "sham":
        return (
            Recognised(OneShotControl(rules.rules, control))
            if isinstance(rules, Recognised)
            else OneShotControl(rules, control)
        )
    sham = rules.as_sham()
    if sham is None:
        raise StudyError(
            f"mechanism {rules.name} cannot be played without its power",
            file=file, key=f"{key}.control", actual=control,
        )  # fmt: skip
    return sham


class OneShotControl(Mechanism):
    """A control that plays the game once: as it is, with a text as long as the rules, or as induced game."""

    name: ClassVar[str] = "none"
    one_shot: ClassVar[bool] = True

    def __init__(self, rules: Mechanism, control: str) -> None:
        self.rules, self.control = rules, control

    def check(self, game: Game) -> None:
        """Refuse games that the mechanism refuses, or without an induced game if that is requested."""
        self.rules.check(game)
        self._played(game)
        self._rules_facts(game)

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask every seat once."""
        played = self._played(game)
        facts = self._rules_facts(game)
        answers = yield [act(View(played, seat, self.name, facts=facts)) for seat in range(game.seats)]
        profile = profile_of(played, answers)
        payoffs, expected = played.payoff(profile), expected_payoffs(played, answers)
        if self.control == "induced":
            profile = self.rules.realised_profile(game, profile)
        return Outcome([Round(1, profile, payoffs, expected=expected)], payoffs)

    def most_decisions(self, game: Game) -> int:
        """One decision per seat."""
        return game.seats

    def _played(self, game: Game) -> Game:
        if self.control != "induced":
            return game
        induced = self.rules.induced_game(game)
        if induced is None:
            raise GameError(
                f"mechanism {self.rules.name}: what rational players face under it is not known, so there is no "
                "control 'induced'"
            )
        return induced

    def _rules_facts(self, game: Game) -> Mapping[str, Any]:
        """Return the facts for a text of equal length: the replaced rules and their facts."""
        if self.control != "length":
            return {}
        first = next((self.rules.preparation(game, 0) or self.rules).play(game, Streams(0, 0)))[0].view
        return {"as_long_as": {"mechanism": first.mechanism, "facts": dict(first.facts)}}
