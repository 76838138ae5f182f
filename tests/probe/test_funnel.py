"""The funnel: counts by hand, every drop with its reason, echoes that count for nothing, matched placebos."""

from collections.abc import Sequence

import pytest
from tests.probe.conftest import PROMPT, collected, trace

from ostrom.ground.errors import UsageError
from ostrom.probe.files import dataset_card, summary
from ostrom.probe.funnel import ARMS, Arm, Corpus, Example, Rules, build, matched, sample, shuffled, split
from ostrom.probe.terms import Terms, terms_of
from ostrom.probe.trace import Scores, Trace


def made(traces: Sequence[Trace], arm: Arm = "forward", judges: int = 1, **rules: int) -> Corpus:
    return build(collected(*traces), arm, Rules(**rules), lambda some: some, judges)  # type: ignore[arg-type]


def test_the_funnel_counts_what_a_hand_counts() -> None:
    good = [trace(n, f"Reply {n}: a good reputation pays.") for n in range(5)]
    alike = [trace(10 + n, "It is always the long-term gain for all of us that counts most here.") for n in range(5)]
    traces = [
        *good,
        *alike,
        trace(20, "I like it."),
        trace(21, "My points in all future rounds count."),
        trace(22, "A signal.", scores=(Scores(8, 9, 7),)),
        trace(23, "A signal.", scores=(Scores(9, 8, 7),)),
        trace(24, "A signal.", scores=(Scores(9, 9, 6),)),
        trace(25, "A signal, but the risk!"),
        trace(26, "A signal to defect.", action="keep", cooperative=False),
        trace(27, "A signal.", scores=()),
    ]
    corpus = made(traces)
    assert {stage.name: (len(stage.kept), stage.reasons) for stage in corpus.stages} == {
        "collected": (18, {}),
        "prefilter": (16, {"no forward term": 1, "every forward term echoes the prompt": 1}),
        "sample": (16, {}),
        "judged": (15, {"no scores from every judge": 1}),
        "thresholds": (12, {"forward below 9": 1, "quality below 9": 1, "specificity below 7": 1}),
        "lexical": (11, {"no more forward than reactive terms": 1}),
        "families": (9, {"more than 3 replies begin alike": 2}),
    }
    assert len(corpus.train) + len(corpus.val) == 9
    told = summary(corpus, Rules(), ["r"], ["j"])
    assert told["cooperative_share"] == {"before": 17 / 18, "after": 8 / 9}
    assert told["echoes"]["forward_terms_that_echo_the_prompt"] == 1
    assert "| lexical |" in dataset_card(told)
    assert {stage["stage"]: stage["published"] for stage in told["stages"] if stage["published"]} == {
        "prefilter": "about 72 %", "sample": "12,000", "thresholds": "5,124", "lexical": "4,285", "families": "1,843",
    }  # fmt: skip
    assert "Published: 1,751 / 92." in dataset_card(told) and "| 5,124 |" in dataset_card(told)


def test_the_action_is_never_filtered_on() -> None:
    defections = [trace(n, f"{n} a signal", action="keep", cooperative=False) for n in range(3)]
    assert len(made(defections).examples) == 3


