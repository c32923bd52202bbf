"""Nobody gets in from another site, another name or another account."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.desks.web import samples
from tests.desks.web.visitor import Office, Visitor

from handraise.desks.web.sessions import SESSION_LIFE, TICKET_LIFE, link_in_page
from handraise.questions import Person


async def test_a_rebound_request_gets_nothing_even_with_the_session(office: Office) -> None:
    await office.put(samples.short())
    response = await office.visitor.get(office.visitor.place, host="evil.example")
    assert response.status_code == 421
    assert "notes" not in response.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": None},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "https://127.0.0.1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_a_cross_site_post_decides_nothing(office: Office, headers: dict[str, str | None]) -> None:
    [path] = await office.put(samples.short())
    await office.visitor.get(path)
    body = f"csrf={office.visitor.csrf}&do=decline"
    response = await office.visitor.send("POST", path, body, headers)
    assert response.status_code == 403
    assert len(office.queue.waiting()) == 1


@pytest.mark.parametrize("token", ["", "wrong", "é"])
async def test_a_post_without_the_pages_token_decides_nothing(office: Office, token: str) -> None:
    [path] = await office.put(samples.short())
    response = await office.visitor.post(path, {"csrf": token, "do": "decline"})
    assert response.status_code == 403
    assert len(office.queue.waiting()) == 1


async def test_a_post_that_is_no_form_is_refused(office: Office) -> None:
    [path] = await office.put(samples.short())
    response = await office.visitor.send("POST", path, '{"do": "decline"}', {"content-type": "text/plain"})
    assert response.status_code == 415
    response = await office.visitor.post(path, {"do": "decline", "f0": "x" * 600_000})
    assert response.status_code == 413
    response = await office.visitor.post(path, {"do": "decline", "f0": ["1"] * 6000})
    assert response.status_code == 400
    assert len(office.queue.waiting()) == 1


async def test_another_site_may_not_read_the_desk_as_a_script_or_an_image(office: Office) -> None:
    for site in ("cross-site", "same-site"):
        response = await office.visitor.get(
            office.visitor.place, sec_fetch_site=site, sec_fetch_mode="no-cors"
        )
        assert response.status_code == 403


async def test_every_response_forbids_framing_sniffing_storing_and_outside_resources(office: Office) -> None:
    [path] = await office.put(samples.short())
    for where in ("/", "/static/handraise.css", office.visitor.place, path, "/nowhere", "/sign-in/x"):
        response = await office.visitor.get(where)
        policy = response.headers["content-security-policy"]
        for part in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"):
            assert part in policy
        assert "unsafe" not in policy
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["referrer-policy"] == "same-origin"
        assert not re.search(r'(src|href|action)="(https?:)?//', response.text)
        assert "<script>" not in response.text
        assert " style=" not in response.text
        assert " onclick" not in response.text


async def test_a_second_local_user_without_the_link_sees_and_answers_nothing(office: Office) -> None:
    [path] = await office.put(samples.short())
    stranger = Visitor(office.desk, csrf=office.visitor.csrf)
    for where in ("/", office.visitor.place, path, f"{office.visitor.place}events"):
        response = await stranger.get(where)
        assert response.status_code == 403
        assert "What is it called?" not in response.text
    assert (await stranger.post(path, {"do": "decline"})).status_code == 403
    assert (await stranger.post(f"{path}/draft", {"fields": "here", "f0": "x"})).status_code == 403
    assert len(office.queue.waiting()) == 1
    assert not office.queue.draft("short")


async def test_the_cookie_alone_is_not_enough(office: Office) -> None:
    """A page on another port of this computer is sent our cookie; it is not sent our path."""
    [path] = await office.put(samples.short())
    thief = Visitor(office.desk, cookie=office.visitor.cookie)
    assert (await thief.get("/")).status_code == 403
    assert office.visitor.place not in thief.page
    assert (await thief.get("/guessed-place-guessed-pl/")).status_code == 403
    other = await Visitor(office.desk).sign_in()
    assert (await thief.get(other.place)).status_code == 403
    assert (await other.get(path)).status_code == 403


async def test_the_session_cookie_is_out_of_reach_of_scripts_and_other_sites(office: Office) -> None:
    visitor = Visitor(office.desk)
    response = await visitor.post(urlsplit(office.desk.sign_in_url()).path)
    name, _, rest = response.headers["set-cookie"].partition("=")
    assert name == f"__Host-handraise-{office.desk.port}"
    attributes = {part.strip().lower() for part in rest.split(";")[1:]}
    assert attributes == {"httponly", "path=/", "samesite=strict", "secure"}


async def test_a_sign_in_link_works_once_and_looking_at_it_does_not_use_it(office: Office) -> None:
    path = urlsplit(office.desk.sign_in_url()).path
    visitor = Visitor(office.desk)
    for _ in range(3):
        assert (await visitor.get(path)).status_code == 200
    assert (await visitor.post(path)).status_code == 303
    again = Visitor(office.desk)
    assert (await again.get(path)).status_code == 403
    response = await again.post(path)
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


async def test_a_sign_in_link_and_a_session_run_out(office: Office) -> None:
    path = urlsplit(office.desk.sign_in_url()).path
    office.wait(TICKET_LIFE)
    assert (await Visitor(office.desk).post(path)).status_code == 403
    assert (await office.visitor.get(office.visitor.place)).status_code == 200
    office.wait(SESSION_LIFE)
    assert (await office.visitor.get(office.visitor.place)).status_code == 403


@pytest.mark.parametrize("end", ["it was used", "it ran out", "the desk closed"])
async def test_the_file_that_leads_a_browser_in_is_gone_with_its_link(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    file, other = office.desk.sign_in_file(), office.desk.sign_in_file()
    link = link_in_page(file)
    assert link is not None
    match end:
        case "it was used":
            await Visitor(office.desk).sign_in(link)
            assert other.exists()
        case "it ran out":
            office.wait(TICKET_LIFE)
            assert (await Visitor(office.desk).get(urlsplit(link).path)).status_code == 403
            assert not other.exists()
        case _:
            await office.desk.stop()
            assert not other.exists()
            assert (await Visitor(office.desk).post(urlsplit(link).path)).status_code == 403
    assert not file.exists()
    assert link_in_page(file) is None


async def test_a_sign_in_post_from_another_site_is_refused_and_leaves_the_link_usable(office: Office) -> None:
    path = urlsplit(office.desk.sign_in_url()).path
    assert (await Visitor(office.desk).post(path, origin="https://evil.example")).status_code == 403
    assert (await Visitor(office.desk).post(path)).status_code == 303


async def test_signing_out_ends_the_session(office: Office) -> None:
    response = await office.visitor.post(f"{office.visitor.place}sign-out")
    assert response.status_code == 200
    assert "Max-Age=0" in response.headers["set-cookie"]
    assert (await office.visitor.get(office.visitor.place)).status_code == 403


async def test_a_link_for_one_person_shows_only_their_questions(office: Office) -> None:
    [path] = await office.put(samples.short())
    other = await Visitor(office.desk).sign_in(office.desk.sign_in_url(Person("local", "eve", "system")))
    assert await other.paths() == []
    elsewhere = other.place + path.split("/", 2)[2]
    assert (await other.get(elsewhere)).status_code == 404
    assert (await other.post(elsewhere, {"do": "decline"})).status_code == 404
    same = await Visitor(office.desk).sign_in(office.desk.sign_in_url(samples.PERSON))
    assert len(await same.paths()) == 1


async def test_a_guessed_id_leads_nowhere_and_real_ones_cannot_be_guessed(office: Office) -> None:
    first, second = await office.put(samples.short("1"), samples.short("2"))
    for guess in ("1", "2", "0" * 32, "..%2f..%2fetc%2fpasswd", "\u202e"):
        for page in ("", "/review"):
            assert (await office.visitor.get(f"{office.visitor.place}q/{guess}{page}")).status_code == 404
        assert (
            await office.visitor.post(f"{office.visitor.place}q/{guess}", {"do": "decline"})
        ).status_code == 404
    assert len(first.rsplit("/", 1)[1]) == len(second.rsplit("/", 1)[1]) == 32
    assert len(office.queue.waiting()) == 2


@pytest.mark.parametrize("name", ["../desk.py", "..%2fdesk.py", "desk.py", "x.css", "%2e%2e/pages.py"])
async def test_only_the_desks_own_static_files_are_served(office: Office, name: str) -> None:
    response = await office.visitor.get(f"/static/{name}")
    assert response.status_code in (403, 404)
    assert "import" not in response.text
