"""A run on disk: its folder, its manifest and its lock.

The manifest (``run.json``) binds a journal to the identity of a study. A run may go on with a higher budget, more
seeds, another title or another version of the package; none of this is part of the identity. Everything else of the
study decides what is played, so a journal keeps the identity of the study that it was begun for and is refused beside
any other.
"""

import fcntl
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NoReturn, Self, cast

import orjson
from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from ostrom.engine.integrity import OldRun
from ostrom.engine.joined import JoinedJournal, allow_files
from ostrom.engine.journal import Journal
from ostrom.engine.shards import MOST_SHARDS, Shard
from ostrom.games.absent import GameShape
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import content_hash, read_plain, refuse_link, require_regular_file, write_atomically
from ostrom.ground.registry import NEEDED, changed_packages
from ostrom.ground.version import __version__
from ostrom.mechanisms.absent import RulesShape

FREE_TO_CHANGE = ("budget", "report", "answers", "title", "about", "citation")
"""Keys of a study that may change between sessions: they do not affect play."""
MAY_GROW = ("seeds", "samples")
"""Keys of numbers that may grow between sessions: larger ones only append matches."""
MAY_BE_DECIDED = ("refused",)
"""Policies that may change from ``fail`` to another one: under ``fail`` no answer was substituted."""

_CHECKSUM = re.compile(rb',\n  "checksum": "([0-9a-f]{32})"\n}\n\Z')


class ImportedPart(BaseModel, extra="allow", strict=True):
    """The manifest's facts about imported matches; only the hash is checked."""

    digest: str


class ShardPart(BaseModel, extra="forbid", strict=True):
    """The manifest's facts about a shard."""

    number: int = Field(ge=1, le=MOST_SHARDS)
    of: int = Field(ge=1, le=MOST_SHARDS)
    playing: str
    """A random identifier of this play of the shard, which distinguishes repeated plays."""
    trees: str | None
    """A hash of the precomputed answers in use."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.number > self.of:
            raise ValueError(f"there is no shard {self.number} of {self.of}")
        return self


class JoinedPart(BaseModel, extra="forbid", strict=True):
    """A shard that a joined run lists."""

    path: str
    """The name of a sibling folder, or an absolute path."""
    identity: str
    entries: int
    """The least number of entries of its journal."""


class RegisteredPart(BaseModel, extra="allow", strict=True):
    """The registration of a run; only its hash is checked here."""

    hash: str
    created: str

    @field_validator("created")
    @classmethod
    def _time(cls, value: str) -> str:
        datetime.fromisoformat(value)
        return value


class SharedTable(BaseModel, extra="forbid", strict=True):
    """A table of a shared run."""

    rows: int = Field(ge=0)
    digest: str


class SharedPart(BaseModel, extra="forbid", strict=True):
    """The manifest's facts about a shared run."""

    of: str
    """The identity of the run that was shared."""
    tables: dict[Literal["matches", "rounds", "decisions", "calls"], SharedTable]
    versions: list[str] | None = None
    """For a registered run: the versions of the package that played it."""
    looks: list[dict[str, str | int]] | None = None
    """For a registered run: the looks at its results before it was complete."""


class Manifest(BaseModel, extra="forbid", strict=True):
    """The schema of ``run.json``."""

    kind: str
    study: dict[str, Any]
    prompts: dict[str, str]
    created: str
    versions: dict[str, str]
    git: str | None
    prompts_folder: str | None = None
    prompts_home: str | None = None
    code_home: str | None = None
    """The folder of the Python files that the study names."""
    parts: dict[str, str] | None = None
    """Parts of other packages in the study (``ostrom.games.NAME``), each with package and version."""
    code: dict[str, str] | None = None
    """A hash of the Python files of each part's package."""
    shapes: list[GameShape] | None = None
    """The games among these parts without payoffs and rules, to read rows if a package is missing."""
    rules: list[RulesShape] | None = None
    """The mechanisms among these parts, as far as plans and tables depend on them."""
    parent: dict[str, Any] | None = None
    imported: ImportedPart | None = None
    models: dict[str, dict[str, Any]] | None = None
    models_before: dict[str, list[dict[str, Any]]] | None = None
    """Models' descriptions of earlier sessions, where they differed."""
    served: dict[str, list[str]] | None = None
    """The versions that each model's servers reported, up to the end of the last session."""
    loop: str | None = None
    registered: RegisteredPart | None = None
    shard: ShardPart | None = None
    joined: list[JoinedPart] | None = Field(default=None, min_length=1, max_length=MOST_SHARDS)
    shared: SharedPart | None = None


