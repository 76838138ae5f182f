"""The library of prompt files: Ostrom's own, those of other packages, and the user's folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any, TypeVar, cast

from jinja2 import TemplateError, TemplateSyntaxError, UndefinedError, nodes

from ostrom.framing.access import CURRENT
from ostrom.framing.sandbox import Template
from ostrom.framing.templates import (
    CoverStory,
    Reason,
    asks_for,
    included_files,
    mark,
    only_writes_down,
    put_in,
    read_prompt,
    read_reasons,
    split,
    split_marks,
    text_of,
    translated,
)
from ostrom.ground.errors import StudyError, UnknownName
from ostrom.ground.registry import replications

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
TEMPLATE_TROUBLE = (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, RuntimeError)


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
        self._variables: dict[str, frozenset[str]] = {}
        self._templates: dict[str, Template] = {}
        self._stories: dict[str, CoverStory] = {}
        self._exists: dict[str, bool] = {}
        self._ready: dict[str, tuple[Template, tuple[str, ...] | None]] = {}
        self._texts: dict[tuple[Any, ...], tuple[str, tuple[int, int]]] = {}
        self._plain: dict[tuple[str, frozenset[str]], bool] = {}
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
        stems = {p.stem for f in self.folders for p in (f / kind).glob("*.txt")}
        return sorted(
            stems
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
        present = self._exists.get(path)
        if present is None:
            present = self._exists[path] = self.find(path) is not None
        return present

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
        cached = self._plain.get((path, names))
        if cached is None:
            cached = all(only_writes_down(tree, names) for tree in self._trees(path))
            self._plain[path, names] = cached
        return cached

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
        if path not in self._variables:
            self._variables[path] = frozenset(name for tree in self._trees(path) for name in asks_for(tree))
        return self._variables[path]

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
    folders = [
        Path(str(folder))
        for folder in [files(package).joinpath("prompts") for package in replications().values()]
        if folder.is_dir()
    ]
    for point in entry_points(group="ostrom.prompts"):
        location = getattr(point.load(), "__path__", None)
        if location:
            folders.append(Path(next(iter(location))))
    return tuple(folders)
