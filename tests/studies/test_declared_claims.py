"""Claims as data: figures of a run beside printed ones, and errors that name the file and the key."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ostrom.analysis.claims import FILE, DeclaredReference, declared_reference, own_figure
from ostrom.analysis.estimate import Estimate
from ostrom.features.comparing import references
from ostrom.ground.errors import StudyError

CLAIMS = """
citation: Author (2026), A paper
about: Cooperation by game.
columns: [game, measure]
published: {cell: [game, measure], model: model, source: table, doubts: note}
figures:
- {cell: [$game, cooperation], measure: cooperation, by: [agent, game], scale: 100}
remarks: [Two games.]
"""
Package = Callable[[str], str]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """A package with a claims.yaml of that text."""

    def make(text: str) -> str:
        folder = tmp_path / f"paper_{abs(hash(tmp_path))}"  # a name of its own: modules are imported once
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / FILE).write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        return folder.name

    return make


def test_a_file_declares_a_whole_reference(package: Package) -> None:
    made = declared_reference("sixth", package(CLAIMS))
    assert issubclass(made, DeclaredReference)
    assert (made.name, made.citation, made.columns) == ("sixth", "Author (2026), A paper", ("game", "measure"))
    assert made.spread == "none printed" and made.__doc__ == "Cooperation by game."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CLAIMS.replace("figures:", "figure:"), "figure"),
        (CLAIMS.replace("scale: 100", "scale: much"), "scale"),
        (CLAIMS.replace("citation: Author (2026), A paper", ""), "citation"),
        (CLAIMS + "python: .lost:Paper\n", "python"),
    ],
)
def test_what_is_wrong_names_the_file_and_the_key(package: Package, text: str, words: str) -> None:
    with pytest.raises(StudyError) as caught:
        declared_reference("sixth", package(text))
    assert f"sixth/{FILE}" in str(caught.value) and words in str(caught.value)


def estimate(value: float, low: float | None, high: float | None) -> Estimate:
    return Estimate({"agent": "a"}, value, low, high, 5, "match", "t", "")


def test_ends_of_intervals_change_places_with_the_sign_and_with_the_opposite() -> None:
    one = estimate(0.25, 0.0, 0.5)
    assert (own_figure(("x",), one, 100).value, own_figure(("x",), one, 100).high) == (25.0, 50.0)
    turned = own_figure(("x",), one, -100, spread=0.1)
    assert (turned.value, turned.low, turned.high, turned.spread) == (-25.0, -50.0, 0.0, 10.0)
    opposite = own_figure(("x",), one, complement=True)
    assert (opposite.value, opposite.low, opposite.high) == (0.75, 0.5, 1.0)
    assert own_figure(("x",), estimate(0.25, None, None)).low is None


def test_every_paper_of_ours_is_declared() -> None:
    for name in references:
        reference = references.build(name)
        assert isinstance(reference, DeclaredReference), name
        assert all(len(figure.cell) == len(reference.columns) for figure in reference.published()), name
