"""The same chart drawn for a phone: fewer columns, names above their rows, nothing wider than the screen.

It works on the specification of a chart (Vega-Lite), so that charts of every panel have both widths.
"""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from ostrom.reports.theme import SIZE

ROOM = 358
"""Pixels of a chart on a screen of 390."""
BESIDE = 96
"""Names of rows up to so many pixels stand beside them; longer ones above."""
BROADEST = 120
"""Pixels of a name beside its row, in several lines."""
LINE = SIZE + 4
CHARACTER, BOLD = 6.7, 7.4
LEAST = 90

Part = dict[str, Any]


def narrow_spec(spec: Mapping[str, Any], room: int = ROOM) -> Part:
    """A specification for a screen of a phone."""
    narrowed = _narrow(dict(spec), room)
    narrowed["config"] = _config(dict(narrowed.get("config") or {}), narrowed, room)
    return narrowed


def _config(config: Part, spec: Part, room: int) -> Part:
    """Legends in as many columns as their longest name allows."""
    names = [str(name) for scale in _scales(spec) for name in scale.get("domain") or () if isinstance(name, str)]
    longest = max(map(len, names), default=0) * CHARACTER + 30
    legend = {**config.get("legend", {}), "columns": max(1, int(room // longest)), "labelLimit": room - 30}
    title = {**config.get("title", {}), "limit": room}
    return {**config, "legend": legend, "title": title, "concat": {"spacing": 14}, "facet": {"spacing": 14}}


def _scales(part: Any) -> Iterator[Part]:
    """The scales of colours in a specification."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key == "color" and isinstance(value, dict) and isinstance(value.get("scale"), dict):
                yield value["scale"]
            yield from _scales(value) if key != "data" else ()
    elif isinstance(part, list):
        for value in part:
            yield from _scales(value)


def _narrow(spec: Part, room: int, columns: int = 1) -> Part:
    for key in ("hconcat", "concat", "vconcat"):
        if key in spec:
            many = spec[key]
            small = spec.get("columns", 1) > 1 and all(map(_is_small, many))
            side = 2 if key == "concat" and small and _fit(part.get("title") for part in many) else 1
            rest = {name: value for name, value in spec.items() if name not in (key, "columns")}
            return {**rest, "concat": [_narrow(part, room, side) for part in many], "columns": side}
    if "facet" in spec and "spec" in spec:
        side = 2 if spec.get("columns", 1) > 1 and _fit(spec["facet"].get("sort") or ()) else 1
        return {**spec, "columns": side, "spec": _narrow(spec["spec"], room, side)}
    return _view(spec, room // columns - (14 if columns > 1 else 0))


def _fit(titles: Iterable[Any]) -> bool:
    """Whether two views can stand side by side with their titles above them."""
    return max((len(str(title or "")) for title in titles), default=0) * BOLD <= ROOM / 2


def _is_small(part: Part) -> bool:
    """Whether a view can have a neighbour on a phone: it has no names of rows."""
    return _rows(part) is None and part.get("width", ROOM) <= 360 and "layer" in part


def _encodings(part: Part) -> Iterator[Part]:
    for one in (part, *part.get("layer", ())):
        if "encoding" in one:
            yield one["encoding"]


def _rows(part: Part) -> list[str] | None:
    """The names of the rows of a view; None where its height is a scale of numbers."""
    for encoding in _encodings(part):
        y = encoding.get("y") or {}
        if y.get("type") in ("nominal", "ordinal") and isinstance(y.get("sort"), list):
            return [str(name) for name in y["sort"]]
    return None


def _view(part: Part, room: int) -> Part:
    part = _without_columns(part)
    if isinstance(part.get("title"), str):
        part["title"] = _wrapped(part["title"], room)
    elif isinstance(part.get("title"), dict) and isinstance(part["title"].get("text"), str):
        part["title"] = {**part["title"], "text": _wrapped(part["title"]["text"], room)}
    names = _rows(part)
    if names is None:
        return _across(part, max(LEAST, room - 62))
    longest = max((round(CHARACTER * len(name)) for name in names), default=0)
    if longest <= BESIDE:
        return _across(part, max(LEAST, room - longest - 24))
    if _is_filled(part):
        lines = {name: textwrap.wrap(name, 14) or [name] for name in names}
        high = max(map(len, lines.values())) * (SIZE + 1) + 4
        part = _heightened(part, len(names), lambda step: max(step, high))
        fit = all(most_width(line, SIZE) < BROADEST for of in lines.values() for line in of)
        label = {
            "labelExpr": f"({orjson.dumps(lines).decode()})[datum.label] || datum.label",
            "labelLimit": 0 if fit else BROADEST,
        }
        return _across(_with_labels(part, label), max(LEAST, room - 124))
    part = _heightened(part, len(names), lambda step: step + LINE)
    step = part["height"] / max(len(names), 1) if isinstance(part.get("height"), int | float) else 2 * LINE
    above = {"labelAlign": "left", "labelPadding": 0, "labelOffset": 9 - step / 2, "labelLimit": room,
             "labelBaseline": "middle", "grid": False}  # fmt: skip
    return _across(_below_names(_with_labels(part, above), step), room - 16)


def _below_names(part: Part, step: float) -> Part:
    """A view whose series stand below the name of their row, side by side as before."""

    def changed(encoding: Part) -> Part:
        offset = encoding.get("yOffset")
        if not isinstance(offset, dict):
            return encoding
        return {**encoding, "yOffset": {**offset, "scale": {"range": [LINE - 3, step - 9]}}}

    return _with_encodings(part, changed)


def _is_filled(part: Part) -> bool:
    """Whether marks fill their row, so that no name fits above them."""
    marks = [one.get("mark") for one in (part, *part.get("layer", ()))]
    return any((mark.get("type") if isinstance(mark, dict) else mark) in ("rect", "bar") for mark in marks)


def _heightened(part: Part, rows: int, change: Any) -> Part:
    height = part.get("height")
    if isinstance(height, int | float):
        return {**part, "height": rows * change(height / max(rows, 1))}
    if isinstance(height, dict) and "step" in height:
        return {**part, "height": rows * change(height["step"])}
    return part


def _with_labels(part: Part, labels: Part) -> Part:
    """A view whose names of rows look otherwise."""

    def changed(encoding: Part) -> Part:
        y = encoding.get("y")
        if not isinstance(y, dict) or y.get("type") not in ("nominal", "ordinal"):
            return encoding
        return {**encoding, "y": {**y, "axis": {**(y.get("axis") or {}), **labels}}}

    return _with_encodings(part, changed)


def _across(part: Part, width: int) -> Part:
    """A view of a width, with as many labels along it as fit."""

    def changed(encoding: Part) -> Part:
        x = encoding.get("x")
        if not isinstance(x, dict):
            return encoding
        axis = x.get("axis")
        title = x.get("title")
        x = {**x, "title": _wrapped(title, width + 40)} if isinstance(title, str) else x
        if not isinstance(axis, dict):
            return {**encoding, "x": x}
        axis = dict(axis)
        if isinstance(axis.get("values"), list):
            axis["values"] = _fewer(axis["values"], width)
        elif isinstance(x.get("sort"), list) and axis.get("labelAngle") == 0:
            longest = max((len(str(name)) for name in x["sort"]), default=0) * CHARACTER
            if longest * len(x["sort"]) > width:
                axis["labelAngle"] = -40
        return {**encoding, "x": {**x, "axis": axis}}

    encoded = _with_encodings(part, changed)
    old = encoded.get("width")
    return {**encoded, "width": min(width, old) if isinstance(old, int | float) else width}


def _with_encodings(part: Part, change: Any) -> Part:
    altered = {**part, "encoding": change(part["encoding"])} if "encoding" in part else dict(part)
    if "layer" in part:
        altered["layer"] = [_with_encodings(layer, change) for layer in part["layer"]]
    return altered


def _without_columns(part: Any) -> Any:
    """Without the columns that a legend has on a wide page."""
    if isinstance(part, dict):
        return {
            key: {k: v for k, v in value.items() if k != "columns"}
            if key == "legend" and isinstance(value, dict)
            else value
            if key == "data"
            else _without_columns(value)
            for key, value in part.items()
        }
    return [_without_columns(value) for value in part] if isinstance(part, list) else part


def _fewer(values: list[Any], width: int) -> list[Any]:
    """Every second tick, as often as it takes for labels not to touch."""
    while len(values) > 2 and len(values) * 34 > width:  # one tick would be halved for ever
        values = values[::2]
    return values


def _wrapped(text: str, room: int) -> str | list[str]:
    lines = textwrap.wrap(text, max(12, int(room / CHARACTER)))
    return lines if len(lines) > 1 else text


def narrower(spec: Part, by: float) -> Part:
    """A specification whose views are narrower, where names took more room than was thought."""
    if isinstance(spec.get("width"), int | float):
        spec = {**spec, "width": max(60, spec["width"] - by)}
    for key in ("concat", "hconcat", "vconcat"):
        if key in spec:
            share = by / max(1, min(spec.get("columns", 1), len(spec[key])))
            return {**spec, key: [narrower(part, share) for part in spec[key]]}
    if "spec" in spec:
        return {**spec, "spec": narrower(spec["spec"], by / max(1, spec.get("columns", 1)))}
    return spec


SLIM, WIDE = frozenset(" .,:;!|'()[]/\\-fijlrtI·"), frozenset("mwMW%@")
LIMITS = {"labelFontSize": 10, "labelLimit": 180}
"""What the renderer takes where nothing is stated."""


def without_limits(part: Any, axis: Mapping[str, Any] = LIMITS) -> Any:
    """A specification without limits that its labels cannot reach: the renderer measures every label again for one."""
    if isinstance(part, list):
        return [without_limits(value, axis) for value in part]
    if not isinstance(part, dict):
        return part
    if "config" in part:
        axis = {**LIMITS, **part["config"].get("axis", {})}
    copied = {key: value if key in ("data", "config") else without_limits(value, axis) for key, value in part.items()}
    own, names = copied.get("axis"), copied.get("sort")
    if isinstance(own, dict) and isinstance(names, list) and "labelExpr" not in own:
        size, limit = (own.get(key, axis[key]) for key in LIMITS)
        if all(most_width(str(name), size) < limit for name in names):
            copied["axis"] = {**own, "labelLimit": 0}
    return copied


def most_width(text: str, size: float) -> float:
    """The pixels that a text takes at the most, by the widest character of its kind.

    >>> most_width("mill 1", 13) < most_width("MILL 1", 13) < most_width("磨坊磨坊", 13)
    True
    """
    ems = (
        0.35 if char in SLIM else 1.02 if char in WIDE else 2.0 if not char.isascii()
        else 0.6 if char.islower() or char.isdigit() or char == "_" else 0.8
        for char in text
    )  # fmt: skip
    return size * sum(ems)
