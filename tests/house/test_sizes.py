"""A quick run tries less, and says so in one place: nothing is left out of a whole run."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import sizes


@pytest.mark.sample(3)
@pytest.mark.parametrize("number", range(10))
def test_a_quick_run_takes_some_cases_and_a_whole_run_all(number: int, request: pytest.FixtureRequest) -> None:
    assert bool(request.node.get_closest_marker("slow")) == (number not in (0, 3, 6))


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_run_has_its_own_sizes(quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "QUICK", quick)
    assert sizes.size(whole=50, quick=5) == (5 if quick else 50)


@pytest.mark.parametrize(("stated", "quick"), [(100, 10), (20, 8), (3, 3)])
def test_property_tests_draw_fewer_examples_in_a_quick_run(
    stated: int, quick: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []

    @settings(max_examples=stated, database=None)
    @given(st.integers())
    def property_test(number: int) -> None:
        drawn.append(number)

    item = pytest.Function.from_parent(request.node.parent, name="property_test", callobj=property_test)
    for is_quick, most in ((False, stated), (True, quick)):
        monkeypatch.setattr(sizes, "QUICK", is_quick)
        sizes.draw_fewer([item])
        drawn.clear()
        property_test()
        assert len(drawn) == most
