"""The page that a participant sees now, without anything the participant must not know."""

import asyncio
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jinja2

from ostrom.answers import Choice, Record
from ostrom.games.amounts import IDLE
from ostrom.mechanisms.base import seat_key
from ostrom.mechanisms.protocol import Round
from ostrom.mechanisms.statements import RECOGNISE
from ostrom.people.forms import fields_of, sheet_fields
from ostrom.people.host import Host
from ostrom.people.live_visit import LiveVisit, PendingQuestion
from ostrom.people.markdown import render
from ostrom.people.payment import completion_link, due
from ostrom.people.pictures import address_of, path_of
from ostrom.people.text_checks import fill
from ostrom.people.text_files import localised
from ostrom.people.words import PageWords, words

NAMES = {"en": "English", "de": "Deutsch", "fr": "Français", "es": "Español", "it": "Italiano", "nl": "Nederlands"}
PLAIN = ("none", "repetition")
"""Mechanisms explained by the payoff table and the number of rounds alone."""


WITH_ANSWERS = ("done", "screened_out", "no_partner", "timed_out", "departed")
"""Ends of visits with stored answers, which can be withdrawn with the personal code."""
NOTHING = "–"
"""The sign for a player without a decision or with an unknown action."""
_MARKED = re.compile(r"[^\n]*\n<(messages|negotiation)>\n.*?\n</\1>\n?", re.DOTALL)
"""Messages in the form for models; people see them as a list."""


@lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """Return the template environment, with all values escaped."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("ostrom.web"), autoescape=True, undefined=jinja2.StrictUndefined,
        auto_reload=False, trim_blocks=True,
    )  # fmt: skip


EMPTY: Mapping[str, Any] = {
    "steps": 0, "step": 0, "notice": "", "problem": "", "leave": False, "refresh": None, "every": None,
    "script": True,
    "live": False, "body": "", "at": "",
}  # fmt: skip


def draw(language: str, context: Mapping[str, Any], *, part: bool = False) -> str:
    """Render a page, or its main part."""
    values = {**EMPTY, "w": words(language), "language": language, **context}
    return environment().get_template("main.html" if part else "base.html").render(values)


class Pages:
    """Pages of one study."""

    def __init__(self, host: Host) -> None:
        self.host, self.people = host, host.people
        self._texts: dict[tuple[str, int | None], Any] = {}

    def page(self, live: LiveVisit, *, problem: str = "", notice: str = "") -> dict[str, Any]:
        """Return the template values of the participant's current page."""
        if live.end is not None or live.leaving is not None:
            return self.end(live, live.end or live.leaving or "departed")
        entry = self.host.now_at(live)
        w = words(live.language)
        common = {
            "step": live.step + 1,
            "steps": len(self.people.visit),
            "live": True,
            "leave": True,
            "problem": problem,
            "notice": notice,
        }
        if entry is None:
            lobby = live.table is None and live.state == "waiting"
            body = w.waiting_partner if lobby else w.waiting_other
            return {**common, "kind": "wait", "title": w.waiting, "body": body, "at": "wait", "refresh": 3}
        self.host.shown(entry)
        common["at"] = entry.place
        if live.result is not None and not notice:
            common["notice"] = self._result(live, w)
        return {**common, **(self._step(live, entry, w) if entry.prompt is None else self._match(entry, w))}

    def text(self, name: str, language: str, cell: int | None) -> Any:
        """A Markdown text of the study in a language with the values of a cell, rendered as HTML and cached."""
        file = localised(name, language, self.people.languages)
        if (file, cell) not in self._texts:
            self._texts[file, cell] = render(
                fill(self.people.texts[file], self.host.plan.values(cell, language)),
                lambda picture: self._picture(file, picture),
            )
        return self._texts[file, cell]

    def _picture(self, text: str, name: str) -> str:
        path = path_of(text, name)
        return address_of(path, self.people.pictures.get(path, ""))

    def _step(self, live: LiveVisit, entry: PendingQuestion, w: PageWords) -> dict[str, Any]:
        decision = entry.decision
        if decision.kind == "accommodation":
            return self._accommodation(entry, w)
        facts = decision.view.facts
        if (sheet := self.host.sheet(decision, live.language)) is not None:
            wrong = dict.fromkeys(facts.get("wrong", ()), w.wrong_here)
            for name, question in sheet.named():
                if name in wrong and question.explain:
                    wrong[name] += " " + question.explain
            left = facts.get("tries_left")
            body = f"{w.tries_left}: {left}" if left is not None and facts.get("tries") else ""
            more = {"notice": w.wrong} if facts.get("wrong") else {}
            fields = sheet_fields(sheet, entry.facts.get("orders", {}))
            title = sheet.title or (w.choose if len(fields) == 1 else self.host.title)
            return {"kind": "sheet", "title": title, "fields": fields, "wrong": wrong, "body": body, **more}
        body = self.text(self.people.visit[facts["number"]].file or "", live.language, live.cell)
        consent = [("agree", w.agree, False), ("decline", w.decline, True)]
        buttons = consent if decision.kind == "consent" else [("continue", w["continue"], False)]
        more = {"notice": w.again} if facts.get("again") else {}
        return {
            "kind": "text", "title": self.host.title, "own_title": "<h1" in body, "body": body, "buttons": buttons,
            **more,
        }  # fmt: skip

    def _accommodation(self, entry: PendingQuestion, w: PageWords) -> dict[str, Any]:
        form = entry.decision.form
        assert isinstance(form, Choice)
        names = {"none": w.accommodation_none, "1": w.accommodation_one}
        buttons = [(o, names.get(o) or w.accommodation_factor.format(factor=o), o != "1") for o in form.options]
        body = render(w.accommodation_text.format(seconds=f"{self.people.time.decision or 0:g}"))
        return {"kind": "text", "title": w.accommodation, "own_title": False, "body": body, "buttons": buttons}

    def _match(self, entry: PendingQuestion, w: PageWords) -> dict[str, Any]:
        decision, prompt = entry.decision, entry.prompt
        assert prompt is not None
        view = decision.view
        rounds = view.facts.get("rounds")
        if decision.kind == RECOGNISE or (rounds and view.round > rounds):  # asked after the last round
            title = w.match_over
        elif rounds:
            title = w.round_of.format(round=view.round, rounds=rounds)
        else:
            title = w.round.format(round=view.round)
        left = None if entry.deadline is None else max(0, round(entry.deadline - asyncio.get_running_loop().time()))
        fields = fields_of(decision.form, prompt.labels, _names(entry, w))
        two = view.game.seats == 2
        past_rounds = list(entry.past.rounds) if entry.past is not None and view.facts.get("repeated") else []
        history = [_line(entry, played, w) for played in past_rounds]
        acts = decision.kind == "act" and isinstance(decision.form, Choice)
        return {
            "kind": "match", "title": title if view.facts.get("repeated") else self.host.title, "left": left,
            "payoffs": _payoffs(entry) if two and view.game.has_table else None,
            "words": _MARKED.sub("", prompt.full_text.replace(prompt.instruction, entry.fields)).strip(),
            "messages": _messages(entry, w),
            "open_words": view.mechanism not in PLAIN or bool(entry.fields), "two": two,
            "heads": [w.you, w.other] if two else [w.you, *(w.player.format(number=s + 1) for s in _seats(entry)[1:])],
            "history": history, "last": _last(history, w) if two else "",
            "total": _number(sum(p.payoffs[view.seat] for p in past_rounds)),
            "choices": fields[0].options if acts or fields[0].kind == "buttons" else None, "fields": fields,
            "more": left is not None and self.host.may_extend(entry),
            "refresh": None if left is None else left + 2,
        }  # fmt: skip

    def _result(self, live: LiveVisit, w: PageWords) -> str:
        result = live.result or {}
        ended = w.match_over if result.get("whole") else w.match_broken
        last = result.get("last_words")
        last_text = w.last_round.format(**last) + " " if last else ""
        points = _number(result.get("points", 0.0))
        return f"{ended} {last_text}{w.match_point if points == '1' else w.match_points.format(points=points)}"

    def end(self, live: LiveVisit, how: str) -> dict[str, Any]:
        """Return the final page of a visit, with its code and payment."""
        w, people = words(live.language), self.people
        base, bonus = due(self.host.plan.people_of(live.cell).pay, live.earned or how, live.points)
        values = {"base": base, "bonus": bonus, "currency": people.pay.currency}
        paid = w.paid_all if base else w.paid_bonus if bonus else w.paid_nothing
        title, _, rest = w[f"end_{how}"].partition(". ")
        lines = [rest, paid.format(**values)] if rest else [paid.format(**values)]
        code = people.codes.get(how, "")
        return {
            "kind": "end", "title": title.rstrip("."), "lines": lines,
            "code": code, "link": completion_link(people.source.name, code), "at": f"end-{how}",
            "person": live.code if how in WITH_ANSWERS else "",
        }  # fmt: skip


def _seats(entry: PendingQuestion) -> list[int]:
    view = entry.decision.view
    return [view.seat, *(s for s in range(view.game.seats) if s != view.seat)]


