"""The fast matcher finds what the regular expressions find, and the rules are those of the study."""

import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
from benchmarks.lexicon_regex import regex_spans
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.features.words.lexicons import (
    Lexicon,
    Matcher,
    defection,
    highlight,
    matched,
    memory_curse,
    persona_keywords,
)
from ostrom.features.words.lexicons.lexicon import Mode, Overlap, fold, is_word_character, normal_form
from ostrom.ground.errors import StudyError, UsageError

# Letters whose case changes length or has two forms, marks, every kind of gap, and half an emoji.
ADVERSARIAL = "aabbssiIkAS1_İıſßẞ\u212aÅåéΣσςΐ\u1fd3ﬁ\u0301.'’,\0😀\ud83d -\u2011–—\n\t\xa0\u202f\u3000\x1c"
pieces = st.text(ADVERSARIAL, min_size=1, max_size=5).filter(lambda term: any(map(is_word_character, term)))
texts = st.lists(st.one_of(pieces, st.text(ADVERSARIAL, max_size=12)), max_size=12).map("".join)


@st.composite
def lexicon_lists(draw: st.DrawFn) -> list[Lexicon]:
    modes: list[Mode] = ["prefix", "word", "inflected", "substring"]
    lists = []
    for number in range(draw(st.integers(1, 3))):
        terms = draw(st.lists(st.one_of(pieces, st.tuples(pieces, pieces).map(" ".join)), min_size=1, max_size=6))
        labels = {normal_form(label): label for label in draw(st.lists(pieces, max_size=2))}
        lists.append(Lexicon(f"list {number}", tuple(terms), draw(st.sampled_from(modes)), "", tuple(labels.values())))
    return lists


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(st.data(), lexicon_lists(), st.sampled_from(["longest", "all"]))
def test_every_span_is_the_one_of_the_regular_expressions(
    data: st.DataObject, lists: list[Lexicon], overlap: Overlap
) -> None:
    planted = st.sampled_from([term for lexicon in lists for term in (*lexicon.terms, *lexicon.labels)])
    joint = st.sampled_from(["", " ", "-", "\n\n", "x", "."])
    batch = data.draw(
        st.lists(
            st.lists(st.one_of(planted, planted.map(str.upper), joint, texts), max_size=8).map("".join), max_size=4
        )
    )
    words, counts = Matcher(lists, overlap).count(batch)
    for row, text in enumerate(batch):
        expected = regex_spans(text, lists, overlap)
        assert highlight(text, lists, overlap) == expected
        tally = Counter(span.list_name for span in expected)
        assert counts[row].tolist() == [tally[lexicon.name] for lexicon in lists]
        assert words[row] == len(text.split())


def test_folding_keeps_one_character_one_character_and_agrees_with_ignoring_case() -> None:
    for point in range(0x20000):
        char = chr(point)
        folded = fold(char)
        assert len(folded) == 1 and fold(folded) == folded and is_word_character(folded) == is_word_character(char)
        if folded != char and char != "\u2019":
            assert re.fullmatch(re.escape(folded), char, re.IGNORECASE), hex(point)
        for other in {char.lower(), char.upper(), char.casefold()} - {char}:
            if len(other) == 1 and char != "\u0345" and other != "\u0345":
                assert fold(other) == folded, hex(point)


@pytest.mark.slow
def test_lists_with_more_letters_than_a_byte_can_hold_match_too() -> None:
    letters = [chr(0x4E00 + i) for i in range(400)]
    lists = [Lexicon("many", tuple(a + b for a, b in pairwise(letters)), "substring")]
    text = f"{letters[3]}{letters[4]} {letters[398]}{letters[399]}{letters[0]}\u034e{letters[5]}"
    assert highlight(text, lists, "all") == regex_spans(text, lists, "all")
    assert len(highlight(text, lists)) == 2
    # The bytes of two neighbouring codes, here a letter and a blank, must not pass for those of one letter.
    single = [Lexicon("single", tuple(letters), "substring")]
    assert highlight("x y", single) == [] and len(highlight("".join(letters), single)) == 400


def spans_of(text: str, *terms: str, mode: Mode = "prefix", overlap: Overlap = "longest") -> list[str]:
    found = highlight(text, [Lexicon("list", terms, mode)], overlap)
    return [text[start:end] for start, end, _, _ in found]


def test_prefixes_match_at_word_starts_in_any_case() -> None:
    assert spans_of("Reciprocity, RECIPROCAL; _recipro_ but nonreciprocal", "recipro") == [
        "Recipro",
        "RECIPRO",
        "recipro",
    ]


@pytest.mark.parametrize("gap", [" ", "  ", "-", "\n", " - ", "\u2011", "\u2013", "\xa0", "\u202f"])
def test_parts_of_a_term_may_be_joined_by_any_white_space_or_hyphen(gap: str) -> None:
    for term in ("long-term", "long term"):
        assert spans_of(f"the LONG{gap}terms", term) == [f"LONG{gap}term"]


@pytest.mark.parametrize("text", ["longterm", "long, term", "long—term", "long_term", "prolong term"])
def test_parts_of_a_term_are_not_joined_by_anything_else(text: str) -> None:
    assert spans_of(text, "long-term") == []


