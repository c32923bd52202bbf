"""What a form shows of a secret instead of naming it."""

from __future__ import annotations

import pytest

from handraise.policy.secrets.quoted import quoted_kind


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
    assert quoted_kind(text) == kind


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
def test_other_words_tell_nothing(text: str) -> None:
    assert quoted_kind(text) is None
