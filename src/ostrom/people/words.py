"""The texts of the pages, by language."""

from functools import lru_cache
from importlib.resources import files

from ostrom.ground.yaml import read_yaml


class PageWords(dict[str, str]):
    """The texts of the pages in one language; missing ones are English."""

    def __getattr__(self, name: str) -> str:
        return self[name]


@lru_cache(maxsize=64)
def words(language: str) -> PageWords:
    """Return the texts of a language."""
    folder = files("ostrom.web").joinpath("words")
    english: dict[str, str] = read_yaml(folder.joinpath("en.yaml").read_text(encoding="utf-8"), "en.yaml")
    own = folder.joinpath(f"{language.partition('-')[0]}.yaml")
    local_words: dict[str, str] = read_yaml(own.read_text(encoding="utf-8"), own.name) if own.is_file() else {}
    return PageWords({**english, **local_words})
