"""Names and numbers as text for the page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ostrom.ground import words
from ostrom.ground.python_files import readable

LONGEST = 100
LONGEST_QUESTION = 180
"""The longest sentence for a headline, in characters."""


class Share(float):
    """A number shown in per cent; files keep its value."""


def pretty(name: Any) -> str:
    """Return a name in readable form.

    >>> pretty("history_length"), pretty(None), pretty(True)
    ('history length', 'none', 'yes')
    """
    match name:
        case None:
            return "none"
        case bool():
            return "yes" if name else "no"
        case float():
            return f"{name:g}"
        case _:
            return str(name).replace("_", " ")


def written(value: Any) -> str:
    """Return a level as its author wrote it: files, models and own names keep their underscores.

    >>> written("my_memory.py:recent@1a2b3c4d5e6f"), written("http://10.0.0.1/v1#a_b"), written(None), written(0.50)
    ('my_memory.py:recent', 'a_b', 'none', '0.5')
    """
    if not isinstance(value, str):
        return pretty(value)
    # A server's host and a function's hash say little to a reader.
    return readable(value.rpartition("#")[2] or value if value.startswith(("http://", "https://")) else value)


def upper(text: str) -> str:
    """A text that begins with a capital letter.

    >>> upper("two of 3 are exact")
    'Two of 3 are exact'
    """
    return text[:1].upper() + text[1:]


def shortened(text: str, most: int = LONGEST) -> str:
    """Shorten a long text in the middle: both ends of a model's name matter.

    >>> shortened("provider/some-very-long-model-name-70b-instruct", 24)
    'provider/so…70b-instruct'
    """
    right = most // 2
    return text if len(text) <= most else text[: most - right - 1] + "…" + text[-right:]


def labels(names: Iterable[Any], most: int = LONGEST, own: Mapping[str, str] | None = None) -> dict[Any, str]:
    """Return short, unique labels for names; those in ``own`` have priority.

    >>> labels(["a_b", "a b"])
    {'a_b': 'a_b', 'a b': 'a b'}
    >>> labels(["a_b", 4], own={"a_b": "Agent B", "4": "four"})
    {'a_b': 'Agent B', 4: 'four'}
    >>> labels(["http://127.0.0.1:8000/v1#llama-8b", "openai/gpt-4o"])
    {'http://127.0.0.1:8000/v1#llama-8b': 'llama-8b', 'openai/gpt-4o': 'openai/gpt-4o'}
    """
    chosen = own or {}
    short = {name: chosen.get(str(name)) or shortened(written(name), most) for name in list(dict.fromkeys(names))}
    times = Counter(short.values())
    return {name: label if times[label] == 1 else str(name) for name, label in short.items()}


def is_bare(value: Any) -> bool:
    """Return whether a value is a number or looks like one, and so needs its name.

    >>> [is_bare(v) for v in (3, "10", "direct", True, None)]
    [True, True, False, False, False]
    """
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, int | float) and not isinstance(value, bool)


def join_labels(names: Iterable[Any]) -> str:
    """Join names for a sentence.

    >>> join_labels(["a", "b", "c"])
    'a, b and c'
    """
    return words.join_words(pretty(name) for name in names)


def number(value: Any) -> str:
    """Format a value for a table; None is a dash.

    >>> [number(v) for v in (None, 0.5, 12345, 1234567.8, 0.00012, True, Share(0.256), "stag_hunt")]
    ['–', '0.500', '12,345', '1,234,568', '0.00012', 'yes', '25.6 %', 'stag_hunt']
    """
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case Share():
            return share(value)
        case int():
            return f"{value:,}"
        case float() if value != value:
            return "–"
        case float() if abs(value) >= 10_000:
            return f"{value:,.0f}"
        case float() if value and abs(value) < 0.001:
            return f"{value:.2g}"
        case float():
            return f"{value:.3f}" if abs(value) < 100 else f"{value:,.1f}"
        case _:
            return str(value)


def column_texts(values: Sequence[Any]) -> list[str]:
    """Format the values of a column with equal decimals.

    >>> column_texts([0.5, 123.456, None]), column_texts([0.5, 1.25]), column_texts(["a", 0.5])
    (['0.5', '123.5', '–'], ['0.500', '1.250'], ['a', '0.500'])
    """
    plain = [v for v in values if type(v) is float and v == v]
    if any(abs(v) >= 100 for v in plain) and all(v is None or type(v) is float for v in values):
        digits = 0 if max(map(abs, plain)) >= 10_000 else 1
        return [number(v) if v is None or v != v else f"{v:,.{digits}f}" for v in values]
    return [number(value) for value in values]


def share(value: float | None) -> str:
    """Format a share in per cent.

    >>> share(0.256), share(None), share(0.0004), share(0.0)
    ('25.6 %', '–', '< 0.1 %', '0.0 %')
    """
    return "–" if value is None else "< 0.1 %" if 0 < value < 0.001 else f"{100 * value:.1f} %"


def question(study: Mapping[str, Any]) -> tuple[str, str]:
    """Return the heading of a report, and the rest of the study's text.

    A question stands there only where the study declares what answers it.

    >>> question({"name": "m", "title": "Memory", "about": "It is long. Does it help? It may.", "answers": [{}]})
    ('Does it help?', 'It is long. It may.')
    >>> question({"name": "m", "title": "Does it help?", "about": "Who knows?", "answers": [{}]})
    ('Does it help?', 'Who knows?')
    >>> question({"name": "long_memory", "title": "Does it help?", "about": "Who knows?"})
    ('Long memory', 'Who knows?')
    """
    title, about = (study.get("title") or pretty(study["name"]), " ".join(str(study.get("about") or "").split()))
    if not study.get("answers"):
        name = pretty(study["name"])
        return f"{name[:1].upper()}{name[1:]}" if title.endswith("?") else title, about
    if title.endswith("?"):
        return title, about
    sentences = about.replace("? ", "?\n").replace(". ", ".\n").split("\n")
    sentence = next((one for one in sentences if one.endswith("?") and len(one) <= LONGEST_QUESTION), None)
    return (title, about) if sentence is None else (sentence, " ".join(one for one in sentences if one != sentence))
