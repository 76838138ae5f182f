"""Rewiring: members of a society cut links and propose new ones. Cutting takes one, a new link takes two."""

from collections.abc import Mapping
from typing import Any

from ostrom.answers import Record
from ostrom.ground.parameters import Count, PositiveShare
from ostrom.ground.values import value
from ostrom.mechanisms.base import closed_object
from ostrom.mechanisms.protocol import Decision, View
from ostrom.mechanisms.societies import Life, Steps, called, record_of

NOBODY = "nobody"


@value
class Rewiring:
    """After every ``every``-th round a ``share`` of the members may each cut one link and propose another.

    A proposal goes to one of at most ``offers`` members who are no neighbours yet, drawn by chance; whoever is proposed
    to accepts or not. ``seen`` bounds how many neighbours are shown with their records.
    """

    every: Count = 1
    share: PositiveShare = 0.1
    offers: Count = 3
    seen: Count = 12

    def asked(self, count: int) -> int:
        """How many members are asked at a time."""
        return max(1, round(self.share * count))

    def most_decisions(self, count: int, rounds: int) -> int:
        """Everybody who is asked may propose, and every proposal may be somebody else's to accept."""
        return 2 * self.asked(count) * ((rounds - 1) // self.every)

    def steps(self, life: Life, number: int, name: str, told: Mapping[str, Any]) -> Steps:
        """Ask for cuts and proposals, then for acceptances; then change the links."""
        if number % self.every:
            return
        rng = life.streams.about(number, 0, "rewiring")
        chosen = sorted(int(p) for p in rng.permutation(life.count)[: self.asked(life.count)])
        near, far = {}, {}
        for player in chosen:
            around = sorted(life.links[player])
            near[player] = sorted(around[int(i)] for i in rng.permutation(len(around))[: self.seen])
            free = [p for p in range(life.count) if p != player and p not in life.links[player]]
            far[player] = sorted(free[int(i)] for i in rng.permutation(len(free))[: self.offers])
        answers = yield [
            self._question("link", life, player, number, name, told, near[player], far[player])
            for player in chosen
        ]
        by_name = {own: member for member, own in enumerate(life.names)}
        cut: list[list[int]] = []
        proposed: dict[int, list[int]] = {}
        for player, answer in zip(chosen, answers, strict=True):
            if (left := answer.value["cut"]) != NOBODY:
                cut.append(sorted((player, by_name[left])))
            if (wanted := answer.value["propose"]) != NOBODY:
                proposed.setdefault(by_name[wanted], []).append(player)
        made: list[list[int]] = []
        if proposed:
            targets = sorted(proposed)
            answers = yield [
                self._question("accept", life, target, number, name, told, [], proposed[target])
                for target in targets
            ]
            for target, answer in zip(targets, answers, strict=True):
                made += [sorted((target, p)) for p in proposed[target] if answer.value[life.names[p]]]
        for one, other in cut:
            life.links[one].discard(other)
            life.links[other].discard(one)
        for one, other in made:
            life.links[one].add(other)
            life.links[other].add(one)
        for kind, pairs in (("cut", cut), ("made", made)):
            unique = sorted({(one, other) for one, other in pairs})
            life.facts["changes"] += [[number, kind, one, other] for one, other in unique]

    def _question(
        self, kind: str, life: Life, player: int, number: int, name: str, told: Mapping[str, Any],
        near: list[int], far: list[int],
    ) -> Decision:  # fmt: skip
        window = int(told["window"])
        oldest = max(0, len(life.past) - window)
        people = [
            {
                "name": called(who, life.names, player),
                "linked": who in near,
                "record": record_of(who, life.past, oldest, 1, life.names, player),
            }
            for who in (*near, *far)
        ]
        facts = {**told, "people": people, "neighbours": len(life.links[player])}
        view = View(life.game, 0, name, number, life.history(player), facts, life.unnamed)
        form = links_form(near, far, life.names) if kind == "link" else accept_form(far, life.names)
        return Decision(player, kind, view, form, life.agent(player))


def links_form(near: list[int], far: list[int], names: tuple[str, ...]) -> Record:
    """Whom to leave and to whom to propose; nobody is always possible."""
    choices = {"cut": near, "propose": far}
    properties = {
        key: {"type": "string", "enum": [NOBODY, *(names[p] for p in who)]} for key, who in choices.items()
    }
    return Record("links", closed_object(properties))


def accept_form(who: list[int], names: tuple[str, ...]) -> Record:
    """Yes or no to every proposal."""
    return Record("accept", closed_object({names[p]: {"type": "boolean"} for p in who}))
