"""Every word that makes a reply doubtful does so, and every mark that ends a turn, a line or a sentence."""

from typing import Any

import pytest

from ostrom.answers import Answer, Invalid, read_choice
from ostrom.answers.choice import Labels, kind_of, mentions, unknown
from ostrom.answers.reading import final_part, last_sentence

LABELS = {"C": "A0", "D": "A1"}


def why(reply: str, **options: Any) -> str:
    found = read_choice(reply, LABELS, **options)
    assert isinstance(found, Invalid), found
    return found.reason


def chosen(reply: str, labels: dict[str, str] = LABELS) -> str:
    found = read_choice(reply, labels)
    assert isinstance(found, Answer), found
    return str(found.value)


@pytest.mark.parametrize(
    "word",
    "not no never neither nor none nothing nobody cannot cant dont wont wouldnt shouldnt isnt doesnt avoid avoiding"
    " refuse refusing reject rejecting don't won’t haven't".split(),
)
def test_a_negation_anywhere_in_the_sentence_is_a_doubt(word: str) -> None:
    assert why(f"I {word} choose A1.").startswith("the last sentence is negated")
    assert why(f"{word.capitalize()} choosing [A1] today").startswith("the last sentence is negated")


@pytest.mark.parametrize("words", ["instead of", "rather than", "other than", "anything but", "Rather than"])
def test_what_is_opposed_is_not_chosen(words: str) -> None:
    assert why(f"I go {words} A1.").startswith("the last sentence is negated")


@pytest.mark.parametrize("word", ["than", "over", "against", "except", "without", "unlike", "versus", "vs", "but"])
def test_what_is_compared_with_is_not_chosen(word: str) -> None:
    assert why(f"All {word} A1.").startswith("the last sentence only compares")


@pytest.mark.parametrize(
    "words",
    [
        "compared to",
        "compared with",
        "in comparison to the action",
        "than choosing",
        "the other option,",
        "the other choice",
    ],
)
def test_an_option_that_a_comparison_leads_to_is_not_chosen(words: str) -> None:
    assert why(f"This earns me more {words} A1.").startswith("the last sentence only compares")
    assert chosen(f"Compared with that, the action to choose {words.split()[-1]} is A1.") == "D"


def test_what_a_numbered_player_does_is_not_chosen() -> None:
    assert why("Player 2 will always choose A1.").startswith("the last sentence tells what another player does")
    assert chosen("In round 2 I choose A1.") == "D"


@pytest.mark.parametrize("word", ["if", "unless", "whether", "suppose", "supposing", "when", "whenever", "If"])
def test_what_is_supposed_is_not_chosen(word: str) -> None:
    assert why(f"{word} I choose A1").startswith("the last sentence only supposes")
    assert chosen(f"{word} they choose well, I choose A1") == "D"  # the supposition has ended
    assert chosen(f"{word} they do well then I choose A1") == "D"


@pytest.mark.parametrize("word", ["so", "therefore", "thus", "hence", "consequently"])
def test_a_negation_before_a_consequence_does_not_reach_it(word: str) -> None:
    assert chosen(f"I do not trust them, {word} I choose A1.") == "D"
    assert why(f"I trust them, {word} I do not choose A1.").startswith("the last sentence is negated")


@pytest.mark.parametrize("word", ["because", "since", "as"])
def test_a_negation_in_the_reason_does_not_reach_back(word: str) -> None:
    assert chosen(f"I choose A1 {word} they are not nice.") == "D"
    assert why(f"{word.capitalize()} they are nice I do not choose A1.").startswith("the last sentence is negated")


@pytest.mark.parametrize(
    "who",
    "opponent opponents other others player players partner partners they he she everyone everybody someone agent"
    " agents person people P1 P2 P3 P4 P5 P6 P7 P8 P9".split(),
)
def test_what_another_one_does_is_not_chosen(who: str) -> None:
    assert why(f"I think {who} will choose A1").startswith("the last sentence tells what another player does")
    assert chosen(f"{who} was kind and I choose A1") == "D"


@pytest.mark.parametrize(
    "act",
    "choose chooses choosing chose chosen pick picks picked play plays played playing select selects selected took"
    " take takes pursue pursues go goes went".split(),
)
@pytest.mark.parametrize("between", ["", "will ", "would ", "to ", "always ", "probably ", "has ", "is ", "might "])
def test_however_another_one_does_it(act: str, between: str) -> None:
    assert "another player" in why(f"I guess they {between}{act} A1")


