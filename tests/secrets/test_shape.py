"""What a field gives away besides its words."""

from __future__ import annotations

import pytest

from handraise.forms import Choice, Flag, Form, Integer, Text
from handraise.secrets import judge_form
from handraise.secrets.shape import digits_of, quoted_in, shown_kind


def found(message: str, *fields: Text | Integer | Choice | Flag) -> set[tuple[str, bool]]:
    return {(each.kind, each.doubtful) for each in judge_form(message, Form.by_hand(*fields))}


DIGITS = [str(digit) for digit in range(10)]


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    ("message", "field", "kind"),
    [
        ("We sent you an SMS", Text("v", pattern=r"^\d{6}$"), "otp"),
        ("Payment", Text("v", title="Number", pattern=r"^[0-9]{16}$"), "card_number"),
        ("", Text("v", pattern=r"^([a-z]+ ){11}[a-z]+$"), "seed_phrase"),
        ("", Text("v", title="word1 word2 … word12"), "seed_phrase"),
        ("Pay", Text("v", pattern=r"^(\d{4} ){3}\d{4}$"), "card_number"),
        ("Pay", Text("v", title="xxxx xxxx xxxx xxxx"), "card_number"),
        ("", Text("v", pattern=r"^[A-Za-z0-9+/]{43}=$"), "private_key"),
        ("", Text("v", description="user:password@host"), "connection_string"),
        ("Is 4711 your PIN?", Flag("v"), "pin"),
        ("", Text("v", pattern=r"^[5KL][1-9A-HJ-NP-Za-km-z]{50,51}$"), "private_key"),
        ("", Text("v", pattern=r"^(AKIA|ASIA)[A-Z0-9]{16}$"), "api_key"),
        ("", Text("v", description="e.g. 4111 1111 1111 1111"), "card_number"),
        ("", Text("v", title="Value", description="e.g. hunter2"), "password"),
        ("", Text("v", title="••••••••"), "password"),
    ],
)
def test_a_secret_is_found_by_the_shape_of_its_field(message: str, field: Text, kind: str) -> None:
    assert found(message, field) == {(kind, False)}


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    ("pattern", "role", "kind"),
    [
        (r"^-----BEGIN [A-Z ]*PRIVATE KEY-----", "", "private_key"),
        (r"^\d{8,10}:[\w-]{35}$", "", "token"),
        (r"^[0-9]{8,10}:AA[\w-]{33}$", "", "token"),
        (r"^(\w+ ){11}\w+$", "", "seed_phrase"),
        (r"^[5KL][1-9A-HJ-NP-Za-km-z]{50,51}$", "", "private_key"),
        (r"^[0-9a-fA-F]{64}$", "wallet", "private_key"),
        (r"^[0-9a-fA-F]{64}$", "key", "private_key"),
        (r"^[0-9a-fA-F]{64}$", "", None),
        (r"^\d{3}-\d{2}-\d{4}$", "", "national_id"),
        (r"^[A-Za-z0-9+/]{43}=$", "", "private_key"),
        (r"^(\d{6}-){7}\d{6}$", "", "private_key"),
        (r"^[\w-]+\.[\w-]+\.[\w-]+$", "", "token?"),
        (r"^4\d{15}$", "", "card_number"),
        (r"^postgres://\S+:\S+@\S+$", "", "connection_string"),
        (r"^https://\S+$", "", None),
        (r"^ghp_\w{36}$", "", "token"),
        (r"^[A-Za-z0-9/+=]{40}$", "provider", "api_key"),
        (r"^[A-Za-z0-9/+=]{40}$", "", "api_key?"),
        (r"^[a-f0-9]{40}$", "provider", None),
    ],
)
def test_a_pattern_tells_the_kind_and_whether_it_may_be_something_else(
    pattern: str, role: str, kind: str | None
) -> None:
    hint = shown_kind(Text("v", pattern=pattern), {role}, generic=True)
    assert (None if hint is None else hint.kind + "?" * hint.doubtful) == kind
    assert hint is None or hint.because == f"the pattern {pattern[:40]}"


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    ("field", "named", "generic"),
    [
        (Text("v", title="What is it?"), None, None),
        (Text("v", title="🔑"), "password?", "password?"),
        (Text("v", title="🔒\ufe0f "), "password?", "password?"),
        (Text("v", title="🔒 Room"), None, "password?"),
        (Text("v", title="🔑🔒🔐🗝 Room"), None, "password?"),
        (Text("v", title="••••••••"), "password", "password"),
        (Text("v", title="8 to 64 characters"), "password?", "password?"),
        (Text("v", description="At least 8 characters"), None, "password?"),
        (Text("v", description="Some characters"), None, None),
        (Text("v", title="word1 word2 … word12"), "seed_phrase", "seed_phrase"),
        (Text("v", description="abandon ability able ..."), "seed_phrase", "seed_phrase"),
        (Text("v", description="coffee and tea ..."), None, None),
        (Text("v", title="XXXX-XXXX-XXXX-XXXX MM/YY"), "card_number", "card_number"),
        (Text("v", title="XXXX-XXXX-XXXX-XXXX of a part"), None, None),
        (Text("v", description="e.g. 4111 1111 1111 1111"), "card_number", "card_number"),
        (Text("v", description="e.g. hunter2"), None, "password"),
        (Text("v", description="e.g. Xy7$kQz9"), None, "password?"),
        (Text("v", description="e.g. Xykqz-99"), None, None),
        (Text("v", default="hunter2"), None, "password?"),
        (Text("v", default="postgres://app:@db/x"), "connection_string", "connection_string"),
        (Text("v", default="https://example.com:8080/"), None, None),
    ],
)
def test_an_example_tells_most_beside_a_label_that_names_nothing(
    field: Text, named: str | None, generic: str | None
) -> None:
    for is_generic, kind in {False: named, True: generic}.items():
        hint = shown_kind(field, frozenset(), is_generic)
        assert (None if hint is None else hint.kind + "?" * hint.doubtful) == kind