def manifest_bytes(data: Mapping[str, Any]) -> bytes:
    """A manifest as a file: readable JSON whose last key is the checksum of everything before it."""
    body = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
    return body[:-2] + f',\n  "checksum": "{_digest(body)}"\n}}\n'.encode()


def read_manifest(raw: bytes, path: Path) -> dict[str, Any]:
    """Parse the manifest of a file; a changed byte or a wrong shape is refused."""
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise RunError(f"{path}: cannot be read: {error}") from None
    if not isinstance(data, dict) or "study" not in data:
        raise RunError(f"{path}: is not the manifest of a run")
    checksum = _CHECKSUM.search(raw)
    if checksum is None or _digest(raw[: checksum.start()] + b"\n}") != checksum[1].decode():
        raise RunError(
            f"{path}: {'its checksum is missing' if checksum is None else 'does not fit its checksum'}: it was changed "
            "after it was written (restore it from a copy; to change a study, run the study file again)"
        )
    del data["checksum"]
    if "kind" not in data:
        raise OldRun(path)
    try:
        Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        value = repr(first.get("input"))
        input_text = f" (found {value if len(value) <= 80 else value[:77] + '...'})"
        raise RunError(f"{path}: {key}: {first['msg']}{'' if first['type'] == 'missing' else input_text}") from None
    return data


def kind_of(manifest: Mapping[str, Any]) -> str:
    """Return the kind of plan of a run; the manifest of a fork's parent may lack it.

    >>> kind_of({"study": {"game": "chicken"}}), kind_of({"study": {"kind": "tree"}})
    ('study', 'tree')
    """
    content: Mapping[str, Any] = manifest["study"]
    if manifest.get("kind"):
        return str(manifest["kind"])
    if manifest.get("parent"):
        return str(manifest["parent"].get("kind"))
    if manifest.get("imported"):
        return "imported"
    if "game" not in content and "kind" in content:
        return str(content["kind"])
    return "study" if content.get("people") is None else "people"


def identity(manifest: Mapping[str, Any]) -> str:
    """Return a hash of everything in a manifest that affects play; the order of keys matters for match numbers.

    >>> study = {"game": "chicken", "seeds": 2, "budget": {"calls": 5}}
    >>> one, other = {"study": study, "prompts": "p"}, {"study": {**study, "seeds": 3}, "prompts": "p"}
    >>> identity(one) == identity(other), identity(one) == identity({"study": study, "prompts": "q"})
    (True, False)
    """
    parent, imported, shard = manifest.get("parent"), manifest.get("imported"), manifest.get("shard")
    content = [
        _fixed(manifest["study"]),
        manifest.get("prompts"),
        None if parent is None else _fixed(parent),
        None if imported is None else imported["digest"],
        *(() if shard is None else (shard,)),
        *((manifest["registered"]["hash"],) if manifest.get("registered") else ()),
        *(part["identity"] for part in manifest.get("joined") or ()),
    ]
    return _digest(orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS))


