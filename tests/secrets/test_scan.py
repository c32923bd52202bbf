"""What a person typed."""

from __future__ import annotations

import base64
import json
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handraise.forms import Form, Text
from handraise.secrets import scan_answer

A = "aB3dE5gH1jK7mN9pQ2sT4vW6xY8zC0fL"  # letters and digits to build keys from; nobody's key
HEX = "0123456789abcdef"
JWT = ".".join(
    base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
    for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": "1"})
) + ".c2lnbmF0dXJl"  # fmt: skip

SECRETS = {
    "token": [
        "ghp_" + A + "1234",
        "github_pat_" + A,
        "glpat-" + A,
        "xoxb-1234567890-" + A,
        "npm_" + A + "abcd",
        "hf_" + A + "ab",
        "pypi-AgE" + A * 2,
        "dop_v1_" + HEX * 4,
        "shpat_" + HEX * 2,
        "secret_" + A + "abcdefghijk",
        "dapi" + HEX * 2,
        "hvs." + A,
        "123456789:AA" + A + "x",
        "dckr_pat_" + A,
        JWT,
        f"Authorization: Bearer {A}{A}",
        "ntn_" + A + "12345678",
        "glffct-" + A[:20],
        "GR1348941" + A[:20],
        "api_org_" + A + "ab",
        "glc_" + A,
        "dapi" + HEX * 2 + "-2",
        "https://hooks.slack.com/workflows/T0123ABCD/A0123ABCD/" + A,
        "sha256~" + (A * 2)[:43],
        "shippo_live_" + HEX * 2 + HEX[:8],
        "tfp_" + (A * 2)[:59],
        "cmVmd" + (A * 2)[:59],
    ],
    "api_key": [
        "AKIA" + "IOSFODNN7HERONXQ",
        "AIza" + A + "abc",
        "sk-" + A + A,
        "sk-proj-" + A + A,
        "sk-ant-api03-" + A + A,
        "sk_live_" + A,
        "rk_live_" + A,
        "SG." + A[:22] + "." + A + "abcdefghijk",
        "SK" + HEX * 2,
        "lin_api_" + A + A,
        "sk_prod_" + A[:12],
        "NRII-" + A,
        "ABSK" + A * 4,
        "AKCp" + (A * 3)[:69],
        "gsk_" + A + A,
        "NRAK-" + "ABCDEFGHJKLMNPQRSTUVWXYZ234",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + (A * 3)[:86] + "==",
    ],
    "private_key": [
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----",
        f"{A}{A} -----END EC PRIVATE KEY-----",
        "PuTTY-User-Key-File-3: ssh-ed25519",
        "AGE-SECRET-KEY-1" + (A.upper() * 2)[:58],
        "A3-ABC123-DEF456GHJ78-K9L0M-N1P2Q-R3S4T",
    ],
    "connection_string": [
        "postgres://app:hunter2@db.example.com/prod",
        "mongodb+srv://u:p@cluster0.example.net",
        "https://me:pw@example.com/",
        "redis://:hunter2@localhost:6379/0",
        "Server=db;Database=x;User Id=sa;Password=hunter2;",
        "host=db user=app password=hunter2",
        "jdbc:mysql://db/x?user=root&password=hunter2",
        "jdbc:oracle:thin:scott/t1gerwoods@//ora7:1521/ORCL",
        "sqlplus scott/t1gerwoods@ORCL",
    ],
    "client_secret": [
        "STRIPE_SECRET_KEY=abcdefgh12345678",
        'export DB_PASSWORD="correcthorse"',
        "GOCSPX-" + A,
        "aB38Q~" + (A + A)[:34],
    ],
    "card_number": [
        "4111 1111 1111 1111",
        "4242424242424242",
        "5555-5555-5555-4444",
        "3782 822463 10005",
        "6011111111111117",
        "カード番号は4111 1111 1111 1111です",
    ],
    "seed_phrase": [
        "legal winner thank year wave sausage worth useful legal winner thank yellow",
        "My words: 1. Letter 2. advice 3. cage 4. absurd 5. amount 6. doctor 7. acoustic 8. avoid 9. letter 10. advice "
        "11. cage 12. above",
    ],
}

