"""Published lists arrive complete; files that people write are read or refused with the file and the key."""

from collections import Counter
from pathlib import Path

import pytest

from ostrom.features.words.lexicons import LexiconWarning, defection, load_lexicons, memory_curse, persona_keywords
from ostrom.features.words.lexicons import lexicon as rules
from ostrom.ground.errors import StudyError


def test_the_published_lists_are_complete_and_repeated_terms_count_once() -> None:
    lists = {lexicon.name: lexicon for lexicon in memory_curse()}
    sizes = {name: len(lexicon.terms) for name, lexicon in lists.items()}
    # 32 printed cooperation terms: reciprocal stands twice, and two terms stand with and without hyphens.
    assert sizes == {"forward_looking": 15, "history_following": 16, "paranoia": 51, "cooperation": 32 - 3}
    assert [lexicon.mode for lexicon in lists.values()] == ["prefix", "prefix", "word", "word"]
    assert "Appendix E.1" in lists["paranoia"].source and "Liu et al. 2026" in lists["paranoia"].source


def test_the_nine_keyword_categories_match_whole_words() -> None:
    lists = persona_keywords()
    sizes = {"game_theoretic": 6, "payoff_focused": 7, "identity_based": 4, "strategic": 6, "social_moral": 9}
    sizes |= {"long_term": 5, "short_term": 5, "inferential": 7, "explicit_info": 7}
    assert {lexicon.name: len(lexicon.terms) for lexicon in lists} == sizes
    assert {lexicon.mode for lexicon in lists} == {"word"}
    assert {lexicon.mode for lexicon in persona_keywords(mode="prefix")} == {"prefix"}


def test_one_label_may_be_given_as_plain_text() -> None:
    assert defection("A1") == defection(["A1"])


def write(folder: Path, text: str, name: str = "own.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_long_term_that_aliases_repeat_is_folded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folded = Counter[str]()
    monkeypatch.setattr(rules, "fold", lambda char: folded.update(char) or char)
    path = write(tmp_path, f"lexicons: {{hope: [&a {'fair ' * 1000}{', *a' * 1000}]}}")
    with pytest.warns(LexiconWarning, match="hope.terms: repeats 'fair fair") as told:
        assert len(load_lexicons(path)[0].terms) == 1
    assert folded["f"] == 1000 and len(str(told[0].message)) < 500 + len(str(path))


def test_repeated_terms_are_told_and_counted_once(tmp_path: Path) -> None:
    path = write(tmp_path, "lexicons: {hope: [Long-term, fair, long term]}")
    with pytest.warns(LexiconWarning, match=r"own.yaml: lexicons.hope.terms: repeats 'long term'; counted once"):
        (lexicon,) = load_lexicons(path)
    assert lexicon.terms == ("Long-term", "fair")


def test_role_templates_need_role_names(tmp_path: Path) -> None:
    path = write(tmp_path, 'lexicons: {identity: ["as an [X]", "my [X] side"]}')
    with pytest.raises(StudyError, match=r"lexicons.identity.terms\[0\]: needs role names"):
        load_lexicons(path)
    (lexicon,) = load_lexicons(path, roles=["Citizen"])
    assert lexicon.terms == ("as a Citizen", "as an Citizen", "my Citizen side")


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"none\.yaml: cannot be read: No such file"):
        load_lexicons(tmp_path / "none.yaml")
    with pytest.raises(StudyError, match=r"list\.txt: unknown kind of lexicon file \(found '.txt'; allowed: .json"):
        load_lexicons(write(tmp_path, "a", "list.txt"))
    with pytest.raises(StudyError, match=r"bad\.json: line 1: is not JSON"):
        load_lexicons(write(tmp_path, "{", "bad.json"))
    with pytest.raises(StudyError, match=r"twice\.json: hope: the key stands twice"):
        load_lexicons(write(tmp_path, '{"lexicons": {"hope": ["a"], "hope": ["b"]}}', "twice.json"))
    (tmp_path / "latin.yaml").write_bytes(b"lexicons: {hope: [caf\xe9]}")
    with pytest.raises(StudyError, match=r"latin\.yaml: is not UTF-8 text"):
        load_lexicons(tmp_path / "latin.yaml")
