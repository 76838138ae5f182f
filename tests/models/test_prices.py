"""Prices: known, free, or unknown; never zero for want of knowledge."""

from pathlib import Path

import pytest

from ostrom.ground.errors import StudyError
from ostrom.models import Usage
from ostrom.models.prices import NOTHING, Rates, batch_share, load_prices, price_of, price_of_calls, rates_of

CALL = Usage(input=1_000_000, output=1_000_000)


def test_published_prices() -> None:
    pytest.importorskip("genai_prices")
    assert price_of("openai/gpt-4o-mini", CALL) == pytest.approx(0.75)
    assert price_of("inspect/openai/gpt-4o-mini", CALL) == pytest.approx(0.75)
    cached = Usage(input=1_000_000, output=0, cached=1_000_000)
    assert price_of("openai/gpt-4o-mini", cached) == pytest.approx(0.075)


def test_prices_that_depend_on_the_length_of_the_prompt() -> None:
    pytest.importorskip("genai_prices")
    short, long = Usage(input=100_000, output=0), Usage(input=400_000, output=0)
    cheap, dear = price_of("google/gemini-2.5-pro", short), price_of("google/gemini-2.5-pro", long)
    assert rates_of("google/gemini-2.5-pro") is None
    assert cheap is not None and dear is not None and dear > 4 * cheap


@pytest.mark.parametrize(
    "name", ["embedded/smollm2-135m", "scripted/x", "http://127.0.0.1:8000/v1#m", "http://localhost/v1#m"]
)
def test_this_machine_costs_nothing(name: str) -> None:
    assert price_of(name, CALL) == 0.0
    assert price_of(name, Usage()) == 0.0


@pytest.mark.parametrize("name", ["openai/unheard-of", "https://example.org/v1#gpt-4o-mini", "sglang/qwen", "nobody/m"])
def test_unknown_is_unknown(name: str) -> None:
    assert price_of(name, CALL) is None


def test_unknown_tokens_have_an_unknown_price() -> None:
    assert price_of("m/x", Usage(input=5), {"m/x": Rates(1, 1)}) is None


def test_a_table_comes_first(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("openai/gpt-4o-mini: {input: 1, output: 2.5, cached: 0}\nvllm/qwen: {input: 0, output: 0}\n")
    table = load_prices(path)
    assert price_of("openai/gpt-4o-mini", CALL, table) == 3.5
    assert price_of("vllm/qwen", CALL, table) == 0.0
    assert price_of("vllm/qwen", CALL, {"vllm/qwen": {"input": 1, "output": 1}}) == 2.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a/b: {input: 1}", "p.yaml: a/b: needs a price for input and for output"),
        ("a/b: {input: 1, output: cheap}", "p.yaml: a/b.output: a price is a number of at least 0"),
        ("a/b: {input: 1, output: -1}", "at least 0"),
        ("a/b: {input: 1, output: .nan}", "at least 0"),
        ("a/b: {in: 1, output: 1}", "allowed: input, output, cached"),
        ("a/b: 3", "a price is a mapping"),
        ("- 3", "must map model names to prices"),
        ("{", "is not valid YAML"),
    ],
)
def test_a_wrong_table_gets_one_clear_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(text)
    with pytest.raises(StudyError, match=said) as caught:
        load_prices(path)
    assert "\n" not in str(caught.value)


def test_a_missing_table_gets_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot be read"):
        load_prices(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("usage", "price"),
    [
        (Usage(input=1_000_000, output=0), 2.0),
        (Usage(input=0, output=1_000_000), 8.0),
        (Usage(input=1_000_000, output=0, cached=1_000_000), 0.5),
        (Usage(input=1_000_000, output=250_000, cached=400_000), 0.6 * 2 + 0.4 * 0.5 + 0.25 * 8),
        (Usage(input=100, output=0, cached=1_000_000), 100 * 0.5e-6),  # never more than were sent
        (Usage(input=1_000_000, output=0, reasoning=5), 2.0),
    ],
)
def test_a_call_costs_input_less_cached_tokens_cached_tokens_and_output(usage: Usage, price: float) -> None:
    assert Rates(input=2.0, output=8.0, cached=0.5).cost(usage) == pytest.approx(price, rel=1e-12)


def test_free_is_free_without_token_counts_and_anything_else_is_unknown() -> None:
    assert Rates(0.0, 0.0, 0.0).cost(Usage()) == 0.0
    assert Rates(1.0, 1.0).cost(Usage(input=None, output=5)) is None
    assert Rates(1.0, 1.0).cost(Usage(input=5, output=None)) is None


@pytest.mark.parametrize("wrong", [True, float("inf"), float("nan"), -0.5, "1", None])
def test_a_price_is_a_number_of_at_least_zero(wrong: object) -> None:
    with pytest.raises(StudyError, match=r"m/x\.cached: a price is a number of at least 0"):
        price_of("m/x", CALL, {"m/x": {"input": 1, "output": 1, "cached": wrong}})


@pytest.mark.parametrize(
    ("model", "rates", "share"),
    [
        ("openai/m", None, 0.5),
        ("openai/m", Rates(1, 2), 0.5),
        ("openai/m", Rates(1, 2, batch=0.0), 0.0),
        ("openai/m", NOTHING, 1.0),
        ("vllm/m", NOTHING, 1.0),
        ("lab/m", Rates(1, 2), None),
    ],
)
def test_a_batch_costs_a_share_that_the_table_or_the_service_states(
    model: str, rates: Rates | None, share: float | None
) -> None:
    assert batch_share(model, rates) == share
    table = {model: Rates(1, 2) if rates is None else rates}
    usual = price_of(model, CALL, table)
    assert usual is not None
    assert price_of(model, CALL, table, batch=True) == usual * (1.0 if share is None else share)
    assert price_of("openai/unheard-of", CALL, batch=True) is None


def test_calls_of_mean_sizes_cost_what_they_cost_one_by_one() -> None:
    pytest.importorskip("genai_prices")
    tiered, call = "google/gemini-2.5-pro", Usage(input=1000, output=500)
    assert rates_of(tiered) is None
    one = price_of(tiered, call)
    assert one is not None
    assert price_of_calls(tiered, 10, 1000, 500) == pytest.approx(10 * one, rel=1e-6)
    assert price_of_calls(tiered, 10, 0, 500) == pytest.approx(
        10 * (one - 1000 * (price_of(tiered, Usage(1, 0)) or 0)), rel=1e-6
    )
    assert price_of_calls("openai/unheard-of", 10, 1000, 500) is None
    assert price_of_calls("vllm/m", 10, 1000, 500) == 0.0


def test_a_price_may_be_nought_and_every_key_of_a_wrong_one_is_named() -> None:
    assert rates_of("m/x", {"m/x": {"input": 0, "output": 0, "kept": 0, "batch": 0}}) == Rates(0, 0, None, 0, 0)
    for missing in ("input", "output"):
        entry = {"input": 1, "output": 2}
        del entry[missing]
        with pytest.raises(StudyError, match="needs a price for input and for output"):
            rates_of("m/x", {"m/x": entry})