HARMLESS = [
    "Ada Lovelace",
    "Jean-Luc O'Neill",
    "550e8400-e29b-41d4-a716-446655440000",
    "d41d8cd98f00b204e9800998ecf8427e",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "v1.2.3-rc.1",
    "978-3-16-148410-0",
    "9783161484100",
    "490154203237518",
    "+49 30 901820",
    "+1 (555) 010-9999",
    "Order 4000123412341237",
    "1234567812345678",
    "https://example.com/a?b=c#d",
    "https://example.com:8443/@user/post",
    "me@example.com",
    "git@github.com:owner/repo.git",
    "file:///home/me/notes.txt",
    "The quick brown fox jumps over the lazy dog",
    "sk-learn-contrib-lightning-project-notes",
    "token budget",
    "password = required",
    "A password must have 12 characters",
    "eyJub3QiOiJhIGp3dCJ9.abcdef.ghijkl",
    "one.two.three",
    "0x52908400098527886E0F7830069857D2E4169EE7",
    "legal winner thank year wave sausage worth useful legal winner thank legal",
    "key-value",
    "-----BEGIN PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI me@host",
    "SKU-12345",
    "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/billing-x7Qa2f",
    "Berlin, Tokyo",
    "0000 0000 0000 0000",
    "2026-11-15T10:00:00Z",
    "192.168.0.1",
    "C:\\Users\\me\\secret.txt",
    "basic idea",
    "bearer of good news",
    "1699999999999",
    "175928847299117063",
    "DE89 3704 0044 0532 0130 00",
]


@pytest.mark.shows("S4")
@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in SECRETS.items() for text in texts]
)
def test_a_secret_in_an_answer_is_found(kind: str, text: str) -> None:
    [found] = scan_answer({"note": text, "other": "fine"})
    assert (found.field, found.kind, found.tier) == ("note", kind, 1)


@pytest.mark.shows("S4")
@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_raises_no_alarm(text: str) -> None:
    assert scan_answer({"note": text}) == ()


@pytest.mark.shows("S4", "S5")
@pytest.mark.parametrize("text", [text for texts in SECRETS.values() for text in texts])
def test_a_finding_never_contains_the_value(text: str) -> None:
    [found] = scan_answer({"note": f"here it is: {text}"})
    assert text not in repr(found)
    assert not any(part in found.reason for part in text.split() if len(part) > 8)


def test_a_finding_names_the_service_of_a_key() -> None:
    [found] = scan_answer({"note": "ghp_" + A + "1234"})
    assert found.reason == "This holds an access token of GitHub."


def test_numbers_and_lists_are_scanned_too() -> None:
    assert [found.kind for found in scan_answer({"n": 4242424242424242})] == ["card_number"]
    assert [found.kind for found in scan_answer({"l": ["fine", "ghp_" + A + "1234"]})] == ["token"]
    assert scan_answer({"yes": True, "pi": 3.14, "huge": 10**400, "none": None}) == ()


@given(
    st.dictionaries(st.text(max_size=5), st.text() | st.integers() | st.floats() | st.booleans(), max_size=4)
)
def test_no_answer_makes_the_scan_fail(content: dict[str, object]) -> None:
    scan_answer(content)


@pytest.mark.slow
@pytest.mark.shows("S4")
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "sk-",
        "eyJ",
        "eyJa.eyJa.",
        "4",
        "4111 ",
        "abandon ",
        "a://b:",
        "://",
        "password=",
        "A_",
        "-----BEGIN ",
        "xox",
        ":@",
        "user:pass@",
        "Wi-Fi x ",
        "Bearer ",
    ],
)
def test_a_long_answer_is_scanned_in_linear_time(unit: str) -> None:
    text = (unit * (64_000 // len(unit) + 1))[:64_000]
    started = thread_time()  # of this test alone, however busy the computer is
    scan_answer({"note": text})
    assert thread_time() - started < 2


@pytest.mark.shows("S4")
def test_a_bare_key_is_told_by_the_question() -> None:
    key = "a7f6930382398a225985cbe6f67f5094729553a6f2d47e1ffba45a80c0a5f293"
    form = Form.by_hand(Text("value", title="Private part"))
    assert [found.kind for found in scan_answer({"value": key}, form)] == ["private_key"]
    assert [found.kind for found in scan_answer({"value": key}, message="Import your wallet")] == [
        "private_key"
    ]
    assert not scan_answer({"sha256": key})
    assert not scan_answer({"value": key})


@pytest.mark.shows("S4")
def test_a_value_that_is_built_like_a_key_is_doubtful() -> None:
    clamped = base64.b64encode(bytes([8] * 31 + [0x40])).decode()
    for text in (clamped, "0x" + "4f6b" * 16, "JBSW Y3DP EHPK 3PXP"):
        [found] = scan_answer({"answer": text})
        assert (found.doubtful, found.tier) == (True, 2)
    assert not scan_answer({"answer": base64.b64encode(bytes([255] * 32)).decode()})


@pytest.mark.shows("S4")
def test_a_token_in_groups_is_joined() -> None:
    token = "ghp_ Ymc0 zY4P 10an VF53 6Uqy Iy23 pR3l gvmp 2wJD"
    assert [found.kind for found in scan_answer({"answer": token})] == ["token"]
    assert not scan_answer({"answer": "ghp_ is what they begin with, then more letters follow until the end"})