def test_a_lock_is_no_doubt_where_somebody_signs_in() -> None:
    hint = shown_kind(Text("v", title="🔑"), {"signing in"}, generic=False)
    assert hint is not None
    assert (hint.kind, hint.doubtful, hint.because) == ("password", False, "the sign 🔑")


@pytest.mark.parametrize(
    ("least", "most", "digits"),
    [
        (1, 9, (1, 1)),
        (1, 999, (1, 3)),
        (1000, 9999, (4, 4)),
        (100_000, 999_999, (6, 6)),
        (0, 9, None),
        (-1, 9, None),
        (-10, 99, None),
        (2000, 9999, None),
        (1000, 8999, None),
        (1000, None, None),
        (None, 9999, None),
    ],
)
def test_a_number_has_as_many_digits_as_its_limits_say(
    least: int | None, most: int | None, digits: tuple[int, int] | None
) -> None:
    assert digits_of(Integer("v", minimum=least, maximum=most), frozenset()) == digits


@pytest.mark.parametrize(
    ("field", "digits"),
    [
        (Text("v"), None),
        (Text("v", title="123 or 1234"), (3, 4)),
        (Text("v", description="e.g. 123"), (3, 3)),
        (Text("v", title="4111111111111111"), (16, 16)),
        (Text("v", title="Digits 5 to 8"), (4, 4)),
        (Text("v", title="XXXX XXXX XXXX XXXX"), (16, 16)),
        (Text("v", description="_ _ _ _"), (4, 4)),
        (Text("v", title="000 000"), (6, 6)),
        (Text("v", pattern=r"^\d{6}$"), (6, 6)),
        (Text("v", pattern="^[0-9]{3,4}$"), (3, 4)),
        (Text("v", pattern=r"^\d+$"), None),
        (Text("v", pattern=r"^\d+$", min_length=4, max_length=6), (4, 6)),
        (Text("v", pattern=r"^(\d{4} ){3}\d{4}$"), (16, 16)),
        (Text("v", pattern=r"^\d{3}-?\d{3}$"), (6, 6)),
        (Text("v", pattern="^[a-z]{6}$"), None),
        (Text("v", max_length=3), (3, 3)),
        (Text("v", max_length=4), None),
        (Text("v", min_length=4, max_length=7), (4, 7)),
        (Text("v", min_length=4, max_length=8), None),
        (Text("v", pattern="^.$", max_length=3), None),
    ],
)
def test_a_text_has_as_many_digits_as_its_labels_pattern_or_length_say(
    field: Text, digits: tuple[int, int] | None
) -> None:
    assert digits_of(field, frozenset()) == digits
    assert digits_of(field, {"four"}) == (4, 4), "what its words say comes first"


def test_a_shape_without_context_raises_no_alarm() -> None:
    assert not found("Meter", Text("v", title="Reading", pattern=r"^\d{6}$"))
    assert not found("Order", Text("v", title="Order number", min_length=16, max_length=16))
    assert not found("File", Text("v", title="SHA-256", pattern="^[0-9a-f]{64}$"))
    assert found("Verify", Integer("v", minimum=100000, maximum=999999)) == {("otp", True)}


@pytest.mark.shows("S3")
def test_options_that_narrow_a_secret_down_ask_for_it() -> None:
    assert found("Which of these is your password?", Choice("v", ["hunter2", "letmein9"])) == {
        ("password", False)
    }
    assert found("First digit of your PIN", Choice("v", DIGITS)) == {("pin", False)}
    assert found("Is your PIN above 5000?", Flag("v")) == {("pin", False)}
    assert not found("Which token should be revoked?", Choice("v", ["ci-deploy", "laptop", "bot2"]))
    assert not found("Guests", *(Choice(name, DIGITS) for name in ("adults", "children", "infants")))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("starts with sk-", "api_key"),
        ("sk-ant-...", "api_key"),
        ("Begins with AKIA", "api_key"),
        ("xoxb-… from your Slack app", "token"),
        ("`glpat-` followed by 20 characters", "token"),
        ("hvs.xxxxxxxx", "token"),
        ("g\u200bhp_xxxx", "token"),
        ("mysql://root:hunter2@localhost", "connection_string"),
        ("Paste everything from -----BEGIN OPENSSH PRIVATE KEY-----", "private_key"),
    ],
)
def test_the_beginning_of_a_key_tells_its_kind(text: str, kind: str) -> None:
    quoted = quoted_in(text)
    assert quoted is not None
    assert quoted.kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "sk-SK or cs-CZ",
        "https://example.com:8080/a@b",
        "task-list",
        "-----BEGIN PUBLIC KEY-----",
        "npm_config",
        "hf_hub",
    ],
)
def test_other_beginnings_raise_no_alarm(text: str) -> None:
    assert quoted_in(text) is None
