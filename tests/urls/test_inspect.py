"""Links get the verdict and the reasons that they deserve."""

from __future__ import annotations

import subprocess
import sys
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.urls.labelled import SETS, Labelled, read_all, read_set

from handraise.errors import UnsafeUrl
from handraise.urls import REASONS, inspect_url, require_safe_url


@pytest.mark.shows("L12")
@pytest.mark.parametrize("name", SETS)
def test_every_labelled_link_gets_an_acceptable_verdict(name: str) -> None:
    wrong = [
        (link.id, ascii(link.url), inspection.verdict, inspection.reasons)
        for link in read_set(name)
        if (inspection := link.inspect()).verdict not in link.acceptable
    ]
    assert wrong == []


@pytest.mark.shows("L12")
@pytest.mark.parametrize("name", SETS)
def test_every_trick_is_called_what_it_is(name: str) -> None:
    missed = [
        (link.id, ascii(link.url), sorted(missing))
        for link in read_set(name)
        if (missing := link.reasons - set(link.inspect().reasons))
    ]
    assert missed == []


def test_there_are_enough_labelled_links_and_none_twice() -> None:
    links = read_all()
    assert len(links) >= 330
    assert len({link.id for link in links}) == len(links)


def test_every_reason_is_shown_by_a_labelled_link() -> None:
    found = {reason for link in read_all() for reason in link.inspect().reasons}
    assert REASONS.keys() - found == set()


def test_a_link_without_a_reason_is_ok_and_the_worst_reason_decides() -> None:
    assert inspect_url("https://mcp.example.com/", server_host="mcp.example.com").verdict == "ok"
    worse = inspect_url("http://user@evil.example/")
    assert worse.reasons == ("userinfo", "insecure_http")
    assert worse.verdict == "danger"


def test_only_what_can_be_read_and_is_no_danger_may_be_opened() -> None:
    assert inspect_url("https://mcp.example.com/").may_be_opened
    assert not inspect_url("http://user@evil.example/").may_be_opened
    assert not inspect_url("https://").may_be_opened


@pytest.mark.shows("L5")
def test_the_full_link_is_there_in_one_form_with_the_domain_and_both_spellings_of_the_name() -> None:
    inspection = inspect_url("https://Login.bücher.example:8443/x?y#z")
    assert inspection.href == "https://login.xn--bcher-kva.example:8443/x?y#z"
    assert inspection.host == "login.xn--bcher-kva.example"
    assert inspection.host_display == "login.bücher.example"
    assert inspection.registrable_domain == "xn--bcher-kva.example"
    assert ("domain", "xn--bcher-kva.example") in inspection.pieces


@pytest.mark.shows("L12")
def test_a_loopback_link_is_ordinary_from_here_and_a_danger_from_elsewhere() -> None:
    url = "http://127.0.0.1:8765/enter"
    assert inspect_url(url, transport="stdio").verdict == "ok"
    assert inspect_url(url, transport="http", server_host="localhost:8000").verdict == "ok"
    assert inspect_url(url, transport="http", server_host="mcp.example.com").verdict == "danger"
    assert inspect_url(url).verdict == "danger"


def test_the_server_may_be_named_by_host_by_host_and_port_or_by_url() -> None:
    for server in (
        "mcp.example.com",
        "mcp.example.com:8443",
        "https://mcp.example.com/mcp",
        "MCP.EXAMPLE.COM",
    ):
        inspection = inspect_url("https://github.example.com/", server_host=server)
        assert inspection.verdict == "ok"
    assert inspect_url("https://github.example.com/", server_host="no host at all").verdict == "warn"


def test_brands_can_be_added() -> None:
    url = "https://acme-login.example/"
    assert inspect_url(url).verdict == "ok"
    assert inspect_url(url, brands=["acme.com"]).reasons == ("brand_combosquat",)
    assert inspect_url("https://www.acme.com/", brands=["acme.com"]).verdict == "ok"


@pytest.mark.shows("S5")
def test_a_secret_in_a_link_does_not_show_in_repr() -> None:
    assert "hunter2" not in repr(inspect_url("https://mcp.example.com/?password=hunter2"))


def test_a_host_is_never_shown_with_characters_that_deceive() -> None:
    inspection = inspect_url("https://x\u2800y.example/")
    assert inspection.host_display == "x⟨U+2800⟩y.example"


@given(st.text() | st.text().map("https://".__add__) | st.text().map("https://a.example/".__add__))
def test_no_text_breaks_it(text: str) -> None:
    inspection = inspect_url(text)
    assert set(inspection.reasons) <= REASONS.keys()
    if inspection.verdict != "danger":
        assert inspection.href is not None
        assert inspection.href.startswith(("https://", "http://"))


@given(st.sampled_from(read_all()))
def test_what_is_shown_is_what_would_be_opened(link: Labelled) -> None:
    href = link.inspect().href
    if href is not None:
        again = inspect_url(href, **link.context)
        assert again.href == href


@given(
    st.sampled_from([link for link in read_all() if link.verdict == "ok"]),
    st.sampled_from("\u202e\u200b\x07\\"),
)
def test_an_honest_link_with_a_hidden_character_in_it_is_honest_no_more(link: Labelled, hidden: str) -> None:
    place = link.url.index("://") + 3
    broken = link.url[: place + 1] + hidden + link.url[place + 1 :]
    assert inspect_url(broken, **link.context).verdict == "danger"


