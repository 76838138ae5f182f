"""The library of prompt files: Ostrom's own, those of other packages, and the user's folder.

Marks stand in a text for values that are put in later. ``answers/reasons.txt`` translates why a reply could not be
read. A cover story has words in a header and an opening paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path, PurePath
from stat import S_ISREG
from typing import Any, TypeAlias, TypeVar, cast

from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError, nodes

from ostrom.framing.access import CURRENT
from ostrom.framing.sandbox import Template
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.ground.registry import replications
from ostrom.ground.yaml import read_yaml

MOST_BYTES = 1_000_000


def read_prompt(path: Path, within: Path | None = None) -> bytes:
    """Return the content of a prompt file; refused if it is no file, too large, or outside a stranger's folder."""
    try:
        real = path.resolve(strict=True)
        if within is not None and not real.is_relative_to(within.resolve()):
            raise StudyError("leads out of the folder of prompts", file=str(path), actual=str(real))
        facts = real.stat()
        if not S_ISREG(facts.st_mode):
            raise StudyError("is not a plain file", file=str(path))
        if facts.st_size > MOST_BYTES:
            raise StudyError(f"is larger than {MOST_BYTES:,} bytes", file=str(path), actual=facts.st_size)
        return real.read_bytes()
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except RuntimeError:  # Python up to 3.12 raises this for circular links
        raise StudyError("cannot be read: its symbolic links form a circle", file=str(path)) from None


def text_of(path: Path, within: Path | None = None) -> str:
    """The text of a prompt file; one that is not UTF-8 is refused."""
    try:
        return read_prompt(path, within).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise StudyError("is not a text file in UTF-8", file=str(path)) from None


@lru_cache(maxsize=512)
def included_files(tree: nodes.Template) -> tuple[str, ...]:
    """Return the files that a template includes; their names are never computed."""
    named = [getattr(node, "template", None) for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport))]
    return tuple(str(name.value) for name in named if isinstance(name, nodes.Const))


@lru_cache(maxsize=512)
def asks_for(tree: nodes.Template) -> tuple[str, ...]:
    """Return the names that a template reads, its own ones included."""
    return tuple(sorted({n.name for n in tree.find_all(nodes.Name) if n.ctx == "load"}))


def only_writes_down(tree: nodes.Template, names: frozenset[str]) -> bool:
    """Return whether a template only prints these values, or tests whether they are there."""
    found = list(tree.find_all((nodes.Name, nodes.Output, nodes.Test, nodes.If)))  # one walk: a tree is large
    used = sum(isinstance(n, nodes.Name) and n.name in names and n.ctx == "load" for n in found)
    harmless: list[nodes.Node] = [child for n in found if isinstance(n, nodes.Output) for child in n.nodes]
    harmless += [n.node for n in found if isinstance(n, nodes.Test) and n.name == "none"]
    harmless += [n.test for n in found if isinstance(n, nodes.If)]
    return used == sum(_is_one_of(names, n) for n in harmless)


