"""The rules of a mechanism as text: in a wording, as a sham, or as a neutral text of equal length."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.framing.library import Library
from ostrom.mechanisms.protocol import View

FILLER = "mechanisms/_filler.txt"


def talk_files(facts: Mapping[str, Any]) -> tuple[str, str]:
    """Return the files of the talk rules and messages; channels have their own."""
    channel = "channel_" if "channels" in facts["talk"] else ""
    return f"talk/{channel}rules.txt", f"talk/{channel}messages.txt"


FIRST = ("predict", "best_response")
"""The kinds of preliminary questions of styles, asked with the view of the action that follows."""
PAGE = "page"
"""The wording of records for people, who fill in fields instead of JSON."""
_TOKEN = re.compile(r"\w+|[^\w\s]")


def rules_file(mechanism: str, wording: str | None) -> str:
    """Return the file of the rules in a wording; without a mechanism there is one wording."""
    own = f"mechanisms/{mechanism}.{wording}.txt"
    return f"mechanisms/{mechanism}.txt" if wording is None or mechanism == "none" else own


def question_file(library: Library, mechanism: str, kind: str, wording: str | None, sham: bool = False) -> str:
    """Return the file of a question: of the sham or wording, else of the mechanism, else the common one."""
    return _own_file(library, f"turns/{mechanism}_{kind}", wording, sham) or f"turns/{kind}.txt"


def told_file(library: Library, mechanism: str, kind: str, wording: str | None, facts: Mapping[str, Any]) -> str | None:
    """Return the file with a mechanism's facts, shown before a question that is not its own; None if there is none."""
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
    """Return the file about a JSON answer, in a wording if it has one."""
    own = f"records/{name}.{wording}.txt"
    return own if wording is not None and library.has(own) else f"records/{name}.txt"


def rules_files(view: View, wording: str | None) -> Iterator[str]:
    """Yield the files of a view's rules."""
    yield rules_file(view.mechanism, wording)
    if view.facts.get("sham"):
        yield f"mechanisms/{view.mechanism}.sham.txt"
    if "talk" in view.facts:
        yield from talk_files(view.facts)
    if (other := view.facts.get("as_long_as")) is not None:
        yield from (FILLER, rules_file(other["mechanism"], wording))


def rules_text(library: Library, view: View, wording: str | None, values: Mapping[str, Any]) -> str:
    """Return the rules of a view as text."""
    text = _with_talk(library, library.fill(rules_file(view.mechanism, wording), values), values)
    if view.facts.get("sham"):
        text += "\n\n" + library.fill(f"mechanisms/{view.mechanism}.sham.txt", values)
    if (other := view.facts.get("as_long_as")) is not None:
        meant = {**values, "facts": other["facts"], "mechanism": other["mechanism"]}
        missing = tokens(
            _with_talk(library, library.fill(rules_file(other["mechanism"], wording), meant), meant)
        ) - tokens(text)
        if missing > 0:
            text += "\n\n" + of_length(library.fill(FILLER, values), missing)
    return text


def _with_talk(library: Library, rules: str, values: Mapping[str, Any]) -> str:
    """Return the rules with those of the talk, if there is any."""
    if "talk" not in values["facts"]:
        return rules
    return f"{rules}\n\n{library.fill(talk_files(values['facts'])[0], values)}"


def tokens(text: str) -> int:
    """Return the number of words and punctuation marks, an estimate of tokens.

    >>> tokens("It ends, or not.")
    6
    """
    return len(_TOKEN.findall(text))


def of_length(text: str, count: int) -> str:
    """Cut or repeat a text to exactly this many tokens, ending with a full stop.

    >>> of_length("One two three. Four five.", 5), of_length("One.", 5)
    ('One two three. .', 'One. One. .')
    """
    ends = [match.end() for match in _TOKEN.finditer(text)]
    repeats, rest = divmod(count - 1, len(ends))
    cut = text[: ends[rest - 1]] if rest else ""
    return " ".join([*[text.strip()] * repeats, cut, "."]).replace("  ", " ").strip() if count > 1 else "."