def _payoffs(entry: PendingQuestion) -> dict[str, Any]:
    """Return the payoffs of a two-player game from the reader's side."""
    view, labels = entry.decision.view, entry.labels
    own, other = view.seat, 1 - view.seat

    def paid(i: int, j: int) -> tuple[str, str]:
        points = view.game.payoff((i, j) if own == 0 else (j, i))
        return _number(points[own]), _number(points[other])

    columns = range(len(labels[other]))
    return {
        "others": labels[other],
        "rows": [(label, [paid(i, j) for j in columns]) for i, label in enumerate(labels[own])],
    }


def _last(history: list[dict[str, Any]], w: PageWords) -> str:
    """Describe both choices of the last round; void rounds are explained in the list of rounds."""
    own, other = history[-1]["labels"] if history else ("", "")
    return w.last_round.format(own=own, other=other) if history and not {w.missed, NOTHING} & {own, other} else ""


def _player(entry: PendingQuestion, seat: int, w: PageWords) -> str:
    view = entry.decision.view
    if seat == view.seat:
        return w.you
    return w.other if view.game.seats == 2 else w.player.format(number=seat + 1)


def _names(entry: PendingQuestion, w: PageWords) -> dict[str, str]:
    """Return the words for a record's keys and values, in the page's language."""
    form, view = entry.decision.form, entry.decision.view
    names = {key.removeprefix("field_"): word for key, word in w.items() if key.startswith("field_")}
    for seat in range(view.game.seats):
        key, name = seat_key(seat), _player(entry, seat, w)
        names[key] = name
        if not isinstance(form, Record) or form.name != "channel_message":  # a channel may have any name
            names |= {f"from_{key}": name, f"to_{key}": name}
    return names


def _negotiated(entry: PendingQuestion, event: Mapping[str, Any], w: PageWords) -> tuple[str, str]:
    """Return a message, an offer or an outcome of a negotiation: who, and what."""
    if "result" in event:
        return w.result, w[f"result_{event['result']}"]
    parts = [str(event["text"]).strip()]
    if "accepts" in event:
        parts.append(w.accepted if event["accepts"] else w.refused)
    elif event["offer"]:
        parts.append(f"{w.offer}: {_terms(entry, event['offer'], w)}")
    return _player(entry, event["from"], w), "\n".join(filter(None, parts)) or NOTHING


def _terms(entry: PendingQuestion, offer: Mapping[str, Any], w: PageWords) -> str:
    """Return an offer in one line: the commitments, and who pays whom."""
    bound = [
        f"{_player(entry, one['seat'], w)}: "
        + (_number(one["amount"]) if "amount" in one else str(entry.labels[one["seat"]][one["action"]]))
        for one in offer["actions"]
    ]
    paid = [
        f"{_player(entry, one['from'], w)} → {_player(entry, one['to'], w)}: {_number(one['amount'])} "
        f"({w['field_when_' + one['when']]})"
        for one in offer["payments"]
    ]
    return "; ".join(bound + paid)


def _messages(entry: PendingQuestion, w: PageWords) -> list[tuple[str, str]]:
    """Return the messages of this round, the reader's own first; in talk, in order."""
    facts, own = entry.decision.view.facts, entry.decision.view.seat
    texts = facts.get("messages") or ()
    names = {s: w.player.format(number=s + 1) if len(texts) > 2 else w.other for s in range(len(texts))} | {own: w.you}
    heard = [(names[s], str(texts[s]).strip() or "–") for s in _seats(entry) if s < len(texts)]
    heard += [_negotiated(entry, event, w) for event in facts.get("log") or ()]
    return heard + [_heard(message, w) for message in (facts.get("talk") or {}).get("messages", ())]


def _heard(message: Mapping[str, Any], w: PageWords) -> tuple[str, str]:
    """Return the speaker, the addressee if it is one player, and the text."""
    ends = [(message["own"], message["from"])]
    if "to" in message:
        ends.append((message["to_you"], message["to"]))
    named = [w.you if you else w.player.format(number=who + 1) if type(who) is int else str(who) for you, who in ends]
    if "channel" in message:
        named.append(str(message["channel"]))
    return " → ".join(named), str(message["text"]).strip() or "–"


def _line(entry: PendingQuestion, played: Round, w: PageWords) -> dict[str, Any]:
    view, labels = entry.decision.view, entry.labels
    if not played.actions:
        chosen = [w.missed if seat in getattr(played, "missed", ()) else NOTHING for seat in _seats(entry)]
    else:
        named = [labels[seat][played.actions[seat]] for seat in _seats(entry)]
        chosen = [NOTHING if name == IDLE else name for name in named]
    other = played.payoffs[1 - view.seat] if view.game.seats == 2 else 0.0
    return {
        "number": played.number, "labels": chosen, "own": _number(played.payoffs[view.seat]), "other": _number(other),
    }  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.10g}"
