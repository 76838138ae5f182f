"""The rules of a mechanism in words: in which wording, without power, or as a neutral text of the same length."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.framing.library import Library
from ostrom.mechanisms.protocol import View

FILLER = "mechanisms/_filler.txt"


def talk_files(facts: Mapping[str, Any]) -> tuple[str, str]:
    """The files of the rules of talk and of the messages that were heard; channels have their own."""
    channel = "channel_" if "channels" in facts["talk"] else ""
    return f"talk/{channel}rules.txt", f"talk/{channel}messages.txt"


FIRST = ("predict", "best_response")
"""The questions that styles ask before an action: the player knows then what it knows when it acts."""
PAGE = "page"
"""The wording of a record for people, who fill in the fields of a page instead of writing JSON."""
_TOKEN = re.compile(r"\w+|[^\w\s]")


def rules_file(mechanism: str, wording: str | None) -> str:
    """The file of the rules in a wording; playing once without a mechanism has one wording."""
    own = f"mechanisms/{mechanism}.{wording}.txt"
    return f"mechanisms/{mechanism}.txt" if wording is None or mechanism == "none" else own


def question_file(library: Library, mechanism: str, kind: str, wording: str | None, sham: bool = False) -> str:
    """The template of a question: that of the sham or the wording, else of the mechanism, else the common one."""
    return _own_file(library, f"turns/{mechanism}_{kind}", wording, sham) or f"turns/{kind}.txt"


def told_file(library: Library, mechanism: str, kind: str, wording: str | None, facts: Mapping[str, Any]) -> str | None:
    """The template of what a mechanism tells before a decision whose question is not its own; None without one."""
    sham = bool(facts.get("sham"))
    if "stage" in facts:  # the question is that of the stage, whatever the mechanism
        return _own_file(library, f"turns/{mechanism}_moves", wording, sham) if kind in ("act", *FIRST) else None
    if kind not in FIRST and "messages" not in facts:
        return None
    if question_file(library, mechanism, kind, wording, sham) != f"turns/{kind}.txt":
        return None
    return _own_file(library, f"turns/{mechanism}_told", wording, sham)


def _own_file(library: Library, own: str, wording: str | None, sham: bool) -> str | None:
    tried = [f"{own}.{variant}.txt" for variant in ("sham" if sham else None, wording) if variant]
    return next((file for file in (*tried, f"{own}.txt") if library.has(file)), None)


def record_file(library: Library, name: str, wording: str | None) -> str:
    """The file that says what a JSON answer has to hold, in a wording where it has one."""
    own = f"records/{name}.{wording}.txt"
    return own if wording is not None and library.has(own) else f"records/{name}.txt"


def rules_files(view: View, wording: str | None) -> Iterator[str]:
    """The files that the rules of a view are put together from."""
    yield rules_file(view.mechanism, wording)
    if view.facts.get("sham"):
        yield f"mechanisms/{view.mechanism}.sham.txt"
    if "talk" in view.facts:
        yield from talk_files(view.facts)
    if (other := view.facts.get("as_long_as")) is not None:
        yield from (FILLER, rules_file(other["mechanism"], wording))


def rules_text(library: Library, view: View, wording: str | None, values: Mapping[str, Any]) -> str:
    """The rules of a view in words."""
    text = _with_talk(library, library.fill(rules_file(view.mechanism, wording), values), values)
    if view.facts.get("sham"):
        text += "\n\n" + library.fill(f"mechanisms/{view.mechanism}.sham.txt", values)
    if (other := view.facts.get("as_long_as")) is not None:
        meant = {**values, "facts": other["facts"], "mechanism": other["mechanism"]}
        replaced = _with_talk(library, library.fill(rules_file(other["mechanism"], wording), meant), meant)
        missing = tokens(replaced) - tokens(text)
        if missing > 0:
            text += "\n\n" + of_length(library.fill(FILLER, values), missing)
    return text


def _with_talk(library: Library, rules: str, values: Mapping[str, Any]) -> str:
    """The rules, and those of the talk around them where there is any."""
    if "talk" not in values["facts"]:
        return rules
    return f"{rules}\n\n{library.fill(talk_files(values['facts'])[0], values)}"


def tokens(text: str) -> int:
    """How many words and punctuation marks a text has, which stands for tokens of any model.

    >>> tokens("It ends, or not.")
    6
    """
    return len(_TOKEN.findall(text))


def of_length(text: str, count: int) -> str:
    """A text cut or repeated to exactly so many tokens; its last one is a full stop.

    >>> of_length("One two three. Four five.", 5), of_length("One.", 5)
    ('One two three. .', 'One. One. .')
    """
    ends = [match.end() for match in _TOKEN.finditer(text)]
    repeats, rest = divmod(count - 1, len(ends))
    cut = text[: ends[rest - 1]] if rest else ""
    return " ".join([*[text.strip()] * repeats, cut, "."]).replace("  ", " ").strip() if count > 1 else "."
