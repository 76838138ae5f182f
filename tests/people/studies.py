"""A study with every step of a visit, two cells and two games."""

from typing import Any

QUIZ = """
title: Questions on the rules
questions:
  - {name: rounds, text: "How many rounds has a game?", options: [2, 3, 10], answer: 3, explain: Read the second line.}
  - {name: same, text: "Is the other player the same in all rounds?", options: [yes, no], answer: yes}
"""
SURVEY = """
title: About you
questions:
  - {name: age, text: "How old are you?", number: {low: 18, high: 120}}
  - {name: remarks, text: "Is there anything else? <b>Anything</b>", free: 500, optional: true}
"""


def whole_study(**people: Any) -> dict[str, Any]:
    """Consent, instructions, quiz, two games with guesses, survey, debriefing."""
    guess = {"name": "guess", "text": "Who was the other?", "options": ["person", "artificial"], "order": "random"}
    return {
        "name": "whole",
        "title": "Two games",
        "game": {"name": "prisoners_dilemma", "preset": "repeated_games"},
        "mechanism": {"name": "repetition", "rounds": 3, "told_rounds": True},
        "agent": {"memory": "full", "framing": {"labels": "JF", "goal": None}},
        "types": {"other": {"strategy": "random"}, "you": {"person": "web"}},
        "seating": "seats",
        "vary": {
            "against": {who: {"types.other.strategy": who} for who in ("alternator", "random")},
            "order": {"pd_first": {"people.matches": ["pd", "bos"]}, "bos_first": {"people.matches": ["bos", "pd"]}},
        },
        "people": {
            "source": {"name": "prolific"},
            "quota": 25,
            "assign": {"rule": "least_filled", "coin": 0.2, "after": "quiz"},
            "games": {"pd": {}, "bos": {"game": {"name": "battle_of_the_sexes"}}},
            "matches": ["pd", "bos"],
            "visit": [
                {"consent": "consent.md"},
                {"text": "instructions.md"},
                {"quiz": {"file": "quiz.yaml", "wrong": "instructions"}},
                {"match": 1},
                {"ask": guess},
                {"match": 2},
                {"ask": guess},
                {"survey": "survey.yaml"},
                {"debrief": "debrief.md"},
            ],
            "pay": {"currency": "GBP", "base": 3.00, "per_point": 0.01, "at_most": 2.00},
            "codes": {"done": "CDONE", "declined": "CDECL", "departed": "CDEP", "full": "CFULL", "no_partner": "CNOP"},
            "texts": {
                "consent.md": "# Consent\n\nDo you *agree*?",
                "instructions.md": "# Instructions\n\nA game has **three** rounds.\n\n- one\n- two",
                "quiz.yaml": QUIZ,
                "survey.yaml": SURVEY,
                "debrief.md": "# Thank you\n\nThe other player was a program.",
            },
            **people,
        },
    }


def pair_study(**people: Any) -> dict[str, Any]:
    """Two people play with each other."""
    made = whole_study(**people)
    made |= {"name": "pair", "types": {"you": {"person": "web"}, "stand": "tit_for_tat"}, "vary": {}}
    made["types"] = {"one": {"person": "web"}, "two": {"person": "web"}}
    section = made["people"]
    section |= {
        "games": {"pd": {}},
        "matches": ["pd"],
        "visit": [{"match": 1}, {"debrief": "debrief.md"}],
        "assign": {},
        "texts": {"debrief.md": "# Thank you"},
        **people,
    }
    return made