def test_whole_words_do_not_match_inside_others() -> None:
    assert spans_of("Just adjust justice, just-in-time. JUST", "just", mode="word") == ["Just", "just", "JUST"]


def test_inflections_are_regular_forms_of_whole_words() -> None:
    text = "Adjusting payoffs: strategies, cooperating; trapped, adjust, shoulder, equilibria, matrices, strategist"
    terms = ("payoff", "strategy", "cooperate", "trap", "just", "should", "equilibrium", "matrix")
    assert spans_of(text, *terms, mode="inflected") == [
        "payoffs", "strategies", "cooperating", "trapped", "equilibria", "matrices",
    ]  # fmt: skip
    found = highlight("Best responses pay; we benefitted", [Lexicon("l", ("best response", "benefit"), "inflected")])
    assert [span.term for span in found] == ["best response", "benefit"]


def test_a_form_that_is_a_term_of_its_own_counts_once_as_that_term() -> None:
    lexicon = Lexicon("l", ("cooperate", "cooperating"), "inflected", labels=("Cooperates",))
    found = highlight("cooperating Cooperates", [lexicon], "all")
    assert [span.term for span in found] == ["cooperating", "cooperate"] and lexicon.labels == ()


def test_a_longer_whole_word_term_that_fails_leaves_the_shorter_one() -> None:
    assert spans_of("long runs", "long", "long run", mode="word") == ["long"]


def test_a_stretch_of_text_counts_once_per_list_unless_all_are_wanted() -> None:
    assert spans_of("risky: cannot trust", "risk", "risky", "cannot trust", "trust") == ["risky", "cannot trust"]
    every = spans_of("risky: cannot trust", "risk", "risky", "cannot trust", "trust", overlap="all")
    assert every == ["risk", "risky", "cannot trust", "trust"]


def test_one_word_may_count_in_several_lists() -> None:
    assert [span.list_name for span in highlight("risk", memory_curse())] == ["history_following", "paranoia"]


def test_trust_does_not_hide_in_distrust() -> None:
    names = [span.list_name for span in highlight("distrust, mistrust, untrusting", memory_curse())]
    assert names == ["paranoia"] * 2


def test_each_published_list_has_the_rule_of_its_appendix() -> None:
    text = "Carefully punishing threats; reciprocity and betrayals, cooperators; a risk."
    spans = [(span.list_name, text[span.start : span.end]) for span in highlight(text, memory_curse())]
    assert spans == [
        ("history_following", "punish"),
        ("forward_looking", "recipro"),
        ("cooperation", "reciprocity"),
        ("history_following", "betray"),
        ("history_following", "risk"),
        ("paranoia", "risk"),
    ]
    corpus = [span.term for span in highlight("unretaliated", matched(memory_curse(), "substring"))]
    assert corpus == ["retaliate", "retaliate"]


def test_offsets_are_those_of_the_original_text() -> None:
    text = "İİ ßß 😀\n\n  Wörst\u2011case: worst \n case"
    (span,) = highlight(text, [Lexicon("l", ("worst-case",))])
    assert text[span.start : span.end] == "worst \n case"


def test_labels_match_whole_and_in_their_case_only() -> None:
    lexicon = defection("A1")
    assert [s.term for s in highlight("A1 a1 [A1] A10 BA1 defects", [lexicon])] == ["A1", "A1", "defect"]
    assert Matcher([lexicon]).count(["x", "a1", "😀 A1 a1", "A1"])[1].tolist() == [[0], [0], [1], [1]]


def test_terms_never_match_across_two_traces() -> None:
    assert Matcher([Lexicon("l", ("long term",))]).count(["long", "term", "", "long", " term"])[1].sum() == 0


def test_role_names_fill_the_template_with_both_articles_and_nothing_else_does() -> None:
    lists = persona_keywords(["Environmental activist", "Citizen"])
    found = highlight("As an environmental activist; as a citizen; as a citizens; as a banker", lists)
    assert [span.term for span in found] == ["as an Environmental activist", "as a Citizen"]
    assert highlight("as an [X], as a Citizen", persona_keywords()) == []


def test_wrong_use_is_told_in_one_line() -> None:
    with pytest.raises(StudyError, match="two lexicons have the same name"):
        Matcher([Lexicon("a", ("x",)), Lexicon("a", ("y",))])
    with pytest.raises(StudyError, match="at least one lexicon"):
        Matcher([])
    with pytest.raises(StudyError, match=r"overlap: .*found 'some'; allowed: longest, all"):
        Matcher([Lexicon("a", ("x",))], "some")  # type: ignore[arg-type]
    with pytest.raises(StudyError, match="labels differ only by case"):
        defection(["a", "A"])


def test_the_missing_package_is_named_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ahocorasick_rs", None)
    with pytest.raises(UsageError, match=re.escape("pip install 'ostrom[analysis]'")):
        Matcher([Lexicon("a", ("x",))])


def test_importing_the_facade_loads_nothing_heavy() -> None:
    loaded = "{'ahocorasick_rs', 'yaml'} & set(sys.modules)"
    code = f"import sys, ostrom.features.words.lexicons; print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
