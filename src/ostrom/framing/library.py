"""The library of prompt files: the package's own, those of other packages, and a folder of the user's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from jinja2 import Template, TemplateError, TemplateNotFound, UndefinedError, nodes

from ostrom.errors import StudyError, UnknownName
from ostrom.framing.sandbox import Sandbox
from ostrom.framing.templates import Loader, asks_for, includes, only_writes_down, read_prompt, text_of
from ostrom.plain_yaml import read_yaml

OWN = Path(__file__).parent / "prompts"
# What people compute in a template can go wrong in more ways than Jinja names.
TEMPLATE_TROUBLE = (
    TemplateError,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    NameError,
    MemoryError,
    AssertionError,
    SyntaxError,
)


_MARKS = re.compile("\ue000(\\w+)\ue001")


@dataclass(frozen=True)
class Story:
    """A cover story: its words and its opening paragraph."""

    words: Mapping[str, str]
    opening: Template


class Library:
    """All prompt files that a run can use. A file in ``folder`` hides the package's file of the same path."""

    def __init__(self, folder: str | Path | None = None) -> None:
        folders = [OWN, *_foreign()]
        if folder is not None:
            mine = Path(folder)
            if not mine.is_dir():
                raise StudyError("is not a folder", key="--prompts", found=str(folder))
            self._check_overrides(mine, folders)
            folders.insert(0, mine)
        self.folder = None if folder is None else str(folder)
        self.folders = folders
        self._mine = folders[0] if folder is not None else None
        self._loader = Loader(folders, self._mine)
        self._env = Sandbox(self._loader)
        self._stories: dict[str, Story] = {}
        self._known: dict[str, bool] = {}
        self._ready: dict[str, tuple[Template, tuple[str, ...] | None]] = {}
        self._texts: dict[tuple[Any, ...], str] = {}
        self._plain: dict[tuple[str, frozenset[str]], bool] = {}
        self._shelves: dict[tuple[Any, ...], tuple[object, dict[tuple[Any, ...], list[str]]]] = {}
        self._setups: dict[tuple[Any, ...], tuple[object, str]] = {}

    @staticmethod
    def _check_overrides(mine: Path, folders: list[Path]) -> None:
        """A file that replaces nothing and names nothing new is a typing error waiting to be missed."""
        for path in sorted(mine.rglob("*.txt")):
            relative = path.relative_to(mine)
            if any((f / relative).exists() for f in folders) or len(relative.parts) > 1:
                continue
            raise StudyError(
                "replaces no prompt of the package",
                file=str(path),
                allowed=sorted(str(p.relative_to(OWN)) for p in OWN.glob("*.txt")),
            )

    def names(self, kind: str) -> list[str]:
        """The files of one kind (``stories``, ``payoffs``, ...), without their ending."""
        return sorted({p.stem for f in self.folders for p in (f / kind).glob("*.txt")})

    def need(self, kind: str, name: str) -> None:
        """Refuse a name that no file bears."""
        if name not in self.names(kind):
            raise UnknownName(f"prompt in {kind}/", name, self.names(kind))

    def template(self, path: str) -> Template:
        """The compiled template at a relative path."""
        try:
            return self._env.get_template(path)
        except TemplateNotFound:
            raise StudyError("there is no such prompt file", file=path) from None
        except TEMPLATE_TROUBLE as error:
            raise StudyError(f"is not a valid template: {error}", file=self._where(path)) from None

    def read(self, path: Path) -> bytes:
        """The content of a file in one of the folders."""
        return read_prompt(path, self._mine if self._holds(path) else None)

    def _holds(self, path: Path) -> bool:
        """Whether a path lies in the user's folder, which may come from a stranger."""
        return self._mine is not None and path.is_relative_to(self._mine)

    def _where(self, path: str) -> str:
        """The whole path of a prompt file, for messages."""
        return next((str(f / path) for f in self.folders if _is_file(f / path)), path)

    def has(self, path: str) -> bool:
        """Whether some folder holds this file."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = any(_is_file(f / path) for f in self.folders)
        return known

    def fill(self, path: str, values: Mapping[str, Any]) -> str:
        """A template filled in, without blank lines at its ends.

        Prompts are made for every call, so a text is kept as long as what its template asks for stays the
        same, and a template is handed no more than it asks for.
        """
        template, needs = self._ready.get(path) or self._prepare(path)
        given = values if needs is None else {name: values[name] for name in needs if name in values}
        key = None if needs is None else _same(path, given)
        if key is not None and (known := self._texts.get(key)) is not None:
            return known
        try:
            text = self._env.fill(lambda: template.render(given)).strip("\n")
        except UndefinedError as error:
            raise StudyError(
                f"could not be filled in: {error}", file=self._where(path), allowed=sorted(values)
            ) from None
        except TEMPLATE_TROUBLE as error:
            raise StudyError(f"could not be filled in: {error}", file=self._where(path)) from None
        if key is not None:
            if len(self._texts) > 20_000:
                self._texts.clear()
            self._texts[key] = text
        return text

    def fill_around(
        self,
        store: dict[tuple[Any, ...], list[str]],
        key: tuple[Any, ...],
        path: str,
        holes: Mapping[str, Any],
        values: Callable[[], Mapping[str, Any]],
    ) -> str:
        """A template filled in around values that change every time; what surrounds them is kept in a store."""
        pieces = store.get(key)
        if pieces is None:
            found = self.marked(path, values(), holes)
            if found is None:
                return self.fill(path, {**values(), **holes})
            if len(store) > 4096:
                store.clear()
            pieces = store[key] = split_marks(found)
        return put_in(pieces, holes)

    def marked(self, path: str, values: Mapping[str, Any], holes: Iterable[str]) -> str | None:
        """A template filled in with marks for values that are put in later (see ``put_in``).

        None where the template does more with those values than write them down, or ask whether they are
        there: then it has to be filled anew for each of them.
        """
        if not self._writes_down(path, frozenset(holes)):
            return None
        return self.fill(path, {**values, **{name: mark(name) for name in holes}})

    def _writes_down(self, path: str, names: frozenset[str]) -> bool:
        known = self._plain.get((path, names))
        if known is None:
            known = self._plain[path, names] = only_writes_down(self._tree(path), names)
        return known

    def _tree(self, path: str) -> nodes.Template:
        self.template(path)  # says in one line if there is none
        return self._loader.trees[path]

    def steady(self, path: str) -> bool:
        """Whether a template asks for nothing that changes from round to round."""
        _, needs = self._ready.get(path) or self._prepare(path)
        return needs is not None and not {"facts", "round", "note"} & set(needs)

    def kept(self, key: tuple[Any, ...], owner: object, make: Callable[[], str]) -> str:
        """A text made once for a key; ``owner`` lives as long as the text, so that its id stays its own."""
        known = self._setups.get(key)
        if known is None:
            if len(self._setups) > 4096:
                self._setups.clear()
            known = self._setups[key] = (owner, make())
        return known[1]

    def shelf(self, key: tuple[Any, ...], owner: object) -> dict[tuple[Any, ...], list[str]]:
        """A store for ``fill_around`` that is shared under a key; ``owner`` lives as long as the shelf."""
        known = self._shelves.get(key)
        if known is None:
            if len(self._shelves) > 256:
                self._shelves.clear()
            known = self._shelves[key] = (owner, {})
        return known[1]

    def _prepare(self, path: str) -> tuple[Template, tuple[str, ...] | None]:
        """A template with the names of the values it asks for; None where it includes others."""
        tree = self._tree(path)
        self._ready[path] = (self.template(path), None if includes(tree) else asks_for(tree))
        return self._ready[path]

    def story(self, name: str) -> Story:
        """A cover story by name."""
        if name not in self._stories:
            self.need("stories", name)
            path = next(
                f / "stories" / f"{name}.txt" for f in self.folders if (f / f"stories/{name}.txt").exists()
            )
            words = dict(_split(OWN / "stories" / "neutral.txt", text_of(OWN / "stories/neutral.txt"))[0])
            own_words, opening = _split(path, text_of(path, self._mine if self._holds(path) else None))
            unknown = sorted(set(own_words) - set(words))
            if unknown:
                raise StudyError("unknown word", file=str(path), key=unknown[0], allowed=sorted(words))
            try:
                template = self._env.from_string(opening.strip("\n"))
            except TEMPLATE_TROUBLE as error:
                raise StudyError(f"is not a valid template: {error}", file=str(path)) from None
            self._stories[name] = Story({**words, **own_words}, template)
        return self._stories[name]

    def open_story(self, name: str, values: Mapping[str, Any]) -> str:
        """The opening paragraph of a cover story, filled in."""
        opening = self.story(name).opening
        try:
            return self._env.fill(lambda: opening.render(values)).strip()
        except TEMPLATE_TROUBLE as error:
            where = self._where(f"stories/{name}.txt")
            raise StudyError(f"could not be filled in: {error}", file=where) from None


def _is_file(path: Path) -> bool:
    """Whether there is such a file; a persona may be a text, of any length, and is then no file name at all."""
    try:
        return path.is_file()
    except OSError:
        return False


def mark(name: str) -> str:
    """Stands for a value that is put in later; its first and last characters are in no text of ours."""
    return f"\ue000{name}\ue001"


def split_marks(text: str) -> list[str]:
    """The pieces of a text with marks: what is said, and in between (every second one) the names of holes."""
    return _MARKS.split(text)


def put_in(pieces: list[str], holes: Mapping[str, Any]) -> str:
    """The pieces with values in their holes; a text that is put in is never looked at again.

    >>> put_in(["Round ", "round", "."], {"round": 7})
    'Round 7.'
    """
    if len(pieces) == 1:
        return pieces[0]
    filled = pieces.copy()
    for place in range(1, len(pieces), 2):
        filled[place] = str(holes[pieces[place]])
    return "".join(filled).strip("\n")


def _same(path: str, given: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """What tells two fillings of a template apart, if that is short and plain; None: always fill it."""
    key: list[Any] = [path]
    for name, value in given.items():
        if value is None or isinstance(value, bool | int | float):
            key.append(value)
        elif isinstance(value, str):
            if len(value) > 200:
                return None
            key.append(value)
        elif isinstance(value, list | tuple) and len(value) <= 16 and all(type(v) is str for v in value):
            key.append(tuple(value))
        elif name == "words":
            key.append(id(value))  # the words of a story live as long as the library
        else:
            return None
    return tuple(key)


@cache
def _foreign() -> tuple[Path, ...]:
    """Prompt folders of other packages: entry points ``ostrom.prompts`` that name a module beside them."""
    folders = []
    for point in entry_points(group="ostrom.prompts"):
        location = getattr(point.load(), "__path__", None)
        if location:
            folders.append(Path(next(iter(location))))
    return tuple(folders)


def _split(path: Path, text: str) -> tuple[dict[str, str], str]:
    """The YAML header between two lines of dashes, and the text below it."""
    if not text.startswith("---\n"):
        return {}, text
    header, _, body = text[4:].partition("\n---\n")
    words = read_yaml(header, str(path)) or {}
    if not isinstance(words, dict) or not all(isinstance(v, str) for pair in words.items() for v in pair):
        raise StudyError("its header must map names to texts", file=str(path))
    return words, body