def _is_one_of(names: frozenset[str], node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name in names


_MARKS = re.compile("\ue000(\\w+)\ue001")


def mark(name: str) -> str:
    """Return a placeholder for a value put in later; no shipped text holds its first and last characters."""
    return f"\ue000{name}\ue001"


def split_marks(text: str) -> list[str]:
    """Split a text at placeholders: every second piece is a name."""
    return _MARKS.split(text)


def put_in(pieces: list[str], holes: Mapping[str, Any]) -> str:
    """Put values into placeholders; inserted text is not searched again.

    >>> put_in(["Round ", "round", "."], {"round": 7})
    'Round 7.'
    """
    if len(pieces) == 1:
        return pieces[0]
    filled = pieces.copy()
    for place in range(1, len(pieces), 2):
        filled[place] = str(holes[pieces[place]])
    return "".join(filled).strip("\n")


Reason: TypeAlias = tuple[re.Pattern[str], str]
"""A reader's message with holes, and its translation."""


def read_reasons(text: str, file: str) -> list[Reason]:
    """Parse the lines ``ENGLISH = TRANSLATION`` of a file; ``{}`` stands for anything, in order.

    >>> read = read_reasons("the percentages sum to {}, not 100 = {}!\\n{} = unlesbar", "reasons.txt")
    >>> translated("the percentages sum to 90, not 100", read), translated("no label", read)
    ('90!', 'unlesbar')
    """
    reasons = []
    for line in filter(None, map(str.strip, text.splitlines())):
        english, separator, other = line.partition(" = ")
        if not separator or other.count("{}") > english.count("{}"):
            raise StudyError("is no line ENGLISH = TRANSLATION", file=file, actual=line[:80])
        reasons.append((re.compile("(.*?)".join(map(re.escape, english.split("{}")))), other))
    if not reasons or not reasons[-1][0].fullmatch(""):
        raise StudyError("must end with a line {} = TRANSLATION for all other reasons", file=file)
    return reasons


def translated(reason: str, reasons: Sequence[Reason]) -> str:
    """Return the translation of the first line that fits."""
    for english, other in reasons:
        fits = english.fullmatch(reason.replace("\n", " "))
        if fits is not None:
            first, *rest = other.split("{}")
            return first + "".join(part for pair in zip(fits.groups(), rest, strict=False) for part in pair)
    raise AssertionError("the last line fits everything")


@dataclass(frozen=True)
class CoverStory:
    """A cover story: its words and its opening paragraph."""

    words: Mapping[str, str]
    opening: Template
    asked: frozenset[str]
    """The names that the opening uses."""


def split(path: Path, text: str) -> tuple[dict[str, str], str]:
    """Split a file into its YAML header and the text below it."""
    if not text.startswith("---\n"):
        return {}, text
    header, _, body = text[4:].partition("\n---\n")
    words = read_yaml(header, str(path)) or {}
    if not isinstance(words, dict) or not all(isinstance(v, str) for pair in words.items() for v in pair):
        raise StudyError("its header must map names to texts", file=str(path))
    return words, body


T = TypeVar("T")
OWN = Path(__file__).parent / "prompts"
ENGLISH = "en"
REASONS = "answers/reasons.txt"
WORDLESS = frozenset(
    "prompt.txt system.txt setup.txt turn.txt _opening.txt _aims.txt dialogue/turn.txt layouts/payoffs_first.txt"
    " layouts/horizon_first.txt personas/role.txt turns/cheap_talk_told.txt".split()
)
"""Files without words of their own: all languages share them."""
_MOST_HOLES = 64
"""The most placeholders of a cached text; with more it is rendered anew each time."""
LIVE = ("round", "span", "gaps", "note")
"""Values of a prompt that change from round to round."""
# Exceptions of reading or rendering a template; RuntimeError is too deep a nesting.
TEMPLATE_TROUBLE = (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, RuntimeError, NameError)


class Library:
    """All prompt files of a run. A file in ``folder`` hides the package's file of the same path.

    ``home`` is the folder of the study file: a prompt set (``agent.prompts``) is a folder in it, whose files
    hide all others of the same path. In another ``language`` than English files are those below
    ``languages/LANGUAGE`` in every folder: what is not there is refused, and English never takes its place.
    """

    def __init__(
        self,
        folder: str | Path | None = None,
        *,
        home: str | Path | None = None,
        top: Path | None = None,
        language: str = ENGLISH,
    ) -> None:
        folders = [OWN, *_foreign()]
        mine = [Path(path) for path in (top, folder) if path is not None]
        for own in reversed(mine):
            if not own.is_dir():
                raise StudyError("is not a folder", key="--prompts", actual=str(own))
            self._check_overrides(own, folders)
            folders.insert(0, own)
        self.folder = None if folder is None else str(folder)
        self.home = Path() if home is None else Path(home)
        self.top = top
        self.language = language
        self._unspoken = tuple(folders)
        if language != ENGLISH:
            folders, mine = _spoken(folders, language), _spoken(mine, language)
        self.folders = folders
        self._mine = tuple(mine)
        self.sets: dict[str, Library] = {}
        """The loaded prompt sets."""
        self._languages: dict[str, Library] = {}
        self._templates: dict[str, Template] = {}
        self._stories: dict[str, CoverStory] = {}
        self._exists: dict[str, bool] = {}
        self._ready: dict[str, tuple[Template, tuple[str, ...] | None]] = {}
        self._texts: dict[tuple[Any, ...], tuple[str, tuple[int, int]]] = {}
        self._memo: dict[tuple[Any, ...], tuple[object, Any]] = {}
        self._reasons: list[Reason] | None = None

    @staticmethod
    def _check_overrides(mine: Path, folders: list[Path]) -> None:
        """Refuse a user's file that replaces nothing and adds no new name: it is likely a typing error."""
        for path in sorted(mine.rglob("*.txt")):
            relative = path.relative_to(mine)
            if any((f / relative).exists() for f in folders) or path.name.startswith("_"):
                continue
            kind = relative.parts[0]
            if len(relative.parts) == 1:
                raise StudyError(
                    "replaces no prompt of the package",
                    file=str(path),
                    allowed=sorted(str(p.relative_to(OWN)) for p in OWN.glob("*.txt")),
                )
            if not any((f / kind).is_dir() for f in folders):
                raise StudyError(
                    f"lies in a folder that no prompt is read from: {kind}",
                    file=str(path),
                    allowed=sorted({p.name for f in folders for p in f.iterdir() if any(p.glob("*.txt"))}),
                )

    def with_set(self, name: str | None) -> Library:
        """Return this library with the files of a prompt set on top, from the study's folder."""
        if name is None:
            return self
        if name not in self.sets:
            self.sets[name] = Library(self.folder, home=self.home, top=self._set(name))
        return self.sets[name]

    def _set(self, name: str) -> Path:
        """Return the folder of a prompt set; it must be beside the study, which may come from a stranger."""
        parts = PurePath(name).parts
        path = self.home.joinpath(*parts)
        if not parts or PurePath(name).is_absolute() or ".." in parts:
            raise StudyError("must name a folder beside the study file", key="agent.prompts", actual=name)
        if not path.is_dir():
            raise StudyError(f"there is no such folder in {self.home.absolute()}", key="agent.prompts", actual=name)
        if not path.resolve().is_relative_to(self.home.resolve()):
            raise StudyError("leads out of the folder of the study file", key="agent.prompts", actual=name)
        return path

    def in_language(self, language: str) -> Library:
        """Return this library in a language; refused if no folder has prompts in it."""
        if language == self.language:
            return self
        if language not in self._languages:
            languages = sorted({p.name for f in self.folders for p in (f / "languages").glob("*") if p.is_dir()})
            if language not in languages:
                raise StudyError(
                    f"there are no prompts in {language}, only in {', '.join([ENGLISH, *languages])}",
                    key="agent.framing.language",
                )
            self._languages[language] = Library(self.folder, home=self.home, top=self.top, language=language)
        return self._languages[language]

    def languages_of(self, path: str) -> list[str]:
        """Return the languages in which a prompt file exists."""
        spoken = [p for f in self._unspoken for p in (f / "languages").glob("*") if _is_file(p / path)]
        return [
            *([ENGLISH] if any(_is_file(f / path) for f in self._unspoken) else []),
            *sorted({p.name for p in spoken}),
        ]

    def path_of(self, path: str) -> str:
        """Return the path of a file in this language."""
        return path if self.language == ENGLISH or path in WORDLESS else f"languages/{self.language}/{path}"

    def need_file(self, path: str) -> None:
        """Refuse a missing or untranslated file."""
        if not self.has(path):
            raise self.missing(path)

    def missing(self, path: str) -> StudyError:
        if self.language == ENGLISH:
            return StudyError("there is no such prompt file", file=path)
        kind, _, name = path.rpartition("/")
        what = {"mechanisms": "mechanism", "turns": "question", "answers": "answer", "games": "game"}.get(kind)
        translated = [other for other in self.names(kind) if not other.startswith("_")]
        listed = "" if kind == "talk" else f" (translated: {', '.join(translated) or 'none'})"
        subject = "talk" if kind == "talk" else f"{what or 'prompt file'} {name.removesuffix('.txt')}"
        return StudyError(
            f"{subject} is not translated into {self.language}{listed}",
            file=path, key="agent.framing.language", actual=self.language,
        )  # fmt: skip

    def reason(self, reason: str) -> str:
        """Translate the reason why a reply could not be read (``answers/reasons.txt``)."""
        if self.language == ENGLISH:
            return reason
        if self._reasons is None:
            path = next(f / REASONS for f in self.folders if _is_file(f / REASONS))
            self._reasons = read_reasons(text_of(path, self._holder(path)), str(path))
        return translated(reason, self._reasons)

    @property
    def own_files(self) -> dict[str, bytes]:
        """Return the files of the prompt set, or else of the user's folder, by relative path."""
        folder = self.top or (None if self.folder is None else Path(self.folder))
        return (
            {}
            if folder is None
            else {p.relative_to(folder).as_posix(): self.read(p) for p in sorted(folder.rglob("*.txt"))}
        )

    def names(self, kind: str) -> list[str]:
        """Return the files of one kind (``stories``, ``payoffs``, ...), without ending."""
        return sorted(
            {p.stem for f in self.folders for p in (f / kind).glob("*.txt")}
            | {
                PurePath(file).stem
                for file in (() if self.language == ENGLISH else WORDLESS)
                if file.startswith(f"{kind}/")
            }
        )

    def need(self, kind: str, name: str) -> None:
        """Refuse a name without a file."""
        if name not in self.names(kind):
            raise UnknownName(f"prompt in {kind}/", name, self.names(kind))

    def template(self, path: str) -> Template:
        """Return the template at a relative path."""
        template = self._templates.get(path)
        if template is None:
            file = None if (PurePath(path).is_absolute() or ".." in PurePath(path).parts) else self.find(path)
            if file is None:
                raise self.missing(path)
            template = self._templates[path] = self._read(text_of(file, self._holder(file)), str(file))
        return template

    def _read(self, text: str, file: str) -> Template:
        """Parse a text as a template; forbidden syntax is refused."""
        try:
            return Template(text, self.template)
        except TemplateSyntaxError as error:
            raise StudyError(
                f"is not a valid template: {error.message}", file=file, key=f"line {error.lineno}"
            ) from None
        except TEMPLATE_TROUBLE as error:
            raise StudyError(f"is not a valid template: {_trouble(error)}", file=file) from None

    def read(self, path: Path) -> bytes:
        """The content of a file in one of the folders."""
        return read_prompt(path, self._holder(path))

    def _holder(self, path: Path) -> Path | None:
        """Return the user's folder that holds a path; it may come from a stranger."""
        return next((folder for folder in self._mine if path.is_relative_to(folder)), None)

    def _where(self, path: str) -> str:
        """The whole path of a prompt file, for messages."""
        return str(self.find(path) or path)

    def has(self, path: str) -> bool:
        """Whether some folder holds this file."""
        if path not in self._exists:
            self._exists[path] = self.find(path) is not None
        return self._exists[path]

    def find(self, path: str) -> Path | None:
        """Return the file of a relative path."""
        return next(
            (
                f / path
                for f in (*self.folders, *([OWN] if self.language != ENGLISH and path in WORDLESS else []))
                if _is_file(f / path)
            ),
            None,
        )

    def fill(self, path: str, values: Mapping[str, Any]) -> str:
        """Render a template, without blank lines at its ends.

        Prompts are rendered for every call, so a text is cached by the values that its template uses, and the template
        is given only those.
        """
        template, needs = self._ready.get(path) or self._prepare(path)
        needed = values if needs is None else {name: values[name] for name in needs if name in values}
        key = None if needs is None else _same(path, needed)
        if key is not None and (cached := self._texts.get(key)) is not None:
            if (work := CURRENT.get()) is not None:
                work.spend(*cached[1])
            return cached[0]
        try:
            text, cost = template.render(needed)
        except UndefinedError as error:
            raise StudyError(
                f"could not be filled in: {_trouble(error)}", file=self._where(path), allowed=sorted(values)
            ) from None
        except TEMPLATE_TROUBLE as error:
            raise StudyError(f"could not be filled in: {_trouble(error)}", file=self._where(path)) from None
        text = text.strip("\n")
        if key is not None:
            if len(self._texts) > 20_000:
                self._texts.clear()
            self._texts[key] = text, cost
        return text

    def fill_around(
        self,
        store: dict[tuple[Any, ...], list[str]],
        key: tuple[Any, ...],
        path: str,
        holes: Mapping[str, Any],
        values: Callable[[], Mapping[str, Any]],
    ) -> str:
        """Render a template around values that change every time; the rest is cached in a store."""
        pieces = store.get(key)
        if pieces is None:
            marked_text = self.render_with_marks(path, values(), holes)
            if marked_text is None:
                return self.fill(path, {**values(), **holes})
            if len(store) > 4096:
                store.clear()
            pieces = store[key] = split_marks(marked_text)
        return put_in(pieces, holes)

    def render_with_marks(self, path: str, values: Mapping[str, Any], holes: Iterable[str]) -> str | None:
        """Render a template with placeholders for values put in later (see ``put_in``).

        None if the template does more with those values than write them or test whether they are set: then it must be
        rendered anew each time.
        """
        if not self._writes_down(path, frozenset(holes)):
            return None
        text = self.fill(path, {**values, **{name: mark(name) for name in holes}})
        names = split_marks(text)[1::2]
        # None also if foreign text contains placeholders, or a loop repeats them too often.
        return text if len(names) <= _MOST_HOLES and set(names) <= set(holes) else None

    def _writes_down(self, path: str, names: frozenset[str]) -> bool:
        return self.memoize(
            (path, names), self, lambda: all(only_writes_down(tree, names) for tree in self._trees(path))
        )

    def _trees(self, path: str) -> list[nodes.Template]:
        """Return the syntax trees of a template and of all its includes."""
        trees: dict[str, nodes.Template] = {}
        todo = [path]
        while todo:
            file = todo.pop()
            if file not in trees:
                trees[file] = self.template(file).tree
                todo += included_files(trees[file])
        return list(trees.values())

    def is_round_independent(self, path: str) -> bool:
        """Return whether a template uses nothing that changes from round to round."""
        return not {"facts", *LIVE} & self.variables_of(path)

    def variables_of(self, path: str) -> frozenset[str]:
        """Return the names that a template and its includes use."""
        return self.memoize(
            ("variables", path), self, lambda: frozenset(name for tree in self._trees(path) for name in asks_for(tree))
        )

    def memoize(self, key: tuple[Any, ...], owner: object, make: Callable[[], T]) -> T:
        """Return the cached value of a key; ``owner`` is kept alive, so that its id stays unique."""
        cached = self._memo.get(key)
        if cached is None:
            if len(self._memo) >= 1024:
                self._memo.clear()
            cached = self._memo[key] = (owner, make())
        return cast(T, cached[1])

    def _prepare(self, path: str) -> tuple[Template, tuple[str, ...] | None]:
        """Return a template with the names of its values; None if it includes others."""
        template = self.template(path)
        self._ready[path] = (template, None if included_files(template.tree) else asks_for(template.tree))
        return self._ready[path]

    def story(self, file: str) -> CoverStory:
        """Return a cover story: ``stories/NAME.txt``, or ``games/GAME.NAME.txt`` for a game by a rule."""
        if file not in self._stories:
            kind, _, name = file.partition("/")
            self.need(kind, name.removesuffix(".txt"))
            path = next(f / file for f in self.folders if (f / file).exists())
            neutral = OWN / self.path_of("stories/neutral.txt")
            words = dict(split(neutral, text_of(neutral))[0])
            own_words, opening = split(path, text_of(path, self._holder(path)))
            unknown = sorted(set(own_words) - set(words))
            if unknown:
                raise StudyError("unknown word", file=str(path), key=unknown[0], allowed=sorted(words))
            template = self._read(opening.strip("\n"), str(path))
            trees = [template.tree, *(t for name in included_files(template.tree) for t in self._trees(name))]
            self._stories[file] = CoverStory(
                {**words, **own_words}, template, frozenset(name for tree in trees for name in asks_for(tree))
            )
        return self._stories[file]

    def open_story(self, file: str, values: Mapping[str, Any]) -> str:
        """The text of a cover story, filled in."""
        opening = self.story(file).opening
        try:
            return opening.render(values)[0].strip()
        except TEMPLATE_TROUBLE as error:
            raise StudyError(f"could not be filled in: {_trouble(error)}", file=self._where(file)) from None


def _trouble(error: Exception) -> str:
    """Describe the error in a template; foreign text in it is shortened."""
    return "it is nested too deeply" if isinstance(error, RecursionError) else f"{error!s:.500}"


def _is_file(path: Path) -> bool:
    """Return whether a file exists; a persona may be a text of any length instead of a file name."""
    try:
        return path.exists() and not path.is_dir()  # pipes and devices are refused when they are read
    except OSError:
        return False


def _spoken(folders: list[Path], language: str) -> list[Path]:
    return [own for folder in folders if (own := folder / "languages" / language).is_dir()]


def _same(path: str, given: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return a cache key of a rendering, if it is short and plain; None to always render."""
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
    """Return other prompt folders: ``prompts`` of replications, and entry points ``ostrom.prompts``."""
    beside = [files(package).joinpath("prompts") for package in replications().values()]
    locations = [getattr(point.load(), "__path__", None) for point in entry_points(group="ostrom.prompts")]
    return (
        *(Path(str(folder)) for folder in beside if folder.is_dir()),
        *(Path(next(iter(location))) for location in locations if location),
    )
