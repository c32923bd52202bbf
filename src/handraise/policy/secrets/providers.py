"""What the keys and tokens of common services look like.

Each pattern starts with letters that are fixed and goes on with bounded or possessive-like classes, so that
a search costs linear time on any input.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Provider(NamedTuple):
    """A service, the kind of its secret, how such a secret begins, and what follows."""

    name: str
    kind: str
    begins: str
    """A regular expression for the fixed beginning, as documentation and descriptions quote it."""
    follows: str


_WORD: Final = r"[A-Za-z0-9_-]"
_WITH_DIGIT: Final = r"(?=[A-Za-z_-]{0,60}\d)"

PROVIDERS: Final = (
    Provider("GitHub", "token", r"gh[pousr]_", r"[A-Za-z0-9]{30,255}"),
    Provider("GitHub", "token", r"github_pat_", r"[A-Za-z0-9_]{22,255}"),
    Provider("GitLab", "token", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-", _WORD + r"{20,255}"),
    Provider("Bitbucket or Atlassian", "token", r"AT(?:ATT|CTT|BB)[A-Za-z0-9]?", r"[A-Za-z0-9_=-]{24,255}"),
    Provider("AWS", "api_key", r"A(?:KIA|SIA|BIA|CCA)", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    Provider("Google", "api_key", r"AIza", _WORD + r"{35}(?![A-Za-z0-9_-])"),
    Provider("Google", "client_secret", r"GOCSPX-", _WORD + r"{20,64}"),
    Provider("Google", "token", r"ya29\.", _WORD + r"{20,2000}"),
    Provider("Slack", "token", r"xox[abeoprs]-", r"[A-Za-z0-9-]{10,255}"),
    Provider("Slack", "token", r"xapp-", r"\d-[A-Z0-9]{6,20}-\d{6,20}-[a-z0-9]{20,128}"),
    Provider("Slack", "token", r"hooks\.slack\.com/services/", r"T[A-Z0-9]{6,16}/B[A-Z0-9]{6,16}/[A-Za-z0-9]{16,48}"),
    Provider("Anthropic", "api_key", r"sk-ant-", _WORD + r"{20,255}"),
    Provider("Stripe", "api_key", r"[sr]k_(?:live|test)_", r"[A-Za-z0-9]{16,255}"),
    Provider("Stripe", "client_secret", r"whsec_", r"[A-Za-z0-9+/=]{24,128}"),
    Provider("OpenAI", "api_key", r"sk-(?:proj-|svcacct-|admin-|or-v1-)?", _WITH_DIGIT + _WORD + r"{20,255}"),
    Provider("npm", "token", r"npm_", r"[A-Za-z0-9]{36}"),
    Provider("PyPI", "token", r"pypi-", r"AgE" + _WORD + r"{40,255}"),
    Provider("Hugging Face", "token", r"hf_", r"[A-Za-z0-9]{30,64}"),
    Provider("RubyGems", "api_key", r"rubygems_", r"[0-9a-f]{48}"),
    Provider("Docker", "token", r"dckr_(?:pat|oat)_", _WORD + r"{20,64}"),
    Provider("Twilio", "api_key", r"SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    Provider("SendGrid", "api_key", r"SG\.", _WORD + r"{16,32}\." + _WORD + r"{30,64}"),
    Provider("Mailgun", "api_key", r"key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    Provider("DigitalOcean", "token", r"do[opr]_v1_", r"[a-f0-9]{64}"),
    Provider("Azure", "api_key", r"AccountKey=", r"[A-Za-z0-9+/]{80,90}={0,2}"),
    Provider("Azure", "api_key", r"SharedAccessKey=", r"[A-Za-z0-9+/]{40,90}={0,2}"),
    Provider("Discord", "token", r"[MNO][A-Za-z0-9_-]{23,27}\.", _WORD + r"{6}\." + _WORD + r"{27,48}"),
    Provider("Discord", "token", r"discord(?:app)?\.com/api/webhooks/", r"\d{16,20}/" + _WORD + r"{60,80}"),
    Provider("Telegram", "token", r"\d{8,10}:AA", _WORD + r"{33}(?![A-Za-z0-9_-])"),
    Provider("Shopify", "token", r"shp(?:at|ca|pa|ss)_", r"[a-fA-F0-9]{32}"),
    Provider("Linear", "api_key", r"lin_(?:api|oauth)_", r"[A-Za-z0-9]{32,128}"),
    Provider("Notion", "token", r"secret_", r"[A-Za-z0-9]{43}"),
    Provider("Notion", "token", r"ntn_", r"[A-Za-z0-9]{40,64}"),
    Provider("Databricks", "token", r"dapi", r"[a-f0-9]{32}(?![A-Za-z0-9])"),
    Provider("Vault", "token", r"hv[sbr]\.", _WORD + r"{24,255}"),
    Provider("Square", "token", r"sq0(?:atp|csp)-", _WORD + r"{22,64}"),
    Provider("Grafana", "token", r"glsa_", r"[A-Za-z0-9]{32}_[a-f0-9]{8}"),
    Provider("New Relic", "api_key", r"NRAK-", r"[A-Z0-9]{27}"),
    Provider("Sentry", "token", r"sntry[su]_", r"[A-Za-z0-9_=+/-]{40,500}"),
    Provider("Figma", "token", r"figd_", _WORD + r"{36,64}"),
    Provider("Postman", "api_key", r"PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    Provider("Doppler", "token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"[A-Za-z0-9_.-]{40,128}"),
    Provider("Terraform", "token", r"[A-Za-z0-9]{14}\.atlasv1\.", _WORD + r"{60,80}"),
    Provider("Pulumi", "token", r"pul-", r"[a-f0-9]{40}"),
    Provider("Netlify", "token", r"nfp_", r"[A-Za-z0-9]{36}"),
    Provider("Supabase", "token", r"sbp_", r"[a-f0-9]{40}"),
    Provider("Supabase", "api_key", r"sb_secret_", _WORD + r"{20,64}"),
    Provider("PlanetScale", "token", r"pscale_(?:tkn|pw|oauth)_", r"[A-Za-z0-9_.=-]{32,128}"),
    Provider("Groq", "api_key", r"gsk_", r"[A-Za-z0-9]{40,64}"),
    Provider("xAI", "api_key", r"xai-", r"[A-Za-z0-9]{40,128}"),
    Provider("Perplexity", "api_key", r"pplx-", r"[A-Za-z0-9]{40,64}"),
    Provider("Replicate", "token", r"r8_", r"[A-Za-z0-9]{37}"),
    Provider("Tavily", "api_key", r"tvly-", _WORD + r"{20,64}"),
    Provider("LangSmith", "api_key", r"lsv2_(?:pt|sk)_", r"[0-9a-f]{32}_[0-9a-f]{10}"),
    Provider("Tailscale", "api_key", r"tskey-(?:auth|api|client|scim)-", r"[A-Za-z0-9-]{16,128}"),
    Provider("1Password", "token", r"ops_eyJ", r"[A-Za-z0-9_=-]{40,2000}"),
    Provider("age", "private_key", r"AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    Provider("Nostr", "private_key", r"nsec1", r"[ac-hj-np-z02-9]{58}"),
    Provider("Bitcoin", "private_key", r"[xyz]prv", r"[1-9A-HJ-NP-Za-km-z]{100,112}"),
)  # fmt: skip

_STARTS_WORD: Final = r"(?<![A-Za-z0-9_-])"
_WHOLE: Final = tuple(
    (provider, re.compile(_STARTS_WORD + provider.begins + provider.follows)) for provider in PROVIDERS
)


def provider_of(text: str) -> Provider | None:
    """The service whose key is in the text."""
    return next((provider for provider, pattern in _WHOLE if pattern.search(text)), None)
