"""Cases written from RFC 5321, RFC 3986 and RFC 3339, as JSON Schema's own test suite does it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from handraise.errors import FormError, WireError
from handraise.forms import Form, Text, check_answer, parse_form
from handraise.forms.formats import compile_pattern, is_date, is_date_time, is_email, is_uri, weigh_pattern
from handraise.revisions import Revision

EMAILS = [
    "joe.bloggs@example.com",
    "te~st@example.com",
    "~test@example.com",
    "test~@example.com",
    "te.s.t@example.com",
    "user+tag@example.com",
    "user_name@example.com",
    "!#$%&'*+-/=?^_`{|}~@example.com",
    "1@example.com",
    "joe@localhost",
    "joe@a.b.c.d.e",
    "joe@xn--bcher-kva.example",
    "joe@123.example",
    "joe@1.2",
    "joe@a-b.example",
    "joe@a--b.example",
    '"joe bloggs"@example.com',
    '"joe..bloggs"@example.com',
    '"joe@bloggs"@example.com',
    r'"joe\"bloggs"@example.com',
    r'"joe\\bloggs"@example.com',
    '""@example.com',
    "joe.bloggs@[127.0.0.1]",
    "joe.bloggs@[255.255.255.255]",
    "joe.bloggs@[IPv6:::1]",
    "joe.bloggs@[IPv6:2001:db8::7]",
    "joe.bloggs@[ipv6:2001:db8::7]",
    "joe.bloggs@[IPv6:::ffff:192.0.2.1]",
    "JOE@EXAMPLE.COM",
    "x" * 64 + "@example.com",
    "joe@" + ".".join(["a" * 63] * 3),
]

NO_EMAILS = [
    "",
    "2962",
    "joe",
    "@example.com",
    "joe@",
    ".test@example.com",
    "test.@example.com",
    "te..st@example.com",
    "joe bloggs@example.com",
    "joe@bloggs@example.com",
    "joe@example..com",
    "joe@.example.com",
    "joe@example.com.",
    "joe@-example.com",
    "joe@example-.com",
    "joe@exa_mple.com",
    "joe.bloggs@invalid=domain.com",
    "joe.bloggs@[127.0.0.300]",
    "joe.bloggs@[127.0.0]",
    "joe.bloggs@[127.0.0.1",
    "joe.bloggs@127.0.0.1]",
    "joe.bloggs@[1.2.3.4.5]",
    "joe.bloggs@[1234.1.1.1]",
    "joe.bloggs@[IPv6:::12345]",
    "joe.bloggs@[IPv6:1::2::3]",
    "joe.bloggs@[::1]",
    "joe.bloggs@[IPv6:fe80::1%eth0]",
    "joe.bloggs@[x-tag:anything]",
    "joe.bloggs@[]",
    "user1@oceania.org, user2@oceania.org",
    '"Winston Smith" <winston.smith@recdep.minitrue>',
    "<joe@example.com>",
    "mailto:joe@example.com ",
    "joe@example.com\n",
    "\njoe@example.com",
    "joe@exam ple.com",
    " joe@example.com",
    "joe@example.com ",
    'joe"bloggs@example.com',
    '"joe"bloggs"@example.com',
    '"joe\nbloggs"@example.com',
    '"joe@example.com',
    "josé@example.com",
    "joe@bücher.example",
    "joe＠example.com",
    "joe@١.example",
    "x" * 65 + "@example.com",
    "joe@" + "a" * 64 + ".example",
    "joe@" + ".".join(["a" * 63] * 4) + ".example",
    "joe(comment)@example.com",
    "joe@(comment)example.com",
    "joe@example.com\x00",
]

URIS = [
    "http://foo.bar/?baz=qux#quuz",
    "http://foo.com/blah_(wikipedia)_blah#cite-1",
    "http://foo.bar/?q=Test%20URL-encoded%20stuff",
    "http://xn--nw2a.xn--j6w193g/",
    "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com",
    "http://223.255.255.254",
    "ftp://ftp.is.co.za/rfc/rfc1808.txt",
    "http://www.ietf.org/rfc/rfc2396.txt",
    "ldap://[2001:db8::7]/c=GB?objectClass?one",
    "http://[::1]:8080/",
    "http://[::ffff:192.0.2.1]/",
    "http://[v7.a:b]/",
    "http://[vF.-!]/",
    "mailto:John.Doe@example.com",
    "news:comp.infosystems.www.servers.unix",
    "tel:+1-816-555-1212",
    "telnet://192.0.2.16:80/",
    "urn:oasis:names:specification:docbook:dtd:xml:4.1.2",
    "file:///etc/hosts",
    "http://",
    "http:",
    "http:/path",
    "x:",
    "a1+-.:b",
    "http://example.com",
    "http://example.com:",
    "http://example.com:99999999",
    "http://example.com/a//b/./../c",
    "http://user:pass@example.com/",
    "http://@example.com/",
    "http://example.com?",
    "http://example.com#",
    "http://example.com/?a/b?c",
    "http://example.com/#a/b?c",
    "http://1.2.3.4.5.6/",
    "http://999.999.999.999/",
    "http://a_b.example/",
    "data:text/plain,hello",
    "javascript:alert(1)",
    "HTTP://EXAMPLE.COM/%7Efoo",
]

NO_URIS = [
    "",
    "//foo.bar/?baz=qux#quuz",
    "/abc",
    "abc",
    "#fragment",
    "?query",
    r"\\WINDOWS\fileshare",
    "http:// shouldfail.com",
    ":// should fail",
    "bar,baz:foo",
    "1http://example.com",
    "-http://example.com",
    "https://[@example.org/test.txt",
    "https://example.org/foobar\\.txt",
    "https://example.org/foobar<>.txt",
    "https://example.org/foobar{}.txt",
    "https://example.org/foobar^.txt",
    "https://example.org/foobar`.txt",
    "https://example.org/foo bar.txt",
    "https://example.org/foobar|.txt",
    'https://example.org/foo"bar.txt',
    "https://example.org/%",
    "https://example.org/%2",
    "https://example.org/%zz",
    "https://example.org/?%",
    "https://example.org/#a#b",
    "https://example.org/[",
    "https://example.org/?[",
    "https://exam[ple.org/",
    "https://[::1",
    "https://::1]/",
    "https://[1::2::3]/",
    "https://[::12345]/",
    "https://[fe80::1%25eth0]/",
    "https://[v.x]/",
    "https://[v1.]/",
    "https://[1.2.3.4]/",
    "https://a@b@c/",
    "https://example.org:80a/",
    "https://example.org:-1/",
    "https://example.org/\n",
    "https://example.org\n",
    "\nhttps://example.org",
    "https://exämple.org/",
    "https://example.org/ä",
    "http://ƒøø.ßår/?∂éœ=πîx#πîüx",
    "https://example.org/\x00",
    "http ://example.org",
]

DATES = [
    "1963-06-19",
    "2020-01-31",
    "2020-02-29",
    "2000-02-29",
    "2021-02-28",
    "2020-03-31",
    "2020-04-30",
    "2020-05-31",
    "2020-06-30",
    "2020-07-31",
    "2020-08-31",
    "2020-09-30",
    "2020-10-31",
    "2020-11-30",
    "2020-12-31",
    "0000-01-01",
    "0000-02-29",
    "9999-12-31",
]

NO_DATES = [
    "",
    "2020-01-32",
    "2021-02-29",
    "2020-02-30",
    "1900-02-29",
    "2100-02-29",
    "2020-03-32",
    "2020-04-31",
    "2020-06-31",
    "2020-09-31",
    "2020-11-31",
    "2020-12-32",
    "2020-13-01",
    "2020-00-01",
    "2020-01-00",
    "06/19/1963",
    "2013-350",
    "1998-1-20",
    "1998-01-1",
    "98-01-01",
    "10000-01-01",
    "-2020-01-01",
    "+2020-01-01",
    "1963-06-1৪",
    "１９６３-06-19",
    "20230328",
    "2023-W01",
    "2023-W13-2",
    "2022W527",
    "1963-06-19T00:00:00Z",
    " 1963-06-19",
    "1963-06-19 ",
    "1963-06-19\n",
    "1963_06_19",
]

MOMENTS = [
    "1963-06-19T08:30:06.283185Z",
    "1963-06-19T08:30:06Z",
    "1937-01-01T12:00:27.87+00:20",
    "1990-12-31T15:59:50.123-08:00",
    "1985-04-12T23:20:50.52Z",
    "1996-12-19T16:39:57-08:00",
    "1963-06-19t08:30:06.283185z",
    "2020-01-01T00:00:00+23:59",
    "2020-01-01T00:00:00-23:59",
    "2020-01-01T00:00:00-00:00",
    "2020-02-29T23:59:59Z",
    "2020-01-01T00:00:00.123456789012345678901234567890Z",
    # leap seconds: at the end of a month, in UTC
    "1990-12-31T23:59:60Z",
    "1990-12-31T15:59:60-08:00",
    "1998-12-31T23:59:60.123Z",
    "1998-12-31T15:59:60.123-08:00",
    "1999-01-01T01:29:60+01:30",
    "1998-12-31T23:29:60-00:30",
    "2016-06-30T23:59:60+00:00",
    "2016-03-01T01:59:60+02:00",
]

NO_MOMENTS = [
    "",
    "1990-02-31T15:59:59.123-08:00",
    "1990-12-31T15:59:59-24:00",
    "1990-12-31T15:59:59+00:60",
    "1990-12-31T24:00:00Z",
    "1990-12-31T23:60:00Z",
    "1990-12-31T23:59:61Z",
    "1998-12-31T23:58:60Z",
    "1998-12-31T22:59:60Z",
    "1998-12-31T23:59:60-01:00",
    "1998-12-31T23:59:60+01:00",
    "1998-12-30T23:59:60Z",
    "2016-02-28T23:59:60Z",
    "1963-06-19T08:30:06.28123+01:00Z",
    "06/19/1963 08:30:06 PST",
    "2013-350T01:01:01",
    "1963-6-19T08:30:06.283185Z",
    "1963-06-1T08:30:06.283185Z",
    "1963-06-1৪T00:00:00Z",
    "1963-06-11T0৪:00:00Z",
    "1963-06-19T08:30:06.28৪Z",
    "2020-01-01 00:00:00Z",
    "2020-01-01T00:00:00",
    "2020-01-01T00:00Z",
    "2020-01-01T00:00:00.Z",
    "2020-01-01T00:00:00,5Z",
    "2020-01-01T00:00:00+0100",
    "2020-01-01T00:00:00+01",
    "2020-01-01T00:00:00 +01:00",
    "2020-01-01T00:00:00Z\n",
    "2020-01-01",
    "T00:00:00Z",
    "12020-01-01T00:00:00Z",
    "20200101T000000Z",
    "2020-W01-1T00:00:00Z",
]


@pytest.mark.shows("F2")
@pytest.mark.parametrize("text", EMAILS)
def test_every_mailbox_of_rfc_5321_is_an_email(text: str) -> None:
    assert is_email(text)


@pytest.mark.shows("F2")
@pytest.mark.parametrize("text", NO_EMAILS)
def test_nothing_else_is_an_email(text: str) -> None:
    assert not is_email(text)


@pytest.mark.shows("F2")
@pytest.mark.parametrize("text", URIS)
def test_every_uri_of_rfc_3986_is_a_uri(text: str) -> None:
    assert is_uri(text)


@pytest.mark.shows("F2")
@pytest.mark.parametrize("text", NO_URIS)
def test_nothing_else_is_a_uri(text: str) -> None:
    assert not is_uri(text)


@pytest.mark.shows("F2")
@pytest.mark.parametrize("text", DATES)
def test_every_day_of_the_calendar_is_a_date(text: str) -> None:
    assert is_date(text)


@pytest.mark.shows("F2")
@pytest.mark.parametrize("text", NO_DATES)
def test_nothing_else_is_a_date(text: str) -> None:
    assert not is_date(text)


@pytest.mark.shows("F2")
@pytest.mark.parametrize("text", MOMENTS)
def test_every_moment_of_rfc_3339_is_a_date_time(text: str) -> None:
    assert is_date_time(text)


@pytest.mark.shows("F2")
@pytest.mark.parametrize("text", NO_MOMENTS)
def test_nothing_else_is_a_date_time(text: str) -> None:
    assert not is_date_time(text)


@pytest.mark.shows("F2")
@pytest.mark.shows("F8")
@pytest.mark.parametrize(
    ("check", "piece", "tail"),
    [
        (is_email, "a.", "@"),
        (is_email, "a", "!@x y"),
        (is_email, "-", "@a"),
        (is_email, '\\"', "@"),
        (is_email, "x@" + "a-", "."),
        (is_uri, "a:", " "),
        (is_uri, "http://" + "a", "@[ "),
        (is_uri, "a:/" + "b/", " "),
        (is_uri, "%20", " "),
        (is_date_time, "2020-01-01T00:00:00." + "1", "X"),
        (is_date, "1", "-"),
    ],
)
def test_a_hostile_text_ends_soon(check: Callable[[str], bool], piece: str, tail: str) -> None:
    """Each makes a backtracking expression take quadratic time or worse: this would not end."""
    assert not check(piece * 200_000 + tail)


SEVERAL_WAYS = r"^(\w+\s?)*$|(a+)+b|(x|x?)*y"


def with_pattern(pattern: str) -> dict[str, object]:
    return {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}


@pytest.mark.shows("F2")
@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^abc$", "abc", True),
        ("^abc$", "abc\n", False),
        ("^[A-Z]{2}[0-9]+$", "AB12", True),
        ("^[A-Z]{2}[0-9]+$", "ab12", False),
        (r"^\u0041\/$", "A/", True),
        ("", "", True),
        ("^.$", "😀", True),
    ],
)
def test_a_pattern_is_searched_for_and_its_end_is_the_very_end(pattern: str, text: str, found: bool) -> None:
    assert compile_pattern(pattern)(text) is found


@pytest.mark.shows("F8")
def test_a_pathological_pattern_costs_linear_time() -> None:
    """With the standard library each of these takes longer than anyone waits."""
    form = parse_form(with_pattern(SEVERAL_WAYS), Revision.NOVEMBER_2025)
    assert [problem.rule for problem in check_answer(form, {"x": "a" * 100_000 + "!"})] == ["pattern"]


@pytest.mark.shows("F2")
@pytest.mark.parametrize(
    "pattern",
    ["(?=a)a", "(?!a)b", "(?<=a)b", r"(a)\1", "(", "[z-a]", "(a{1000}){1000}", "*", r"\Z", "(?P=x)"],
)
def test_a_pattern_that_cannot_be_checked_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(WireError) as refused:
        parse_form(with_pattern(pattern), Revision.NOVEMBER_2025)
    assert (refused.value.rule, refused.value.field) == ("pattern", "x")
    with pytest.raises(FormError, match=r"^x: This pattern is not supported"):
        Form.by_hand(Text("x", pattern=pattern))


@pytest.mark.shows("F8")
@pytest.mark.parametrize(
    "pattern", ["a" * 2001, "a{60000}", "(a{300}){300}", "(a?){900}a{900}", r"[\w.]{501}", "[" * 60_000]
)
def test_a_pattern_that_is_huge_once_its_repeats_are_written_out_is_refused(pattern: str) -> None:
    """Linear time is the text's length times the pattern's; `a{60000}` takes seconds."""
    with pytest.raises(WireError) as refused:
        parse_form(with_pattern(pattern), Revision.NOVEMBER_2025)
    assert refused.value.rule == "pattern"


@pytest.mark.shows("F8")
def test_all_patterns_of_a_form_count_together() -> None:
    properties = {f"x{n}": {"type": "string", "pattern": f"a{{{n}00}}"} for n in range(1, 8)}
    with pytest.raises(WireError) as refused:
        parse_form({"type": "object", "properties": properties}, Revision.NOVEMBER_2025)
    assert (refused.value.rule, refused.value.field) == ("pattern", "x6")


@pytest.mark.parametrize(
    ("pattern", "weight"),
    [
        ("abc", 3),
        ("a{5}", 5),
        ("a{2,7}", 7),
        ("a{5,}", 5),
        ("a{2}{3}", 6),
        ("(ab){3}", 9),
        ("((a{10}){10}){10}", 1110),
        ("[a-z0-9{5}(]{4}", 4),
        (r"\w{10}", 40),
        (r"[^\d.]{10}", 40),
        (r"\(\{5}", 4),
        ("^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}$", 28),
        (")", 1),
        ("(", 0),
        ("{5}", 0),
    ],
)
def test_a_pattern_weighs_what_it_has_when_written_out(pattern: str, weight: int) -> None:
    assert weigh_pattern(pattern) == weight


def test_half_a_surrogate_pair_matches_nothing() -> None:
    assert compile_pattern("^.$")("\ud800") is False
