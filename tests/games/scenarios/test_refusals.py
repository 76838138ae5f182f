"""Broken scenario files are refused in one line that names the file, the key and the reason."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ostrom.games.scenarios import load_cast, load_scenario, prove
from ostrom.ground.errors import StudyError

Change = Callable[[dict[str, Any]], None]

WORDS = " ".join(["word"] * 60)
PERSONA = " ".join(["word"] * 25)


def role(key: str, *actions: str) -> dict[str, Any]:
    entries = [{"key": a, "label": f"do {a}", "green": place == 0} for place, a in enumerate(actions)]
    return {"key": key, "title": key.title(), "persona": PERSONA, "actions": entries}


def sound() -> dict[str, Any]:
    """Two roles with three and two actions; giving is dominated, so only the tragedy is an equilibrium."""
    return {
        "name": "well",
        "title": "The Village Well",
        "family": "village",
        "class": "economic",
        "subtype": "Drought",
        "claim": "tragedy",
        "narrative": WORDS,
        "roles": [role("upper", "GIVE", "HALF", "TAKE"), role("lower", "GIVE", "TAKE")],
        "canonical": {
            "green": {"name": "Full Well", "profile": ["GIVE", "GIVE"]},
            "tragedy": {"name": "Dry Well", "profile": ["TAKE", "TAKE"]},
        },
        "payoffs": {
            "GIVE GIVE": [3, 3],
            "GIVE TAKE": [0, 5],
            "HALF GIVE": [4, 2],
            "HALF TAKE": [0.5, 3],
            "TAKE GIVE": [5, 0],
            "TAKE TAKE": [1, 1.5],
        },
    }


def write(folder: Path, data: dict[str, Any], name: str = "well.yaml") -> Path:
    file = folder / name
    file.write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
    return file


def setting(*path: Any, to: Any) -> Change:
    def change(data: dict[str, Any]) -> None:
        for part in path[:-1]:
            data = data[part]
        data[path[-1]] = to

    return change


def removing(*path: Any) -> Change:
    def change(data: dict[str, Any]) -> None:
        for part in path[:-1]:
            data = data[part]
        del data[path[-1]]

    return change


def test_a_sound_file_with_other_roles_and_three_actions_is_read_and_proved(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path, sound()))
    assert scenario.payoff_tensor().shape == (3, 2, 2)
    assert scenario.payoff_tensor()[1, 0].tolist() == [4.0, 2.0]
    assert [equilibrium.profile for equilibrium in prove(scenario).equilibria] == [("TAKE", "TAKE")]
    assert scenario.class_title == "economic"


PAY = "payoffs"
REFUSED: dict[str, tuple[Change, str, str]] = {
    "missing profile": (removing(PAY, "HALF TAKE"), "payoffs", "1 of 6 profiles missing, the first is 'HALF TAKE'"),
    "word as payoff": (
        setting(PAY, "GIVE TAKE", to=["zero", 5]),
        "payoffs.GIVE TAKE.upper",
        "payoff must be a finite number (found 'zero')",
    ),
    "NaN": (setting(PAY, "GIVE TAKE", to=[0, float("nan")]), "payoffs.GIVE TAKE.lower", "found nan"),
    "infinity": (setting(PAY, "GIVE TAKE", to=[float("inf"), 5]), "payoffs.GIVE TAKE.upper", "found inf"),
    "number beyond floats": (
        setting(PAY, "GIVE TAKE", to=[10**400, 5]),
        "payoffs.GIVE TAKE.upper",
        "payoff must be a finite number",
    ),
    "bool": (setting(PAY, "GIVE TAKE", to=[True, 5]), "payoffs.GIVE TAKE.upper", "found True"),
    "null": (setting(PAY, "GIVE TAKE", to=[None, 5]), "payoffs.GIVE TAKE.upper", "found 'nothing'"),
    "number instead of a row": (setting(PAY, "GIVE TAKE", to=5), "payoffs.GIVE TAKE", "must be a list of numbers"),
    "unknown action": (
        setting(PAY, "GIVE STEAL", to=[0, 5]),
        "payoffs.GIVE STEAL",
        "unknown action for lower (found 'STEAL'; allowed: GIVE, TAKE)",
    ),
    "profile too short": (setting(PAY, "GIVE", to=[0, 5]), "payoffs.GIVE", "one action for each of the 2 roles"),
    "same profile, other spacing": (setting(PAY, "GIVE  TAKE", to=[0, 5]), "payoffs.GIVE TAKE", "duplicate profile"),
    "row too short": (setting(PAY, "GIVE TAKE", to=[5]), "payoffs.GIVE TAKE", "must hold 2 payoffs, one per role"),
    "wrong claim within the class": (
        lambda data: data.update({"class": "mixed", "claim": "both"}),
        "claim",
        "Full Well is no equilibrium: upper gains 1 by HALF instead of GIVE, upper gains 2 by TAKE",
    ),
    "wrong claim": (
        lambda data: data.update({"class": "environmental", "claim": "green"}),
        "claim",
        "Dry Well is a strict equilibrium (found 'green'; allowed: tragedy)",
    ),
    "claim of another class": (
        setting("claim", to="green"),
        "claim",
        "does not go with class economic (found 'green'; allowed: tragedy)",
    ),
    "unknown claim": (setting("claim", to="win"), "claim", "(found 'win'; allowed: green, tragedy, both, neither)"),
    "unknown class": (
        setting("class", to="social"),
        "class",
        "(found 'social'; allowed: economic, environmental, mixed)",
    ),
    "short story": (setting("narrative", to="Too short."), "narrative", "must have 60 to 120 words, has 2"),
    "long story": (setting("narrative", to="w " * 121), "narrative", "must have 60 to 120 words, has 121"),
    "short persona": (setting("roles", 1, "persona", to="Hm."), "roles.1.persona", "25 to 60 words, has 1"),
    "no persona": (removing("roles", 1, "persona"), "roles.1.persona", "is missing and no cast supplies it"),
    "unknown key": (setting("narative", to="x"), "narative", "no such key, did you mean 'narrative'? (allowed: "),
    "unknown key in a role": (
        setting("roles", 0, "colour", to="red"),
        "roles.0.colour",
        "there is no such key (allowed: actions, key, kind, order, persona, title)",
    ),
    "missing key": (removing("subtype"), "subtype", "is missing"),
    "duplicate role": (setting("roles", 1, "key", to="upper"), "roles", "duplicate role 'upper'"),
    "duplicate action": (
        setting("roles", 1, "actions", 1, "key", to="GIVE"),
        "roles.1.actions",
        "duplicate action 'GIVE'",
    ),
    "one role": (setting("roles", to=[role("upper", "GIVE", "TAKE")]), "roles", "at least 2 items"),
    "word as green": (
        setting("roles", 0, "actions", 0, "green", to="yes"),
        "roles.0.actions.0.green",
        "must be true or false (found 'yes')",
    ),
    "canonical profile with an unknown action": (
        setting("canonical", "green", "profile", to=["GIVE", "SHARE"]),
        "canonical.green.profile",
        "unknown action for lower (found 'SHARE'",
    ),
    "green profile with another action": (
        setting("canonical", "green", "profile", to=["HALF", "GIVE"]),
        "canonical.green.profile",
        "must be a green action of upper (found 'HALF'; allowed: GIVE)",
    ),
    "no cast": (removing("roles"), "family", "no cast.yaml beside the file"),
    "name differs from the file": (setting("name", to="pond"), "name", "must equal the name of the file"),
    "model without a role": (
        setting("model", to={"upper": {"base": 1}}),
        "model",
        "must have one part per role (found 'upper'; allowed: upper, lower)",
    ),
    "model without a base": (
        setting("model", to={"upper": {"HALF": 1}, "lower": {"base": 1}}),
        "model.upper.base",
        "is missing",
    ),
    "model with an unknown action": (
        setting("model", to={"upper": {"base": 1, "STEAL": 1}, "lower": {"base": 1}}),
        "model.upper.STEAL",
        "unknown action",
    ),
    "model with an ambiguous action": (
        setting("model", to={"upper": {"base": 1, "HALF & GIVE": 1}, "lower": {"base": 1}}),
        "model.upper.HALF & GIVE",
        "several roles have the action, write ROLE:GIVE",
    ),
    "model with NaN": (
        setting("model", to={"upper": {"base": float("nan")}, "lower": {"base": 1}}),
        "model.upper.base",
        "finite number",
    ),
    "table that its model does not give": (
        setting("model", to={"upper": {"base": 3}, "lower": {"base": 3}}),
        "payoffs.GIVE TAKE.upper",
        "payoff differs from the scenario's model, which gives 3 (found 0.0)",
    ),
}


@pytest.mark.parametrize(("change", "key", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_broken_file_is_refused(change: Change, key: str, reason: str, tmp_path: Path) -> None:
    data = sound()
    change(data)
    file = write(tmp_path, data)
    with pytest.raises(StudyError) as refused:
        load_scenario(file)
    line = str(refused.value)
    assert line.startswith(f"{file}: ")
    assert refused.value.key is not None and " ".join(refused.value.key.split()) == key
    assert reason in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name: a\ntitle: b: c\n", "line 2, column 9: is not valid YAML"),
        ("name: [", "is not valid YAML"),
        ("name: 2024-13-45", "is not valid YAML: month must be in 1..12"),
        ("name: &x [*x]", "line 1, column 7: is not valid YAML: found unconstructable recursive node"),
        ("- a list", "must hold keys with values"),
        ("", "must hold keys with values"),
        ("name: a\nname: b\n", "line 2, column 1: is not valid YAML: the key 'name' is given twice"),
        (
            "payoffs:\n  A B: [1, 2]\n  A B: [3, 4]\n",
            "line 3, column 3: is not valid YAML: the key 'A B' is given twice",
        ),
        ("name: \x07", "is not valid YAML"),
    ],
)
def test_text_that_is_no_clean_mapping_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(StudyError) as refused:
        load_scenario(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert reason in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="cannot be read: No such file"):
        load_scenario(tmp_path / "absent.yaml")
    with pytest.raises(StudyError, match="cannot be read"):
        load_scenario(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"title: caf\xe9")
    with pytest.raises(StudyError, match="is not UTF-8 text"):
        load_scenario(tmp_path / "latin.yaml")


def cast_of(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "family": data["family"],
        "title": "A village",
        "roles": data.pop("roles"),
        "canonical": data.pop("canonical"),
        "class_titles": {"economic": "dry season"},
        "subtypes": {"Weather": ["Drought", "Flood"]},
    }


def test_a_scenario_takes_its_people_from_the_cast_beside_it(tmp_path: Path) -> None:
    data = sound()
    write(tmp_path, cast_of(data), "cast.yaml")
    scenario = load_scenario(write(tmp_path, data))
    assert [r.key for r in scenario.roles] == ["upper", "lower"]
    assert (scenario.green.name, scenario.class_title) == ("Full Well", "dry season")


def test_a_scenario_may_change_the_people_and_keep_their_personas(tmp_path: Path) -> None:
    data = sound()
    own_roles = [{k: v for k, v in entry.items() if k != "persona"} for entry in data["roles"]]
    own_roles[0]["title"] = "Upstream farmer"
    own_roles[1]["persona"] = PERSONA.upper()
    write(tmp_path, cast_of(data), "cast.yaml")
    scenario = load_scenario(write(tmp_path, data | {"roles": own_roles}))
    assert (scenario.roles[0].title, scenario.roles[0].persona) == ("Upstream farmer", PERSONA)
    assert scenario.roles[1].persona == own_roles[1]["persona"] != PERSONA


def test_family_and_subtype_must_be_those_of_the_cast(tmp_path: Path) -> None:
    data = sound()
    write(tmp_path, cast_of(data), "cast.yaml")
    with pytest.raises(StudyError, match=r"family: differs .* \(found 'town'; allowed: village\)"):
        load_scenario(write(tmp_path, data | {"family": "town"}))
    with pytest.raises(StudyError, match=r"subtype: unknown subtype \(found 'Hail'; allowed: Drought, Flood\)"):
        load_scenario(write(tmp_path, data | {"subtype": "Hail"}))


def test_a_broken_cast_is_refused_with_its_own_file_name(tmp_path: Path) -> None:
    data = sound()
    cast = cast_of(data)
    cast["roles"][1]["key"] = "upper"
    file = write(tmp_path, cast, "cast.yaml")
    with pytest.raises(StudyError) as refused:
        load_scenario(write(tmp_path, data))
    assert str(refused.value) == f"{file}: roles: duplicate role 'upper'"
    del cast["roles"][0]["persona"]
    cast["roles"][1]["key"] = "lower"
    with pytest.raises(StudyError, match="roles: role 'upper' of a cast needs a persona"):
        load_cast(write(tmp_path, cast, "cast.yaml"))


def test_a_lone_file_may_use_a_shipped_cast(tmp_path: Path) -> None:
    data = sound() | {"family": "commons", "subtype": "Water Crisis"}
    del data["roles"], data["canonical"]
    with pytest.raises(StudyError, match="must name one action for each of the 4 roles"):
        load_scenario(write(tmp_path, data))


def test_a_model_line_may_say_whose_action_it_means(tmp_path: Path) -> None:
    data = sound()
    data["model"] = {
        "upper": {"base": 3, "HALF": 1, "upper:TAKE": 2, "lower:TAKE": -3, "upper:TAKE & lower:TAKE": -1},
        "lower": {"base": 3, "HALF": -1, "upper:TAKE": -3, "lower:TAKE": 2},
    }
    data["model"]["upper"]["HALF & lower:TAKE"] = -0.5
    data["model"]["lower"] |= {"HALF & lower:TAKE": -1, "upper:TAKE & lower:TAKE": -0.5}
    assert load_scenario(write(tmp_path, data)).payoffs_at(("HALF", "TAKE")) == (0.5, 3.0)
