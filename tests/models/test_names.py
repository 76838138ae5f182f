"""Names of models: what opens what, and which host gets to see which key."""

from collections.abc import Callable

import pytest

from ostrom.ground.errors import AccessRefused, StudyError, UnknownName, UsageError
from ostrom.models import STARTED, Reply, model_names, open_model
from ostrom.models.dialects import DIALECTS, check_values
from ostrom.models.grants import say_allowed
from ostrom.models.services import SERVICES, checked_url, first_set, full_name, home_of, is_local, origin, variant_of
from ostrom.testing.server import LoopbackServer

Ask = Callable[..., Reply]


def seen_key(server: LoopbackServer) -> str | None:
    return server.requests[-1].headers.get("authorization")


def test_a_url_names_server_and_model(server: LoopbackServer, ask: Ask) -> None:
    ask(f"{server.url}/#meta/llama-3.1:8b")
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.bodies()[0]["model"] == "meta/llama-3.1:8b"
    assert seen_key(server) is None


def test_the_openai_key_goes_to_openais_address_only(
    server: LoopbackServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "openai-key")
    for name, settings in ((server.model, {}), ("openai/m", {"base_url": server.url})):
        ask(name, **settings)
        assert seen_key(server) is None
    monkeypatch.setenv("OSTROM_API_KEY", "own-key")
    ask(server.model)
    assert seen_key(server) == "Bearer own-key"
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/")
    for name in (server.model, "openai/m"):
        ask(name)
        assert seen_key(server) == "Bearer openai-key"


def test_another_port_is_another_host(server: LoopbackServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "openai-key")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.port + 1}/v1")
    ask(server.model)
    assert seen_key(server) is None


def test_a_key_variable_can_be_named(server: LoopbackServer, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "lab-key")
    say_allowed([f"LAB_KEY={server.url}", f"OTHER_KEY={server.url}"])
    ask(server.model, key_variable="LAB_KEY")
    assert seen_key(server) == "Bearer lab-key"
    with pytest.raises(AccessRefused, match="OTHER_KEY"):
        open_model(server.model, key_variable="OTHER_KEY")


@pytest.mark.parametrize("name", ["openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5", "groq/llama-3.1-8b-instant"])
def test_a_missing_key_is_told_at_once_with_its_variable(name: str) -> None:
    with pytest.raises(
        AccessRefused, match=f"{name}: set the environment variable {name.split('/')[0].upper()}_API_KEY"
    ):
        open_model(name)


def test_keys_never_show(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, "sk-canary-1234567890")
    for name in ("openai/m", "anthropic/m"):
        model = open_model(name)
        assert "canary" not in f"{model!r} {model} {model.describe()} {model._transport!r}"  # type: ignore[attr-defined]


@pytest.mark.parametrize("service", sorted(SERVICES))
def test_every_service_opens(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SERVICES[service]
    for variable in entry.keys[:1]:
        monkeypatch.setenv(variable, "k")
    monkeypatch.setenv("CLOUDFLARE_ACCOUNT_ID", "acc123")
    if service in STARTED:  # the server at an address, not one that is started
        monkeypatch.setenv(str(entry.url_variable), entry.base_url)
    model = open_model(f"{service}/some/model")
    described = model.describe()
    assert described["model"] == "some/model" and "{" not in described["base_url"]
    assert checked_url(described["base_url"], source="") == described["base_url"]
    assert f"{service}/<model>" in model_names()


def test_what_needs_no_name_of_a_service_is_not_listed_as_one() -> None:
    listed = set(model_names())
    assert not listed & {f"{name}/<model>" for name in ("embedded", "inspect", "outside", "python", "scripted")}
    assert {"embedded/smollm2-135m", "inspect/<provider>/<model>"} <= listed


def test_cloudflare_needs_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUDFLARE_API_TOKEN", "k")
    monkeypatch.delenv("CLOUDFLARE_ACCOUNT_ID", raising=False)
    with pytest.raises(UsageError, match="CLOUDFLARE_ACCOUNT_ID"):
        open_model("cloudflare/@cf/meta/llama-3.1-8b-instruct")


def test_abilities_can_be_claimed_if_the_dialect_has_words_for_them() -> None:
    assert not open_model("http://h/v1#m").abilities.schema
    assert open_model("http://h/v1#m", abilities=["schema"]).abilities.schema
    assert open_model("http://h/v1#m", dialect="vllm").abilities.choices
    assert not open_model("http://h/v1#m", dialect="vllm", abilities=[]).abilities.choices
    with pytest.raises(StudyError, match=r"no words for this.*'choices'.*allowed: schema, logprobs"):
        open_model("http://h/v1#m", abilities=["choices"])


def test_every_dialect_claims_only_what_it_has_words_for() -> None:
    for dialect in DIALECTS.values():
        assert all(dialect.forms()[name] for name in dialect.claims)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("gpt-4o", {}, "provider/model"),
        ("opnai/gpt-4o", {}, "did you mean openai"),
        ("http://host/v1", {}, "name the model after a #"),
        ("http://host:port/v1#m", {}, "not a URL"),
        ("http://host/v1?x=1#m", {}, "no query"),
        ("http://h/v1#m", {"temperature": 1}, "no such setting.*'temperature'.*allowed: abilities, connections"),
        ("http://h/v1#m", {"timeout": 0}, "timeout: must be a number above 0"),
        ("http://h/v1#m", {"connections": 1.5}, "connections: must be a whole number"),
        ("http://h/v1#m", {"dialect": "klingon"}, "unknown dialect.*allowed: "),
        ("embedded/gpt-9", {}, "unknown embedded model"),
        ("embedded//no/such/file.gguf", {}, "no such file"),
        ("scripted/none", {}, "unknown scripted model"),
    ],
)
def test_wrong_names_and_settings_get_one_clear_line(name: str, settings: dict[str, object], said: str) -> None:
    with pytest.raises((StudyError, UnknownName, UsageError), match=said) as caught:
        open_model(name, **settings)
    assert "\n" not in str(caught.value)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        open_model("http://me:canary@host/v1#m")
    assert "canary" not in str(caught.value)