@pytest.mark.slow
@pytest.mark.parametrize(
    "flood", ["a" * 500_000, "a." * 100_000, "%20" * 100_000, "?a=1&" * 50_000, "é" * 50_000]
)
def test_a_very_long_link_takes_no_long_time(flood: str) -> None:
    started = process_time()
    inspect_url("https://example.com/" + flood)
    inspect_url("https://example.com/?next=" + flood)
    inspect_url("https://" + flood)
    assert process_time() - started < 5


def test_the_lists_are_read_at_first_use_and_not_on_import() -> None:
    program = (
        "import sys, handraise.urls as urls\n"
        "heavy = {'publicsuffixlist', 'regex', 'tomllib._parser'}\n"
        "late = heavy - sys.modules.keys()\n"
        "urls.inspect_url('https://日本語.jp/')\n"
        "print(sorted(late & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "publicsuffixlist" in done.stdout
    assert "regex" in done.stdout


MINE = "mcp.example.com"


@pytest.mark.shows("L6")
def test_every_link_with_credentials_personal_data_or_a_signature_is_refused() -> None:
    for link in read_set("parameters"):
        with pytest.raises(UnsafeUrl) as refusal:
            require_safe_url(link.url, server_host=MINE)
        assert link.reasons <= set(refusal.value.reasons)


HIDDEN = "https://notes.example.com/"


@pytest.mark.shows("L6")
@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("?a=b;password=hunter22", "credentials_in_url"),
        ("page;api_key=abcdef1234567890", "credentials_in_url"),
        ("?next=https%3A%2F%2Fnotes.example.com%2F%3Faccess_token%3Dabcdef1234567890", "credentials_in_url"),
        ("?next=%2Fa%3Fb%3D%252Fc%253Fpassword%253Dhunter22", "credentials_in_url"),
        ("?next=%2Fa%3Femail%3Dann%2540example.com", "pii_in_url"),
        ("keys/ghp_" + "a1B2" * 9, "credentials_in_url"),
    ],
    ids=["semicolon", "path", "link in a link", "twice", "personal", "step of the path"],
)
def test_no_place_in_a_link_hides_what_must_not_travel_in_it(rest: str, reason: str) -> None:
    assert reason in inspect_url(HIDDEN + rest).reasons


@pytest.mark.parametrize(
    "rest",
    ["sk-bratislava-hotels-of-2026/", "a;b=c/d", "?next=%2Fa%3Fpage%3D2%26sort%3Dname", "a;v=1.1/b?c=d;e=f"],
)
def test_ordinary_places_hide_nothing(rest: str) -> None:
    assert inspect_url(HIDDEN + rest).verdict == "ok"


@pytest.mark.shows("L6")
def test_links_that_are_not_web_addresses_are_refused() -> None:
    for link in read_set("schemes"):
        with pytest.raises(UnsafeUrl):
            require_safe_url(link.url, server_host=MINE)


@pytest.mark.shows("L6")
@pytest.mark.parametrize(
    "url",
    [
        "https://mcp.example.com/connect?elicitationId=550e8400-e29b-41d4-a716-446655440000",
        "https://github.com/login/oauth/authorize?client_id=abc123&state=xyz789&scope=repo&nonce=n-0S6_WzA2Mj"
        "&redirect_uri=https%3A%2F%2Fmcp.example.com%2Fcb&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        "https://login.example.com/authorize?client_id=c&state=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "http://127.0.0.1:8765/enter?eid=1f0a",
        "http://localhost:3000/",
        "http://[::1]:3000/",
        "https://10.0.0.5/setup",
    ],
)
def test_ordinary_links_pass_and_come_back_inspected(url: str) -> None:
    assert require_safe_url(url, server_host=MINE).href == url


@pytest.mark.shows("L6")
def test_plain_http_is_refused_outside_loopback_unless_it_is_called_unsafe() -> None:
    with pytest.raises(UnsafeUrl) as refusal:
        require_safe_url("http://mcp.example.com/connect")
    assert refusal.value.reasons == ("insecure_http",)
    with pytest.warns(UserWarning, match="unsafe_plain_http"):
        require_safe_url("http://mcp.example.com/connect", unsafe_plain_http=True)


def test_the_unsafe_switch_is_silent_where_it_changes_nothing_and_opens_no_other_door() -> None:
    require_safe_url("https://mcp.example.com/connect", unsafe_plain_http=True)
    require_safe_url("http://localhost:3000/", unsafe_plain_http=True)
    with pytest.warns(UserWarning, match="unsafe_plain_http"), pytest.raises(UnsafeUrl):
        require_safe_url("http://mcp.example.com/?password=hunter2", unsafe_plain_http=True)


@pytest.mark.shows("S5", "L6")
def test_the_refusal_explains_itself_and_never_repeats_the_secret() -> None:
    with pytest.raises(UnsafeUrl) as refusal:
        require_safe_url("https://mcp.example.com/?password=hunter2&email=alice@example.org")
    assert refusal.value.reasons == ("credentials_in_url", "pii_in_url")
    assert "password, key or token" in str(refusal.value)
    for secret in ("hunter2", "alice"):
        assert secret not in str(refusal.value) + repr(refusal.value) + refusal.value.public
