"""A key goes to the service that it belongs to, or where the person said; never where a file says."""

from pathlib import Path
from typing import Any

import pytest

from ostrom.ground.errors import OstromError, StudyError, UsageError
from ostrom.models import open_model
from ostrom.models.grants import allow_key, check_settings, may_send, say_allowed

SECRET = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYEXAMPLEKEY"
CLOUD = "AWS_SECRET_ACCESS_KEY"


@pytest.fixture(autouse=True)
def _person(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("OSTROM_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(CLOUD, SECRET)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    say_allowed(())


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("http://evil.example/v1#m", {"key_variable": CLOUD}),
        ("http://127.0.0.1:9/v1#m", {"key_variable": CLOUD}),
        ("http://evil.example/v1#m", {"key_variable": "OPENAI_API_KEY"}),
        ("http://api.openai.com/v1#m", {"key_variable": "OPENAI_API_KEY"}),
        ("https://api.openai.com:8443/v1#m", {"key_variable": "OPENAI_API_KEY"}),
        ("https://api.openai.com.evil.example/v1#m", {"key_variable": "OPENAI_API_KEY"}),
        ("openai/gpt-4o", {"key_variable": CLOUD}),
        ("openai/gpt-4o", {"base_url": "https://evil.example/v1", "key_variable": "OPENAI_API_KEY"}),
        ("groq/llama", {"key_variable": "OPENAI_API_KEY"}),
        ("anthropic/claude-3-5-haiku", {"key_variable": CLOUD}),
        ("anthropic/claude-3-5-haiku", {"base_url": "http://evil.example", "key_variable": "ANTHROPIC_API_KEY"}),
        ("inspect/openai/gpt-4o", {"base_url": "http://evil.example/v1"}),
    ],
)
def test_a_file_cannot_send_a_key_elsewhere(name: str, settings: dict[str, Any]) -> None:
    for refuse in (lambda: open_model(name, **settings), lambda: check_settings(name, settings)):
        with pytest.raises(UsageError, match=r"--allow-key .*=http") as caught:
            refuse()
        assert "\n" not in str(caught.value) and SECRET not in str(caught.value)


@pytest.mark.parametrize("name", ["openai/gpt-4o", "anthropic/claude-3-5-haiku"])
def test_a_service_key_stays_at_home_when_a_file_moves_the_address(name: str) -> None:
    model = open_model(name, base_url="http://evil.example/v1")
    assert model._transport.secrets == ()  # type: ignore[attr-defined]


def test_the_key_for_own_servers_goes_to_this_machine_and_to_servers_that_were_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OSTROM_API_KEY", SECRET)
    assert may_send("OSTROM_API_KEY", "http://127.0.0.1:8000/v1")
    for name in ("http://evil.example/v1#m", "http://127.0.0.1.evil.example/v1#m"):
        with pytest.raises(UsageError, match=r"unset OSTROM_API_KEY"):
            open_model(name)
    with pytest.raises(UsageError, match=r"--allow-key OSTROM_API_KEY=http://evil\.example"):
        open_model("openai/gpt-4o", base_url="http://evil.example/v1")
    say_allowed((), ["https://lab.example:8000/v1#m", 'agent={"model": "http://second.example/v1#m"}'])
    open_model("https://lab.example:8000/v1#m")
    open_model("http://second.example/v1#m")
    with pytest.raises(UsageError):
        open_model("http://lab.example:8000/v1#m")


def test_the_person_can_allow_it() -> None:
    name, settings = "http://lab.example:8000/v1#m", {"key_variable": CLOUD}
    say_allowed([f"{CLOUD}=http://lab.example:8000"])
    assert SECRET in open_model(name, **settings)._transport.secrets  # type: ignore[attr-defined]
    with pytest.raises(UsageError):
        open_model("http://lab.example:8001/v1#m", **settings)
    say_allowed(())
    with pytest.raises(UsageError):
        open_model(name, **settings)
    allow_key(CLOUD, "http://lab.example:8000")
    open_model(name, **settings)


def test_a_host_without_scheme_means_https_or_this_machine() -> None:
    say_allowed([f"{CLOUD}=lab.example", f"{CLOUD}=localhost:8000"])
    assert may_send(CLOUD, "https://lab.example/v1") and may_send(CLOUD, "http://localhost:8000/v1")
    assert not may_send(CLOUD, "http://lab.example/v1")


def test_the_configuration_file_can_allow_it(tmp_path: Path) -> None:
    (tmp_path / "ostrom").mkdir()
    file = tmp_path / "ostrom" / "config.yaml"
    file.write_text(f"allow_keys:\n  {CLOUD}: [https://lab.example, 'http://10.0.0.5:8000']\n", encoding="utf-8")
    assert may_send(CLOUD, "https://lab.example/v1") and may_send(CLOUD, "http://10.0.0.5:8000/v1")
    assert not may_send(CLOUD, "https://evil.example/v1")
    for text in ("allow_keys: [x]", "allow_kees: {}", "allow_keys: {A B: x.org}", "[", "allow_keys: {A: 'http://'}"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=r"config\.yaml"):
            may_send(CLOUD, "https://lab.example/v1")


def test_a_key_belongs_to_its_service_by_whatever_name_the_service_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROQ_API_KEY", SECRET)
    open_model("https://api.groq.com/openai/v1#llama", key_variable="GROQ_API_KEY")
    open_model("openai/gpt-4o", key_variable="OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway.example/v1")
    open_model("http://gateway.example/v1#m", key_variable="OPENAI_API_KEY")


@pytest.mark.parametrize("text", ["LAB_KEY", "LAB_KEY=", "=host", "A B=host", "LAB_KEY=ftp://x", "K=http://u:p@h"])
def test_wrong_grants_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--allow-key"):
        say_allowed([text])


@pytest.mark.parametrize("settings", [{"key_variable": ["A"]}, {"key_variable": 3}, {"base_url": {}}])
def test_settings_of_another_kind_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(StudyError, match="must be a text"):
        open_model("openai/gpt-4o", **settings)


def test_a_study_file_is_refused_by_validate_dry_run_and_run(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from ostrom.cli.app import app

    file = tmp_path / "study.yaml"
    file.write_text(
        "name: s\ngame: prisoners_dilemma\nmechanism: {name: repetition, rounds: 2}\n"
        f"agent: {{model: 'http://127.0.0.1:9/v1#m', settings: {{key_variable: {CLOUD}}}}}\n",
        encoding="utf-8",
    )
    runs = ["--runs", str(tmp_path / "runs")]
    for words in (["validate", str(file)], ["run", str(file), "--dry-run", *runs], ["run", str(file), *runs]):
        result = CliRunner().invoke(app, words)
        assert isinstance(result.exception, OstromError), result.output
        assert f"--allow-key {CLOUD}=http://127.0.0.1:9" in str(result.exception)
        assert not (tmp_path / "runs").exists()
    allowed = ["validate", str(file), "--allow-key", f"{CLOUD}=http://127.0.0.1:9"]
    assert CliRunner().invoke(app, allowed).exception is None
