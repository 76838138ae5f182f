"""A browser of the scenarios: story, payoff table, equilibria, and what was played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup, escape

from ostrom.data.rundata import RunData
from ostrom.games.equilibria import pure_equilibria
from ostrom.games.game import Game
from ostrom.games.parameters import shown
from ostrom.replications.personas.profiles import Played, condition_label, conditions, profiles_of
from ostrom.reports.panel import Drawn, Panel
from ostrom.reports.words import labels

MOST_ROWS = 256
"""Payoff tables with more profiles are not written out."""


class Scenarios(Panel):
    """Every scenario of the run to open and read."""

    title = "Scenarios"

    def draw(self, data: RunData) -> Drawn:
        """One block per scenario, closed at first."""
        found = profiles_of(data)
        if not found:
            return Drawn(notes=["No one-shot match is finished, so there is no profile to show."])
        by = conditions(data, found)
        names = labels(p.agent for p in found)
        blocks = []
        for name in dict.fromkeys(p.scenario for p in found):
            own = [p for p in found if p.scenario == name]
            blocks.append(_block(data.game(own[0].match), own, by, names))
        return Drawn(html=blocks, notes=[f"{len(blocks)} scenarios; open one to read it."])


def _block(game: Game, own: Sequence[Played], by: Sequence[str], names: dict[str, str]) -> Markup:
    kind = ", ".join(str(game.params[key]) for key in ("class", "subtype") if key in game.params)
    nash = sum(p.nash for p in own)
    head = Markup("<summary><strong>{}</strong> ({}): {} of {} profiles are equilibria</summary>").format(
        game.title, kind or game.name, nash, len(own)
    )
    story = Markup("<p>{}</p>").format(game.words.narrative) if game.words.narrative else Markup("")
    return Markup('<details class="data">{}{}{}{}{}</details>').format(
        head, story, _equilibria(game), _payoffs(game, own), _played(own, by, names)
    )


def _equilibria(game: Game) -> Markup:
    found = pure_equilibria(game)
    if not found:
        return Markup('<p class="note">No pure equilibrium.</p>')
    items = Markup("").join(
        Markup("<li>{} ({}; pays {})</li>").format(
            " / ".join(game.actions[s][a] for s, a in enumerate(e.profile)),
            "strict" if e.strict else "weak",
            ", ".join(shown(x) for x in e.payoffs),
        )
        for e in found
    )
    return Markup("<p>Pure equilibria:</p><ul>{}</ul>").format(items)


def _payoffs(game: Game, own: Sequence[Played]) -> Markup:
    profiles = list(game.profiles())
    if len(profiles) > MOST_ROWS:
        return Markup('<p class="note">{} profiles: the payoff table is not written out.</p>').format(
            len(profiles)
        )
    stable = {e.profile for e in pure_equilibria(game)}
    times = Counter(p.actions for p in own)
    roles = game.words.titles or game.roles
    rows = []
    for profile in profiles:
        actions = tuple(game.actions[s][a] for s, a in enumerate(profile))
        rows.append([
            *actions, *(shown(x) for x in game.payoff(profile)),
            "yes" if profile in stable else "", str(times[actions] or ""),
        ])  # fmt: skip
    columns = [*roles, *(f"{role}: payoff" for role in roles), "equilibrium", "played"]
    return _table("Payoffs", columns, rows)


def _played(own: Sequence[Played], by: Sequence[str], names: dict[str, str]) -> Markup:
    counts = Counter(
        (names[p.agent], condition_label({n: p[n] for n in by}, by), " / ".join(p.actions), p.nash)
        for p in own
    )
    rows = [
        [agent, condition, profile, "yes" if nash else "", str(n)]
        for (agent, condition, profile, nash), n in counts.items()
    ]
    return _table("What was played", ["agent", "condition", "profile", "equilibrium", "times"], rows)


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in columns)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row))
        for row in rows
    )
    return Markup(
        '<p>{}:</p><div class="scroll" tabindex="0"><table>'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(escape(caption), head, body)