def without_shards(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest without its shard entries, as if the study were played in one run."""
    return {key: value for key, value in manifest.items() if key not in ("shard", "joined")}


def _fixed(part: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key not in FREE_TO_CHANGE + MAY_GROW + MAY_BE_DECIDED}


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


JOURNAL = "journal.db"
MANIFEST = "run.json"
MOST_LOCK = 64
"""The largest lock file, in bytes."""


class Folder:
    """The folder of a run: its lock, its manifest, and access to its journal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def journal(self) -> Path:
        """Return the path of the journal."""
        return self.path / JOURNAL

    @property
    def exists(self) -> bool:
        """Return whether the folder holds a run."""
        return (self.path / MANIFEST).exists()

    def lock(self) -> None:
        """Lock the run for this process; if another process holds the lock, raise an error that names it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # Do not follow a symbolic link nor wait for a pipe: the folder may come from a stranger.
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            handle = os.open(require_regular_file(self.path / "lock"), flags, 0o644)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written to ({error.strerror})") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            os.close(handle)
            raise RunError(f"{self.path}: another process (pid {holder}) is playing this run") from None
        self._lock = handle
        with suppress(OSError):  # writing the process id is optional: it may fail on a full disk
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)

    @property
    def being_played(self) -> bool:
        """Return whether a process plays the run, or one of its shards."""
        try:
            return any(part.is_locked for part in self.parts)
        except RunError:  # opening the run reports this error
            return self.is_locked

    @property
    def is_locked(self) -> bool:
        """Return whether a process holds the lock, without taking it: that would keep a player out."""
        path = self.path / "lock"
        try:
            there, holder = path.lstat(), read_plain(path, MOST_LOCK).strip()
        except (OSError, RunError):
            return False
        try:
            locks = Path("/proc/locks").read_text().splitlines()
        except OSError:  # not on Linux: the process that locked last may still run
            return holder.isdigit() and len(holder) < 10 and _is_alive(int(holder))
        mark = f"{os.major(there.st_dev):02x}:{os.minor(there.st_dev):02x}:{there.st_ino}"
        return any(" FLOCK " in line and mark in line.split() for line in locks)

    def unlock(self) -> None:
        """Release the lock of the run."""
        if self._lock is not None:
            with suppress(OSError):
                os.ftruncate(self._lock, 0)  # a refused command leaves the folder unchanged
            os.close(self._lock)
            self._lock = None

    def manifest(self) -> dict[str, Any]:
        """Read the manifest."""
        path = self.path / MANIFEST
        try:
            raw = read_plain(path)
        except FileNotFoundError:
            raise RunError(f"{self.path}: there is no run here (no {MANIFEST})") from None
        except OSError as error:
            raise RunError(f"{path}: cannot be read: {error.strerror}") from None
        manifest = read_manifest(raw, path)
        # A missing part is refused with the name of its package.
        NEEDED.update(manifest.get("parts") or {})
        return manifest

    @property
    def parts(self) -> list["Folder"]:
        """Return the folders whose journals hold the run: this one, or its shards."""
        return self.shards(self.manifest()) or [self]

    def shards(self, manifest: Mapping[str, Any]) -> list["Folder"]:
        """Return the checked shards of a joined run in order; empty for other runs."""
        listed = manifest.get("joined") or ()
        shards = [self._listed(part["path"]) for part in listed]
        for number, (part, shard) in enumerate(zip(listed, shards, strict=True), 1):
            own = shard.manifest()
            refuse_apart(shard.path, own, manifest, Shard(number, len(listed)))
            if identity(own) != part["identity"]:
                raise RunError(
                    f"{shard.path}: is another playing of shard {number}/{len(listed)} than the one that "
                    f"{self.path} was joined from (put that back, or join again)"
                )
        return shards

    def _listed(self, listed: str) -> "Folder":
        """Return the folder of a shard: a sibling, or an absolute path without links and ``..``."""
        path = Path(listed)
        beside = len(path.parts) == 1 and listed == path.name and path.name != ".."
        if not (beside or (path.is_absolute() and os.path.normpath(listed) == listed)) or not listed.isprintable():
            raise RunError(
                f"{self.path / MANIFEST}: joined: {listed[:200]!r} is neither the name of a folder beside the run "
                "nor a whole path"
            )
        try:
            path = refuse_link(self.path.absolute().parent / path)
            if not beside and path.resolve() != path:
                raise RunError(f"{path}: leads through a symbolic link (join again by its true path)")
            if not path.is_dir():
                raise RunError(
                    f"{path}: this shard of {self.path} is not there (put it back, or join again where it is now)"
                )
        except (OSError, ValueError) as error:
            raise RunError(f"{self.path / MANIFEST}: joined: {listed[:200]!r}: {error}") from None
        return Folder(path)

    def write_manifest(self, data: Mapping[str, Any]) -> None:
        """Write the manifest atomically, keeping the order of keys: matches are numbered by it."""
        path = self.path / MANIFEST
        try:
            write_atomically(path, manifest_bytes(data), sync=True)  # a journal without its manifest is refused
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror})") from None

    def describe_models(self, described: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the models' descriptions into the manifest; earlier ones are kept beside them."""
        manifest, models = self.manifest(), {name: dict(text) for name, text in described.items()}
        before = {name: list(texts) for name, texts in (manifest.get("models_before") or {}).items()}
        for name, text in (manifest.get("models") or {}).items():
            if text != models.get(name):
                before.setdefault(name, []).append(text)
        if manifest.get("models") != models:
            # A run of 1.0 did not keep earlier descriptions.
            all_recorded = "models" not in manifest or "models_before" in manifest
            self.write_manifest({**manifest, "models": models, **({"models_before": before} if all_recorded else {})})

    def record_served(self, journal: Journal) -> None:
        """Write into the manifest which versions of the models answered."""
        manifest, served = self.manifest(), journal.served()
        if served and manifest.get("served") != served:
            self.write_manifest({**manifest, "served": served})

    def open_journal(
        self, manifest: Mapping[str, Any] | None = None, *, create: bool = False, checked: bool = True
    ) -> Journal:
        """Open the journal; checks that it belongs to this manifest."""
        manifest = manifest or self.manifest()
        journal = self._opened(manifest, create, checked)
        journal.changed_packages = changed_packages(manifest.get("parts") or {}, manifest.get("code") or {})
        return journal

    def _opened(self, manifest: Mapping[str, Any], create: bool, checked: bool) -> Journal:
        if manifest.get("shared") is not None:
            if create:
                raise UsageError(f"{self.path}: is a shared run, which cannot be gone on with")
            return cast("Journal", SharedJournal(self.path, manifest["shared"].get("versions") or ()))
        if manifest.get("joined") is None:
            shard = Shard.of_manifest(manifest)
            return Journal(
                self.journal, create=create, identity=identity(manifest), checked=checked,
                calls_before=0 if shard is None else shard.calls_before,
            )  # fmt: skip
        refuse_joined(self.path, manifest, "has no journal of its own to write to" if create else None)
        journals: list[Journal] = []
        allow_files(len(manifest["joined"]))
        try:
            for listed, folder in zip(manifest["joined"], self.shards(manifest), strict=True):
                journals.append(folder.open_journal(checked=checked))
                if journals[-1].entries < listed["entries"]:
                    raise RunError(
                        f"{folder.journal}: holds {journals[-1].entries} entries, and held {listed['entries']} when "
                        f"{self.path} was joined from it (was an old copy put back?)"
                    )
            refuse_versions(journals)
            return JoinedJournal(self.path / MANIFEST, journals)
        except BaseException:
            for journal in journals:
                journal.close()
            raise


def refuse_joined(path: Path, manifest: Mapping[str, Any], why: str | None) -> None:
    """Refuse an operation on a joined run with the reason ``why``; do nothing for other runs."""
    if why is not None and manifest.get("joined") is not None:
        raise UsageError(
            f"{path}: is joined from {len(manifest['joined'])} shards and {why}; use the shards, such as "
            f"{manifest['joined'][0]['path']}"
        )


def refuse_apart(path: Path, shard_manifest: Mapping[str, Any], manifest: Mapping[str, Any], place: Shard) -> None:
    """Refuse the manifest of a shard that does not match the run, or is not number ``place``."""
    shard = Shard.of_manifest(shard_manifest)
    if shard is None or shard_manifest.get("joined") is not None:
        raise RunError(f"{path}: is no shard: it was played without --shard")
    if shard.of != place.of:
        raise RunError(f"{path}: is shard {shard}, one of {shard.of}, not of {place.of}")
    if shard != place:
        raise RunError(f"{path}: is shard {shard}, not {place}")
    if kind_of(shard_manifest) != kind_of(manifest):
        raise RunError(f"{path}: is a run of kind {kind_of(shard_manifest)}, not {kind_of(manifest)}")
    left, right = ({k: v for k, v in m["study"].items() if k not in FREE_TO_CHANGE} for m in (manifest, shard_manifest))
    if changes := differences(left, right):
        raise RunError(f"{path}: holds another study: {'; '.join(changes[:3])}")
    if shard_manifest.get("registered") != manifest.get("registered"):
        raise RunError(f"{path}: is bound to another registration, or to none")
    if changes := differences(manifest["prompts"], shard_manifest["prompts"]):
        raise RunError(f"{path}: was played with other prompts: {', '.join(c.partition(':')[0] for c in changes[:3])}")


def refuse_versions(journals: Sequence[Journal]) -> None:
    """Refuse shards that were last played by different versions of the package."""
    first = journals[0]
    for journal in journals:
        if journal.versions[-1:] != first.versions[-1:]:
            raise RunError(
                f"{journal.path.parent}: was played by ostrom {', '.join(journal.versions)}, "
                f"{first.path.parent} by ostrom {', '.join(first.versions)} (`ostrom resume` replays a shard with the "
                "version that is installed)"
            )


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def new_manifest(kind: str, study: Mapping[str, Any], prompts: Mapping[str, str], **more: Any) -> dict[str, Any]:
    """Return the initial manifest of a run. It holds no secrets."""
    return {
        "kind": kind,
        "study": study,
        "prompts": prompts,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {
            "ostrom": __version__,
            "python": platform.python_version(),
            "platform": f"{sys.platform}-{platform.machine()}",
        },
        "git": _commit(),
        **more,
    }


def _commit() -> str | None:
    """Return the git commit of the working directory; None if it is no checkout."""
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def differences(old: Any, new: Any, path: str = "") -> list[str]:
    """Return the differences between two studies, one line each.

    >>> differences({"rounds": 5, "seeds": 1}, {"rounds": 6, "seeds": 1})
    ['rounds: 5 -> 6']
    >>> differences({"vary": {"a": 1, "b": 2}}, {"vary": {"b": 2, "a": 1}})
    ['vary: the order a, b -> b, a']
    """
    if isinstance(old, dict) and isinstance(new, dict):
        lines = []
        if list(old) != list(new) and set(old) == set(new):
            lines.append(f"{path or 'study'}: the order {', '.join(map(str, old))} -> {', '.join(map(str, new))}")
        for key in sorted(set(old) | set(new)):
            where = f"{path}.{key}" if path else str(key)
            if key not in old:
                lines.append(f"{where}: (absent) -> {_short(new[key])}")
            elif key not in new:
                lines.append(f"{where}: {_short(old[key])} -> (absent)")
            else:
                lines += differences(old[key], new[key], where)
        return lines
    return [] if old == new else [f"{path}: {_short(old)} -> {_short(new)}"]


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else text[:57] + "..."


def check_name(name: str) -> str:
    """Return a run's name; anything but a plain folder name is refused."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise UsageError(f"run name {name!r}: use letters, digits, '.', '_' and '-' (at most 100)")
    return name


class SharedJournal:
    """A placeholder for the journal of a shared run: readers of tables do not query it."""

    entries, lazily_verified, closed = 0, False, False
    questions: tuple[str, ...] = ()

    def __init__(self, path: Path, versions: Sequence[str] = ()) -> None:
        self.path = path
        self.versions = tuple(versions)

    def close(self) -> None:
        """Do nothing: a shared run has no journal to close."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UsageError(f"{self.path}: is a shared run: it holds tables without texts, and nothing else can be asked")


def shared_heights(folder: Path, manifest: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the row counts of a shared run's tables after checking their files; None if the run is not shared."""
    if (part := manifest.get("shared")) is None:
        return None
    for name, table in part["tables"].items():
        path = folder / f"{name}.parquet"
        try:
            same = content_hash(read_plain(path)) == table["digest"]
        except OSError as error:
            raise RunError(f"{path}: cannot be read ({error.strerror or error})") from None
        if not same:
            raise RunError(f"{path}: is not the table that was shared (get the folder again)")
    return {name: int(table["rows"]) for name, table in part["tables"].items()}
