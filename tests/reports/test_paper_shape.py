"""Tables and bands as papers print them: levels side by side, mean ± standard deviation."""

import pytest

from ostrom.analysis.estimate import estimate
from ostrom.ground.errors import StudyError
from ostrom.reports.canvas import WIDE
from ostrom.reports.declared import panel_of

from .conftest import Played


def test_a_declared_table_puts_levels_side_by_side(played: Played) -> None:
    data = played()
    spec = {"chart": "table", "measure": "cooperation", "y": ["agent"], "x": "game", "scale": 100, "digits": 1}
    wide, long = panel_of(spec).draw(data).tables
    assert list(wide.columns) == ["agent", "prisoners_dilemma", "stag_hunt"]
    found = {(e.key["agent"], e.key["game"]): e for e in estimate(data, "cooperation", ["agent", "game"])}
    coin = [found["coin", game] for game in ("prisoners_dilemma", "stag_hunt")]
    assert [list(row) for row in wide.rows] == [
        ["kind", "100.0 ± 0.0", "100.0 ± 0.0"],
        ["coin", *(f"{100 * e.value:.1f} ± {100 * (e.sd or 0):.1f}" for e in coin)],
    ]
    assert all((e.sd or 0) > 0 for e in coin) and len(long.rows) == 4
    shown = panel_of({**spec, "show": "interval"}).draw(data).tables[0].rows[1][1]
    assert shown == f"{100 * coin[0].value:.1f} [{100 * coin[0].low:.1f}, {100 * coin[0].high:.1f}]"  # type: ignore[operator]


def test_bands_can_be_standard_deviations(played: Played) -> None:
    data = played()
    curve = {"chart": "curve", "measure": "cooperation", "x": "game", "colour": "agent", "bands": "sd"}
    drawn = panel_of(curve).draw(data)
    assert "bands and whiskers one standard deviation over matches" in drawn.figures[0].caption
    values = drawn.figures[0].chart(WIDE)
    (coin,) = (e for e in estimate(data, "cooperation", ["game", "agent"]) if e.key == {
        "game": "stag_hunt", "agent": "coin"})  # fmt: skip
    assert f"{coin.value + (coin.sd or 0):.6f}"[:6] in str(values)
    assert "sd" in drawn.tables[0].columns


@pytest.mark.parametrize(
    "wrong",
    [{"chart": "dots", "bands": "sd"}, {"chart": "table", "show": "se"},
     {"chart": "curve", "x": "game", "bands": "sd", "contrast": {"agent": "kind - coin"}}],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(StudyError, match=r"bands must be|show must be"):
        panel_of({"measure": "cooperation", **wrong})