@pytest.mark.parametrize("mark", ["?", "？", '?"', "?)", "?**"])
def test_a_question_is_no_answer(mark: str) -> None:
    assert why(f'"A1{mark}').startswith("the last sentence is a question")


@pytest.mark.parametrize(
    "mark", ["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "<eos>", "</s>"]
)
def test_marks_that_end_a_turn_are_no_part_of_it(mark: str) -> None:
    assert read_choice(f"[A1]{mark}", LABELS) == Answer("D", "exact")
    assert final_part(f"x{mark} {mark}\n{mark}{mark}") == "x"
    assert final_part(f"x{5 * (mark + ' ')}") != "x"  # a few marks, not any number of them


@pytest.mark.parametrize("blank", ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\x00", "\u3000", "\t"])
def test_what_cannot_be_seen_is_no_part_of_a_reply(blank: str) -> None:
    assert read_choice(f"{blank}[A1]{blank}", LABELS) == Answer("D", "exact")


@pytest.mark.parametrize("pause", ["\r\n", "\r", "\v", "\f", "\x85", "\u2028", "\u2029", "\n"])
def test_every_kind_of_line_break_ends_a_line(pause: str) -> None:
    assert read_choice(f"I like A0{pause}[A1]", LABELS) == Answer("D", "exact")


@pytest.mark.parametrize("stop", [".", "!", "?", "…"])
def test_a_stop_ends_a_sentence_where_white_space_follows(stop: str) -> None:
    assert chosen(f"Not A0{stop} I choose A1") == "D"
    assert why(f"not A0{stop}I choose A1").startswith("the last sentence names more than one")


@pytest.mark.parametrize("stop", ["。", "！", "？"])
def test_a_wide_stop_ends_a_sentence_by_itself(stop: str) -> None:
    assert chosen(f"not A0{stop}I choose A1") == "D"


@pytest.mark.parametrize("short", ["e.g", "i.e", "vs", "cf", "approx", "E.g"])
def test_an_abbreviation_ends_no_sentence(short: str) -> None:
    assert why(f"I never play, {short}. A1").startswith("the last sentence is negated")


@pytest.mark.parametrize(("line", "sentence"), [("1. A0", "1. A0"), ("999. A0", "999. A0"), ("1000. A0", "A0")])
def test_the_number_of_a_list_item_ends_no_sentence(line: str, sentence: str) -> None:
    assert last_sentence(line, bool) == sentence


@pytest.mark.parametrize("tie", list("='’-/+\\@#%&~^|$_"))
def test_a_label_tied_to_its_neighbour_is_not_named(tie: str) -> None:
    assert isinstance(read_choice(f"We saw A0{tie}x today", LABELS), Invalid)
    assert isinstance(read_choice(f"We saw x{tie}A0 today", LABELS), Invalid)


@pytest.mark.parametrize(
    "cue",
    "action answer choice choose chooses choosing chose decision move option pick picking play playing select"
    " selecting selection".split(),
)
def test_a_word_is_an_answer_only_behind_a_cue(cue: str) -> None:
    words = {"C": "cooperate", "D": "defect"}
    assert chosen(f"Well, my {cue} is to defect.", words) == "D"
    assert isinstance(read_choice(f"Well, {cue} him to defect more.", words), Invalid)
    assert isinstance(read_choice("Well, I love to defect.", words), Invalid)


@pytest.mark.parametrize("who", ["agent", "opponent", "partner", "person", "player", "seat", "team"])
def test_a_letter_behind_a_person_is_a_name(who: str) -> None:
    letters = {"C": "J", "D": "F"}
    assert isinstance(read_choice(f"I like {who} J", letters), Invalid)
    assert chosen("I like option J", letters) == "C"


def test_kinds_of_labels() -> None:
    kinds = {
        "A0": "code", "GO_ON": "code", "+": "code", "J": "name", "CLEAN": "name", "go": "word", "Stag": "word",
        "2": "word", "A": "article", "I": "article", "a": "article", "i": "article",
    }  # fmt: skip
    assert {label: kind_of(label) for label in kinds} == kinds


def test_labels_bounded_by_symbols() -> None:
    symbols = {"C": "+", "D": "++", "E": "-x-"}
    assert chosen("I choose [++]", symbols) == "D" and chosen("I choose [+]", symbols) == "C"
    pattern = Labels(symbols).pattern
    assert [m.group() for m in pattern.finditer("+ ++ +++ -x- --x-")] == ["+", "++", "-x-"]
    assert [m.group() for m in Labels({"C": "A1", "D": "A10"}).pattern.finditer("A1 A10 xA1 A1x A1_ A100")] == [
        "A1", "A10", "A1",
    ]  # fmt: skip
    cases = Labels({"C": "go", "D": "Go"})
    assert (cases.key("go"), cases.key("Go"), cases.key("GO")) == ("C", "D", None)
    assert [m.group() for m in cases.pattern.finditer("go Go GO")] == ["go", "Go"]


def test_the_list_of_labels_is_short() -> None:
    many = Labels({str(i): f"L{i}" for i in range(13)})
    assert many.bracketed() == ", ".join(f"[L{i}]" for i in range(12)) + ", ... (13 options)"
    twelve = Labels({str(i): f"L{i}" for i in range(12)})
    assert twelve.bracketed().endswith("[L10] or [L11]")
    assert Labels({"a": "x", "b": "y", "c": "z"}).bracketed() == "[x], [y] or [z]"
    assert Labels({"a": "x", "b": "y"}).bracketed() == "[x] or [y]"


WORDS = {"C": "cooperate", "D": "defect"}


@pytest.mark.parametrize(
    "marks",
    [
        "[]",
        "()",
        "{}",
        "<>",
        '""',
        "''",
        "``",
        "**",
        "__",
        "“”",
        "‘’",
        "«»",
        "「」",
        "『』",
        "【】",
        "［］",
        "（）",
        "><",
    ],
)
def test_a_word_in_marks_is_named_wherever_it_stands(marks: str) -> None:
    assert chosen(f"Today {marks[0]}defect{marks[1]} seems fair", WORDS) == "D"
    assert chosen(f"Today {marks[0]}defect.{marks[1]}", WORDS) == "D"
    assert read_choice(f"{marks[0]}defect{marks[1]}", WORDS) == Answer("D", "loose" if marks == "><" else "exact")
    assert isinstance(read_choice(f"Today {marks[0]}defect seems fair", WORDS), Invalid)


@pytest.mark.parametrize("marks", ["[]", "()", "{}", "``"])
def test_marks_may_stand_a_space_away_on_both_sides(marks: str) -> None:
    assert chosen(f"Today {marks[0]} defect {marks[1]} seems fair", WORDS) == "D"
    assert isinstance(read_choice(f"Today {marks[0]} defect  seems fair", WORDS), Invalid)
    assert isinstance(read_choice(f"Today {marks[0]}{marks[0]}defect {marks[1]} it is", WORDS), Invalid)


@pytest.mark.parametrize("mark", [".", ",", "!"])
def test_a_mark_of_punctuation_may_stand_within_quotes(mark: str) -> None:
    assert chosen(f'Today I say "defect{mark}"', WORDS) == "D"
    assert isinstance(read_choice('Today I say "defect;"', WORDS), Invalid)


CODES, LETTERS = Labels({"C": "A0", "D": "A1"}), Labels({"C": "A", "D": "B"})


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("[A0] it is", None), ("I take [ A0 ].", None), ("[A7]", "[A7]"), ("[A0] or [A7]", "[A7]"),
        ("A7 it is", "A7"), ("B7 it is", None), ("A0 and A1", None),
    ],
)  # fmt: skip
def test_a_label_that_is_none_is_told(sentence: str, found: str | None) -> None:
    assert unknown(sentence, CODES, mentions(sentence, CODES)) == found


@pytest.mark.parametrize(
    ("sentence", "named"),
    [
        ("My choice is A.", ["C"]), ("I choose to play with A because", ["C"]), ("The A.", []), ("is A.", []),
        ("A.", []),
        ("My choice is A good one.", []), ("I choose B!", ["D"]), ("the reward is A.", []),
    ],
)  # fmt: skip
def test_a_letter_that_is_an_article_is_named_behind_a_cue_alone(sentence: str, named: list[str]) -> None:
    assert [one.key for one in mentions(sentence, LETTERS) if one.named] == named


def test_of_two_labels_that_begin_alike_the_longer_one_is_named() -> None:
    labels = Labels({"C": "Red", "D": "Red wine", "E": "A-1"})
    for sentence, key in (("I pick [Red wine].", "D"), ("I pick [Red].", "C"), ("It is [A-1].", "E")):
        assert [one.key for one in mentions(sentence, labels)] == [key]