@pytest.mark.parametrize("arm", ARMS)
def test_a_corpus_of_echoes_yields_nothing(arm: Arm) -> None:
    sentences = ["Your points in all future rounds count.", "points in all future rounds", "all future rounds", PROMPT]
    traces = [trace(n, f"{s} " * (1 + n // 4), scores=(Scores(10, 10, 10),)) for n, s in enumerate(sentences * 3)]
    assert made(traces, arm).examples == ()


def test_what_an_echo_is() -> None:
    assert terms_of("In the future they may betray me.", PROMPT) == Terms(1, 1)
    assert terms_of("all FUTURE   rounds, all future rounds", PROMPT) == Terms(0, 0, 2)
    assert terms_of("Future rounds!", PROMPT) == Terms(0, 0, 1)  # a whole sentence, however short
    assert terms_of("Future!", PROMPT) == Terms(0, 0, 1)
    assert terms_of("Their future rounds are mine.", PROMPT) == Terms(1, 0)
    assert terms_of("unforgiveness", "") == Terms(1, 0)  # substrings, as in Appendix I.1


def test_every_judge_must_be_satisfied() -> None:
    pair = (Scores(9, 9, 7), Scores(10, 10, 8))
    assert len(made([trace(1, scores=pair)], judges=2).examples) == 1
    assert not made([trace(1, scores=(pair[0], Scores(8, 10, 10)))], judges=2).examples
    assert not made([trace(1, scores=pair[:1])], judges=2).examples
    assert made([trace(1, scores=pair)], judges=2).examples[0].weight == pytest.approx((0.63 + 0.8) / 2)


def test_the_sample_is_balanced_and_does_not_depend_on_the_order() -> None:
    traces = [trace(n, history_length=n % 3 if n < 30 else 0) for n in range(90)]
    drawn = sample(traces, 24)
    per = {h: sum(t.history_length == h for t in drawn.kept) for h in (0, 1, 2)}
    assert per == {0: 8, 1: 8, 2: 8} and len(drawn.dropped) == 66
    assert {t.place for t in sample(traces[::-1], 24).kept} == {t.place for t in drawn.kept}


def test_no_family_is_in_both_parts() -> None:
    traces = [trace(n, f"{n % 40:02} the long-term gain for all of us counts more than one round") for n in range(100)]
    train, val = split(traces, 0.05)
    assert not {t.family for t in train} & {t.family for t in val}
    assert 3 <= len(val) <= 5 and len(train) + len(val) == 100
    few = [trace(n, f"{n} the long-term gain") for n in range(10)]
    assert [len(split(few, share)[1]) for share in (0.04, 0.05, 0.15)] == [0, 1, 2]  # rounded half up
    assert trace(1, reply=" \n A signal.").family == trace(2, reply="A signal.").family


def test_placebos_are_matched_and_shortfalls_reported() -> None:
    def plain(n: int, words: int, **other: object) -> Trace:
        return trace(n, "x " * words + str(n), **{"scores": (Scores(2, 9, 9),), **other})

    forward = [
        trace(1, "signal " + "x " * 19),
        trace(2, "signal " + "y " * 40),
        trace(3, "signal here", action="keep", cooperative=False),
        trace(4, "signal there", history_length=80),
    ]
    others = [
        plain(11, 22),
        plain(12, 19),
        plain(13, 100),
        plain(14, 40, model="other"),
        plain(15, 40, scores=(Scores(4, 9, 9),)),
        plain(16, 40, cooperative=False, action="keep"),
        plain(17, 40, scores=(Scores(2, 8, 9),)),
    ]
    corpus = made([*forward, *others], "placebo")
    assert corpus.matching is not None
    pairs = {a.match: b.match for a, b in corpus.matching.pairs}
    assert pairs == {1: 12}
    assert {t.match: why for t, why in corpus.matching.without} == {
        2: "no candidate of about its length",
        3: "its action is not cooperative",
        4: "no candidate left with its model, game, history length and action",
    }
    (only,) = corpus.examples
    assert only.weight == forward[0].weight and only.as_dict("placebo")["matched_to"]["match"] == 1


def test_no_placebo_serves_twice_and_none_takes_another_action() -> None:
    def plain(n: int, **other: object) -> Trace:
        return trace(n, f"plain words {n}", **{"scores": (Scores(2, 9, 9),), **other})

    forward = [
        trace(1, "a signal one"),
        trace(2, "a signal two"),
        trace(3, "a signal three", action="give"),
        trace(4, "a signal four", action="keep", cooperative=False),
    ]
    corpus = made([*forward, plain(11), plain(12, action="keep", cooperative=False)], "placebo")
    assert corpus.matching is not None
    ((first, placebo),) = corpus.matching.pairs  # which of the two equals comes first is drawn
    other = {1: 2, 2: 1}[first.match]
    assert placebo.match == 11 and {t.match: why for t, why in corpus.matching.without} == {
        other: "no candidate left with its model, game, history length and action",
        3: "no candidate left with its model, game, history length and action",
        4: "its action is not cooperative",
    }


def test_the_longest_choose_first_among_lengths_within_a_quarter() -> None:
    def of(number: int, words: int) -> Trace:
        return trace(number, "x " * (words - 1))  # the answer is a word too

    (pair,) = matched([of(1, 16), of(2, 20)], [of(11, 16)]).pairs
    assert [one.match for one in pair] == [2, 11]
    assert [len(matched([of(1, 20)], [of(11, words)]).pairs) for words in (14, 15, 25, 26)] == [0, 1, 1, 0]


def test_prompts_go_round_by_the_step_that_changes_most_of_them() -> None:
    ordered = sorted((trace(n) for n in range(4)), key=lambda one: one.order)
    traces = [trace(one.match, messages=(("user", "ppqq"[i]),)) for i, one in enumerate(ordered)]
    examples, without = shuffled(traces)
    assert [example.messages[0][1] for example in examples] == [*"qqpp"] and not without


def test_shuffled_replies_answer_other_prompts() -> None:
    traces = [trace(n, f"{n} a good reputation pays") for n in range(40)]
    plain, corpus = made(traces), made(traces, "shuffled")
    assert {e.trace.place for e in corpus.train} == {e.trace.place for e in plain.train}
    assert all(e.messages != e.trace.messages for e in corpus.examples)
    assert sorted(e.messages for e in corpus.train) == sorted(e.messages for e in plain.train)
    same = [trace(n, f"{n} a good reputation pays", messages=(("user", "p"),)) for n in range(4)]
    assert made(same, "shuffled").stages[-1].reasons == {"no other prompt left": 4}


def test_no_reply_can_be_in_both_arms() -> None:
    with pytest.raises(UsageError, match="placebo-below"):
        Rules(placebo_below=10)
    assert Rules(placebo_below=9).forward == 9


def test_a_trace_and_its_example_as_plain_data() -> None:
    one = trace(7, step=3, seat=2, scores=(Scores(9, 9, 7), Scores(5, 1, 2)))
    assert one.provenance() == {"run": "r", "match": 7, "step": 3, "seat": 2} and one.place == ("r", 7, 3, 2)
    assert one.weight == pytest.approx(0.365) and one.words == 5 and one.prompt == f"{PROMPT} Match 7."
    assert one.family == one.reply[:50] and trace(8).order != one.order == trace(7, step=3, seat=2).order
    data = Example.from_trace(one).as_dict("forward")
    assert data["messages"] == [
        {"role": "user", "content": f"{PROMPT} Match 7."}, {"role": "assistant", "content": one.reply}
    ]  # fmt: skip
    assert (data["weight"], data["arm"], data["provenance"]) == (0.365, "forward", one.provenance())
    assert (data["model"], data["game"], data["history_length"]) == ("m", "public_goods", 2)
