"""The text files of a study with people; stored in the run, so that changes are noticed."""

from functools import partial
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from ostrom.ground.errors import RunError, StudyError
from ostrom.ground.files import read_plain
from ostrom.ground.validation import problem
from ostrom.ground.yaml import read_yaml
from ostrom.people.questions import Questionnaire
from ostrom.people.schema import People
from ostrom.people.text_checks import PLACE

LONGEST = 200_000


def read_texts(people: People, folder: Path, file: str) -> dict[str, str]:
    """Return every text file of the visit in every language, by name; texts inside the study have priority."""
    texts: dict[str, str] = {}
    for name in people.files:
        originals = None
        for language in people.languages:
            local = localised(name, language, people.languages)
            text = people.texts.get(local)
            texts[local] = text if text is not None else _read(folder, local, file)
            if name.endswith((".yaml", ".yml")):
                sheet = questionnaire(PLACE.sub(r"value \1", texts[local]), local, file)
                originals = originals or sheet
                _same_shape(originals, sheet, local, file)
    return texts


def localised(name: str, language: str, languages: tuple[str, ...]) -> str:
    """Return the file name of a text in a language: the first language has the plain name.

    >>> localised("texts/consent.md", "de", ("en", "de")), localised("texts/consent.md", "en", ("en", "de"))
    ('texts/consent.de.md', 'texts/consent.md')
    """
    if language == languages[0]:
        return name
    path = PurePosixPath(name)
    return str(path.with_name(f"{path.stem}.{language}{path.suffix}"))


def questionnaire(text: str, name: str, file: str | None = None) -> Questionnaire:
    """Parse a questionnaire."""
    where = name if file is None else f"{file}: {name}"
    data = read_yaml(text, where)
    try:
        return Questionnaire.model_validate({"questions": data} if isinstance(data, list) else data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "extra_forbidden":
            raise problem(error, Questionnaire, where) from None
        key = ".".join(str(part) for part in first["loc"])
        entry = first.get("input")
        plain_entry = entry if isinstance(entry, str | int | float) else None
        message = first["msg"].removeprefix("Value error, ")
        raise StudyError(message, file=where, key=key or None, actual=plain_entry) from None


def _read(folder: Path, name: str, file: str) -> str:
    problem = partial(StudyError, file=file, key="people.visit", actual=name)
    if ".." in PurePosixPath(name).parts:
        raise problem("a text lies in or below the folder of the study")
    path = folder / name
    if path.exists() and not path.resolve().is_relative_to(folder.resolve()):
        raise problem("a link leads out of the folder of the study")
    try:
        return read_plain(path.resolve(), LONGEST).decode("utf-8")
    except RunError:
        raise problem(f"is no plain file of at most {LONGEST} bytes") from None
    except FileNotFoundError:
        raise problem(f"there is no such text beside the study ({path})") from None
    except OSError as error:
        raise problem(f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise problem("is not a text file in UTF-8") from None


def _same_shape(one: Questionnaire, other: Questionnaire, name: str, file: str) -> None:
    """Refuse questionnaires that differ between languages: answers must go into the same columns."""
    for (key, a), (other_key, b) in zip(one.named(), other.named(), strict=False):
        same = (len(a.options), a.number, a.free, a.optional, a.kept_apart) == (
            len(b.options), b.number, b.free, b.optional, b.kept_apart,
        )  # fmt: skip
        right = a.answer is None or (b.answer is not None and a.options.index(a.answer) == b.options.index(b.answer))
        if key != other_key or not same or not right:
            raise StudyError(
                f"question {other_key} differs from the first language in more than its words", file=file, key=name
            )
    if len(one.questions) != len(other.questions):
        raise StudyError(
            f"has {len(other.questions)} questions, the first language has {len(one.questions)}", file=file, key=name
        )
