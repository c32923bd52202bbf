"""What the pages claim is backed: by tests that exist, and by a revision of the specification."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.make.pages import PAGES
from docs.make.requirements import shown_by
from tests.docs.snippets import ROOT

from handraise.gateway.clients.table import CLIENTS, RUNS
from handraise.revisions import Revision

pytestmark = pytest.mark.shows("T1")

PAGE = "\n".join(
    path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "security").glob("*.md"))
)
CLAIMS = re.findall(r"\[(\w+)\]\(\.\./requirements\.md#(\w+)\) ([^|]+?) \|", PAGE)


@pytest.mark.slow
def test_every_promise_names_a_requirement_and_a_test_that_shows_it() -> None:
    shown = {
        id_: {name.removeprefix("test_").replace("_", " ") for _, name in tests}
        for id_, tests in shown_by().items()
    }
    assert len(CLAIMS) == PAGE.count("](../requirements.md#") > 25
    wrong = [
        (id_, sentence)
        for id_, anchor, sentence in CLAIMS
        if anchor != id_.lower() or sentence not in shown.get(id_, ())
    ]
    assert not wrong


RULES = {
    "2025-06-18/client/elicitation#security-considerations": {"MUST NOT"},
    "2025-11-25/client/elicitation#security-considerations": {"SHOULD limit the rate"},
    "2026-07-28/basic/authorization/security-considerations#access-token-privilege-restriction": {"MUST NOT"},
    "2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow": {
        "MUST be enforced by the server",
        "MUST for what is forged, SHOULD for the others",
        "MUST NOT",
    },
    "2026-07-28/client/elicitation#form-mode-security": {"MUST NOT"},
    "2026-07-28/client/elicitation#phishing": {"MUST"},
    "2026-07-28/client/elicitation#safe-url-handling": {"MUST NOT", "SHOULD warn"},
    "2026-07-28/client/elicitation#security-considerations": {"MUST"},
    "2026-07-28/client/roots#security-considerations": {"SHOULD"},
    "2026-07-28/server/tools#tool": {"MUST consider untrusted"},
}
"""The sections that are cited and what each of them says, as it was read in the specification's own repository."""


def test_a_rule_of_the_specification_is_cited_with_its_revision_as_it_was_read() -> None:
    cited = re.findall(
        r"\[([\d-]+): ([^\]]+)\]\(https://modelcontextprotocol\.io/specification/([^)]+)\)", PAGE
    )
    assert len(cited) == PAGE.count("modelcontextprotocol.io/specification/") > 10
    assert all(section.startswith(f"{revision}/") for revision, _, section in cited)
    found = {section: {words for _, words, there in cited if there == section} for _, _, section in cited}
    assert found == RULES


RULE = re.compile(r"\b(MUST|SHOULD)\b|specification (says|wants|forbids)")
REVISION = re.compile("|".join(Revision))
BY_HAND = [
    path for path in sorted((ROOT / "docs").rglob("*.md")) if path.relative_to(ROOT).as_posix() not in PAGES
]


@pytest.mark.parametrize("path", BY_HAND, ids=lambda path: path.stem)
def test_a_sentence_about_the_specification_names_the_revision(path: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```$", "", path.read_text(encoding="utf-8"))
    pieces = re.split(r"\n\n|\n(?=[|-] )", text)
    assert not [piece for piece in pieces if RULE.search(piece) and not REVISION.search(piece)]


def test_every_client_that_the_gateway_knows_is_on_the_page() -> None:
    page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    run, _, others = page.partition("## Clients that were not run")
    for id, client in CLIENTS.items():
        if id in RUNS:
            assert f"| {client.title} | `{id}` | {RUNS[id]['version']} | {client.as_of} |" in run
        else:
            assert f"| {client.title} | `{id}` | {client.asks} | {client.as_of} |" in others
            assert client.source in others