def test_a_key_with_a_line_break_is_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary\nX-Evil: 1")
    with pytest.raises(UsageError) as caught:
        open_model("openai/m")
    assert "canary" not in str(caught.value)


def test_a_missing_package_gets_an_install_hint() -> None:
    try:
        import inspect_ai  # noqa: F401
    except ImportError:
        with pytest.raises(UsageError, match=r"pip install 'ostrom\[inspect\]'"):
            open_model("inspect/google/gemini")


@pytest.mark.parametrize(
    ("setting", "right", "wrong"),
    [
        ("scale", [-10, 10, 0.5, None], [-10.1, 10.1, True, "1"]),
        ("gpu", ["all", "none", 0, 3], [-1, True, False, 1.5, "some"]),
        ("timeout", [0.1], [0, True, "9"]),
        ("start", [0.1], [0, -1]),
        *((name, [1], [0, True, 1.0]) for name in ("connections", "slots", "threads", "gpus", "context")),
        *((name, ["x"], ["", " ", 3]) for name in ("key_variable", "adapter", "environment")),
        ("base_url", ["http://h/v1"], ["ftp://h", "http://", "", 3]),
        ("abilities", ["schema", ["schema"], ()], [3, [3], {"schema": 1}]),
        ("replicas", [["http://h/v1"], ("http://a/v1", "http://b/v1")],
         [[], "http://h/v1", ["http://h/v1", "http://h/v1"], ["h"]]),
    ],
)  # fmt: skip
def test_a_setting_has_a_rule(setting: str, right: list[object], wrong: list[object]) -> None:
    for value in right:
        check_values({setting: value})
    for value in wrong:
        with pytest.raises((StudyError, UsageError), match=f"^{setting}: "):
            check_values({setting: value})


@pytest.mark.parametrize(
    ("word", "name"),
    [("o3", "openai/o3"), ("o1-mini", "openai/o1-mini"), ("o3x", None), ("olmo-2", "vllm/olmo-2"),
     ("smollm2-135m", "embedded/smollm2-135m"), ("smollm2-135m-x", "vllm/smollm2-135m-x"),
     ("Embedded/", "embedded/smollm2-135m"), ("phi-4", "vllm/phi-4"), ("phil", None), ("my-gpt-4", None)],
)  # fmt: skip
def test_a_model_is_guessed_by_how_its_name_begins(word: str, name: str | None) -> None:
    assert full_name(word) == name


def test_addresses_are_compared_and_checked_by_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert origin("http://H") == ("http", "h", 80) == origin("http://h:80/v1")
    assert origin("ftp://h") == ("ftp", "h", None)
    assert [is_local(f"http://{h}/v1") for h in ("127.0.0.2", "[::1]", "10.0.0.1", "127.0.0.1.example.org")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert checked_url(" https://h:1/v1/ ", source="s") == "https://h:1/v1"
    for wrong in ("ftp://h", "http:///v1", "http://@h", "http://:p@h", "http://h?a", "http://h:x"):
        with pytest.raises(UsageError, match=r"^s: "):
            checked_url(wrong, source="s")
    monkeypatch.setenv("EMPTY_KEY", " ")
    monkeypatch.setenv("SECOND_KEY", " k ")
    assert (first_set(("UNSET_KEY", "EMPTY_KEY", "SECOND_KEY")), first_set(("EMPTY_KEY",))) == ("k", None)
    monkeypatch.setenv("CLOUDFLARE_ACCOUNT_ID", "a/../b")
    with pytest.raises(UsageError, match=r"^cloudflare/\.\.\.: set the environment variable CLOUDFLARE_ACCOUNT_ID"):
        home_of("cloudflare")
    assert variant_of({"adapter": None, "scale": 0, "threads": 1}, ("adapter", "scale")) == "[scale=0]"
    assert variant_of({"adapter": None}, ("adapter", "scale")) == ""
