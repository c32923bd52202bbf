"""What the keys and tokens of common services look like.

Each pattern starts with letters that are fixed and goes on with bounded or possessive-like classes, so that
a search costs linear time on any input.
"""

from __future__ import annotations

import re
from functools import lru_cache
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

# Where the providers document their keys. Beginnings without a page of their own are those that the providers
# registered with GitHub's secret scanning:
#   https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns
#   GitHub
#     https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github
#   GitLab       https://docs.gitlab.com/security/tokens/
#   Atlassian    https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/
#   AWS          https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
#   Google       https://cloud.google.com/docs/authentication/api-keys
#                https://developers.google.com/identity/protocols/oauth2
#   Slack        https://docs.slack.dev/authentication/tokens
#   Anthropic    https://docs.anthropic.com/en/api/overview
#   Stripe       https://docs.stripe.com/keys, https://docs.stripe.com/webhooks
#   OpenAI       https://platform.openai.com/docs/api-reference/authentication
#   npm          https://docs.npmjs.com/about-access-tokens
#   PyPI         its help page, "API tokens"
#   Hugging Face https://huggingface.co/docs/hub/security-tokens
#   RubyGems     https://guides.rubygems.org/api-key-scopes/
#   Docker       https://docs.docker.com/security/access-tokens/
#   Twilio       https://www.twilio.com/docs/iam/api-keys
#   SendGrid     https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys
#   Mailgun      https://documentation.mailgun.com/docs/mailgun/api-reference/mg-auth
#   DigitalOcean https://docs.digitalocean.com/reference/api/create-personal-access-token/
#   Azure        https://learn.microsoft.com/en-us/azure/storage/common/storage-configure-connection-string
#   Discord      https://discord.com/developers/docs/reference#authentication
#   Telegram     https://core.telegram.org/bots/api#authorizing-your-bot
#   Shopify      https://shopify.dev/docs/apps/build/authentication-authorization/access-tokens
#   Linear       https://linear.app/developers/graphql
#   Notion       https://developers.notion.com/reference/authentication
#   Databricks   https://docs.databricks.com/aws/en/dev-tools/auth/pat
#   Vault        https://developer.hashicorp.com/vault/docs/concepts/tokens
#   Square       https://developer.squareup.com/docs/build-basics/access-tokens
#   Grafana      https://grafana.com/docs/grafana/latest/administration/service-accounts/
#   New Relic    https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/
#   Sentry       https://docs.sentry.io/account/auth-tokens/
#   Figma        https://developers.figma.com/docs/rest-api/authentication/
#   Postman      https://learning.postman.com/docs/developer/postman-api/authentication/
#   Doppler      https://docs.doppler.com/reference/auth-token-formats
#   Terraform    https://developer.hashicorp.com/terraform/cloud-docs/users-teams-organizations/api-tokens
#   Supabase     https://supabase.com/docs/guides/api/api-keys
#   PlanetScale  https://planetscale.com/docs/concepts/service-tokens
#   Tailscale    https://tailscale.com/kb/1215/oauth-clients, https://tailscale.com/kb/1085/auth-keys
#   1Password    https://developer.1password.com/docs/service-accounts/
#   LangSmith    https://docs.langchain.com/langsmith/create-account-api-key
#   Mailchimp    https://mailchimp.com/developer/marketing/guides/quick-start/
#   Facebook     https://developers.facebook.com/docs/facebook-login/guides/access-tokens
#   Airtable     https://airtable.com/developers/web/guides/personal-access-tokens
#   Asana        https://developers.asana.com/docs/personal-access-token
#   Buildkite    https://buildkite.com/docs/apis/managing-api-tokens
#   Sourcegraph  https://sourcegraph.com/docs/cli/how-tos/creating-an-access-token
#   SonarQube    https://docs.sonarsource.com/sonarqube-server/latest/user-guide/managing-tokens/
#   Dynatrace    https://docs.dynatrace.com/docs/dynatrace-api/basics/dynatrace-api-authentication
#   age          https://github.com/C2SP/C2SP/blob/main/age.md
#   Nostr        https://github.com/nostr-protocol/nips/blob/master/19.md
#   Bitcoin      https://github.com/bitcoin/bips/blob/master/bip-0032.mediawiki

PROVIDERS: Final = (
    Provider("GitHub", "token", r"gh[pousr]_", r"[A-Za-z0-9]{30,255}"),
    Provider("GitHub", "token", r"github_pat_", r"[A-Za-z0-9_]{22,255}"),
    Provider("GitLab", "token", r"gl(?:pat|dt|rt|cbt|ptt|ft|ffct|soat|imt|agent|oas)-", _WORD + r"{20,255}"),
    Provider("GitLab", "token", r"GR1348941", _WORD + r"{20,64}"),
    Provider("Bitbucket or Atlassian", "token", r"AT(?:ATT|CTT|BB)[A-Za-z0-9]?", r"[A-Za-z0-9_=-]{24,255}"),
    Provider("AWS", "api_key", r"A(?:KIA|SIA|BIA|CCA)", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    Provider("AWS", "api_key", r"ABSK", r"[A-Za-z0-9+/]{100,300}={0,2}"),
    Provider("Google", "api_key", r"AIza", _WORD + r"{35}(?![A-Za-z0-9_-])"),
    Provider("Google", "client_secret", r"GOCSPX-", _WORD + r"{20,64}"),
    Provider("Google", "token", r"ya29\.", _WORD + r"{20,2000}"),
    Provider("Slack", "token", r"xox[a-eoprs]-", r"[A-Za-z0-9-]{10,255}"),
    Provider("Slack", "token", r"xapp-", r"\d-[A-Z0-9]{6,20}-\d{6,20}-[a-z0-9]{20,128}"),
    Provider("Slack", "token", r"hooks\.slack\.com/(?:services|workflows|triggers)/T", r"[A-Z0-9]{6,16}/[\w/]{24,80}"),
    Provider("Anthropic", "api_key", r"sk-ant-(?:api\d\d)?", _WORD + r"{20,255}"),
    Provider("Stripe", "api_key", r"[sr]k_(?:live|test|prod)_", r"[A-Za-z0-9]{10,255}"),
    Provider("Stripe", "client_secret", r"whsec_", r"[A-Za-z0-9+/=]{24,128}"),
    Provider("OpenAI", "api_key", r"sk-(?:proj-|svcacct-|admin-|or-v1-)?", _WITH_DIGIT + _WORD + r"{20,255}"),
    Provider("npm", "token", r"npm_", r"[A-Za-z0-9]{36}"),
    Provider("PyPI", "token", r"pypi-", r"AgE" + _WORD + r"{40,255}"),
    Provider("Hugging Face", "token", r"hf_", r"[A-Za-z0-9]{30,64}"),
    Provider("Hugging Face", "token", r"api_org_", r"[A-Za-z0-9]{34}"),
    Provider("RubyGems", "api_key", r"rubygems_", r"[0-9a-f]{48}"),
    Provider("Docker", "token", r"dckr_(?:pat|oat)_", _WORD + r"{20,64}"),
    Provider("Twilio", "api_key", r"SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    Provider("SendGrid", "api_key", r"SG\.", _WORD + r"{16,32}\." + _WORD + r"{30,64}"),
    Provider("Mailgun", "api_key", r"key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    Provider("DigitalOcean", "token", r"do[opr]_v1_", r"[a-f0-9]{64}"),
    Provider("Azure", "api_key", r"AccountKey=", r"[A-Za-z0-9+/]{80,90}={0,2}"),
    Provider("Azure", "client_secret", r"[A-Za-z0-9_~.]{3}\dQ~", r"[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])"),
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
    Provider("Grafana", "token", r"glc_", r"[A-Za-z0-9+/]{32,400}={0,3}"),
    Provider("New Relic", "api_key", r"NRAK-", r"[A-Z0-9]{27}"),
    Provider("New Relic", "api_key", r"NRII-", r"[A-Za-z0-9-]{32}"),
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
    Provider("1Password", "private_key", r"A3-", r"[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}"),
    Provider("1Password", "token", r"ops_eyJ", r"[A-Za-z0-9_=-]{40,2000}"),
    Provider("Twilio", "api_key", r"AC", r"[0-9a-f]{32}:[0-9a-f]{32}"),
    Provider("Mailchimp", "api_key", r"[0-9a-f]{32}-us", r"\d{1,2}(?![A-Za-z0-9])"),
    Provider("Facebook", "token", r"EAA[A-Z]", r"[A-Za-z0-9]{60,255}"),
    Provider("Google", "token", r"1//0", _WORD + r"{40,120}"),
    Provider("Contentful", "token", r"CFPAT-", _WORD + r"{43}"),
    Provider("PostHog", "api_key", r"phx_", r"[A-Za-z0-9]{40,60}"),
    Provider("NVIDIA", "api_key", r"nvapi-", _WORD + r"{60,80}"),
    Provider("Fly.io", "token", r"fo1_", _WORD + r"{40,60}"),
    Provider("Fly.io", "token", r"fm[12][ar]?_", r"[A-Za-z0-9_+/=-]{60,2000}"),
    Provider("Render", "api_key", r"rnd_", r"[A-Za-z0-9]{24,40}"),
    Provider("Twitch", "token", r"oauth:", r"[a-z0-9]{30}(?![A-Za-z0-9])"),
    Provider("EasyPost", "api_key", r"EZ[AT]K", r"[A-Za-z0-9]{54}"),
    Provider("Heroku", "api_key", r"HRKU-", _WORD + r"{36,64}"),
    Provider("Cloudflare", "token", r"cf(?:ut|at|k)_", _WORD + r"{30,80}"),
    Provider("Vercel", "token", r"vc[pkaois]_", r"[A-Za-z0-9]{24,80}"),
    Provider("Airtable", "token", r"pat[A-Za-z0-9]{14}\.", r"[a-f0-9]{64}"),
    Provider("Asana", "token", r"[12]/\d{10,20}:", r"[0-9a-f]{32}"),
    Provider("Dropbox", "token", r"sl\.", r"[A-Za-z0-9_.-]{120,1500}"),
    Provider("Discord", "token", r"mfa\.", _WORD + r"{84}"),
    Provider("CircleCI", "token", r"CCIPAT_", r"[A-Za-z0-9_]{40,80}"),
    Provider("Buildkite", "token", r"bkua_", r"[a-f0-9]{40}"),
    Provider("Sourcegraph", "token", r"sgp_", r"[a-fA-F0-9_]{40,80}"),
    Provider("SonarQube", "token", r"sq[upa]_", r"[a-f0-9]{40}"),
    Provider("Dynatrace", "token", r"dt0c01\.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Provider("Prefect", "api_key", r"pnu_", r"[A-Za-z0-9]{36}"),
    Provider("ReadMe", "api_key", r"rdme_", r"[a-z0-9]{70}"),
    Provider("OpenAI", "token", r"sess-", r"[A-Za-z0-9]{40}"),
    Provider("Brevo", "api_key", r"xkeysib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    Provider("Adyen", "api_key", r"AQE", r"[A-Za-z0-9+/]{60,200}={0,2}"),
    Provider("Artifactory", "api_key", r"AKCp", r"[A-Za-z0-9]{69}"),
    Provider("Artifactory", "token", r"cmVmd", r"[A-Za-z0-9]{59}"),
    Provider("OpenShift", "token", r"sha256~", _WORD + r"{43}(?![A-Za-z0-9_-])"),
    Provider("Shippo", "token", r"shippo_(?:live|test)_", r"[A-Fa-f0-9]{40}"),
    Provider("Duffel", "token", r"duffel_(?:live|test)_", r"[A-Za-z0-9_=-]{43}"),
    Provider("Typeform", "token", r"tfp_", r"[A-Za-z0-9_.=-]{59}"),
    Provider("Clojars", "token", r"CLOJARS_", r"[A-Za-z0-9]{60}"),
    Provider("Cloudflare", "private_key", r"v1\.0-[a-f0-9]{24}-", r"[a-f0-9]{146}"),
    Provider("Resend", "api_key", r"re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    Provider("HubSpot", "token", r"pat-(?:na|eu|ap)\d-", r"[0-9a-f-]{36}"),
    Provider("Plaid", "token", r"access-(?:sandbox|development|production)-", r"[0-9a-f-]{36}"),
    Provider("Alibaba Cloud", "api_key", r"LTAI", r"[A-Za-z0-9]{12,24}(?![A-Za-z0-9])"),
    Provider("Tencent Cloud", "api_key", r"AKID", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Provider("Pinecone", "api_key", r"pcsk_", r"[A-Za-z0-9_]{40,80}"),
    Provider("Mapbox", "token", r"sk\.eyJ", _WORD + r"{20,300}\." + _WORD + r"{20,30}"),
    Provider("Riot Games", "api_key", r"RGAPI-", r"[0-9a-f-]{36}"),
    Provider("Langfuse", "api_key", r"sk-lf-", r"[0-9a-f-]{36}"),
    Provider("Vercel", "token", r"vercel_blob_rw_", r"[A-Za-z0-9_]{30,80}"),
    Provider("Trello", "token", r"ATTA", r"[0-9a-f]{72}"),
    Provider("Neon", "api_key", r"napi_", r"[A-Za-z0-9]{40,80}"),
    Provider("Together", "api_key", r"tgp_v1_", _WORD + r"{40,60}"),
    Provider("Firecrawl", "api_key", r"fc-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    Provider("AWS", "token", r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)", r"[A-Za-z0-9+/=]{60,2000}"),
    Provider("ElevenLabs", "api_key", r"sk_", r"[0-9a-f]{48}(?![A-Za-z0-9])"),
    Provider("RunPod", "api_key", r"rpa_", r"[A-Z0-9]{40,60}"),
    Provider("Cerebras", "api_key", r"csk-", r"[a-z0-9]{40,60}"),
    Provider("Jina", "api_key", r"jina_", r"[A-Za-z0-9_-]{50,80}"),
    Provider("MailerSend", "token", r"mlsn\.", r"[0-9a-f]{64}"),
    Provider("Brevo", "api_key", r"xsmtpsib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    Provider("LaunchDarkly", "api_key", r"sdk-", r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    Provider("ClickUp", "token", r"pk_\d{6,9}_", r"[A-Z0-9]{32}"),
    Provider("Scaleway", "api_key", r"SCW", r"[A-Z0-9]{17}(?![A-Za-z0-9])"),
    Provider("Yandex Cloud", "api_key", r"AQVN", _WORD + r"{35,40}"),
    Provider("Roblox", "token", r"_\|WARNING:-DO-NOT-SHARE-THIS", r"\.[\w.|-]{20,2000}"),
    Provider("Square", "token", r"sandbox-sq0(?:atb|csb)-", _WORD + r"{22,64}"),
    Provider("NuGet", "api_key", r"oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    Provider("crates.io", "token", r"cio", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Provider("Vault", "token", r"s\.", _WITH_DIGIT + r"[A-Za-z0-9]{24}(?![A-Za-z0-9.])"),
    Provider("Flutterwave", "api_key", r"FLWSECK(?:_TEST)?-", r"[0-9a-fA-F]{12,32}"),
    Provider("PayPal", "token", r"access_token\$(?:production|sandbox)\$", r"[0-9a-z]{16}\$[0-9a-f]{32}"),
    Provider("Mollie", "api_key", r"(?:live|test)_", r"(?=[A-Za-z]{0,29}\d)[A-Za-z0-9]{30,36}(?![A-Za-z0-9])"),
    Provider("LinkedIn", "token", r"WPL_AP\d\.", r"[A-Za-z0-9]{10,24}\."),
    Provider("Twitter", "token", r"A{20,22}", r"[A-Za-z0-9%]{40,120}"),
    Provider("Instagram", "token", r"IG(?:QV|QW|AA)", r"[A-Za-z0-9_-]{80,300}"),
    Provider("Facebook", "token", r"\d{13,17}\|", r"(?=[\w-]*[A-Z])(?=[\w-]*\d)" + _WORD + r"{25,42}(?![A-Za-z0-9_-])"),
    Provider("Apify", "token", r"apify_api_", r"[A-Za-z0-9]{30,46}"),
    Provider("Fireworks", "api_key", r"fw_", _WITH_DIGIT + r"[A-Za-z0-9]{22,24}(?![A-Za-z0-9])"),
    Provider("Voyage", "api_key", r"pa-", r"(?=[\w-]*[A-Z])" + _WITH_DIGIT + _WORD + r"{40,46}(?![A-Za-z0-9_-])"),
    Provider("Yandex Cloud", "token", r"t1\.", r"[A-Za-z0-9_-]{40,300}={0,2}\.[A-Za-z0-9_-]{86}"),
    Provider("Yandex", "token", r"y[0-3]_", r"(?=[\w-]*[A-Z])" + _WITH_DIGIT + _WORD + r"{50,70}"),
    Provider("Bitbucket or Atlassian", "token", r"BBDC-", r"[A-Za-z0-9+/@_-]{40,50}"),
    Provider("Intercom", "token", r"dG9r", r"(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{50,60}={0,2}"),
    Provider("Anyscale", "api_key", r"esecret_", r"[A-Za-z0-9]{20,64}"),
    Provider("Harness", "token", r"[ps]at\.[A-Za-z0-9_-]{22}\.", r"[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    Provider("Azure DevOps", "token", r"[A-Za-z0-9]{76}AZDO", r"[A-Za-z0-9]{4}(?![A-Za-z0-9])"),
    Provider("Azure", "api_key", r"[A-Za-z0-9]{52}JQQJ99", r"[A-Za-z0-9]{26}(?![A-Za-z0-9])"),
    Provider("Grafana", "api_key", r"eyJrIjoi", r"[A-Za-z0-9+/]{60,400}={0,2}"),
    Provider("Deno", "token", r"dd[pow]_", r"[A-Za-z0-9]{36}"),
    Provider("Octopus Deploy", "api_key", r"API-", r"[A-Z0-9]{26}(?![A-Za-z0-9])"),
    Provider("Frame.io", "token", r"fio-u-", _WORD + r"{64}"),
    Provider("Telnyx", "api_key", r"KEY0", r"[0-9A-F]{31}_[A-Za-z0-9]{22}"),
    Provider("WakaTime", "api_key", r"waka_", r"[0-9a-f-]{36}"),
    Provider("Checkout.com", "api_key", r"sk_sbox_", r"[a-z0-9]{26,40}"),
    Provider("Infracost", "api_key", r"ico-", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    Provider("Weights & Biases", "api_key", r"wandb_v1_", r"[A-Za-z0-9_]{40,120}"),
    Provider("Kaggle", "token", r"KGAT_", r"[0-9a-f]{32}"),
    Provider("Rootly", "token", r"rootly_", r"[0-9a-f]{64}"),
    Provider("Scalingo", "token", r"tk-us-", _WORD + r"{48}"),
    Provider("Coze", "token", r"[ps]at_", r"[A-Za-z0-9]{64}(?![A-Za-z0-9])"),
    Provider("Stytch", "api_key", r"secret-(?:live|test)-", r"[A-Za-z0-9_=-]{28,40}"),
    Provider("Cardano", "private_key", r"(?:ed25519(?:e|_extended)?_s[ke]|xprv|addr_xsk|root_xsk)1",
             r"[ac-hj-np-z02-9]{58,300}"),
    Provider("Sui", "private_key", r"suiprivkey1", r"[ac-hj-np-z02-9]{50,70}"),
    Provider("Tezos", "private_key", r"eds[ke]k?", r"[1-9A-HJ-NP-Za-km-z]{50,94}(?![A-Za-z0-9])"),
    Provider("EOS", "private_key", r"PVT_(?:K1|R1|WA)_", r"[1-9A-HJ-NP-Za-km-z]{48,52}"),
    Provider("Near", "private_key", r"ed25519:", r"[1-9A-HJ-NP-Za-km-z]{80,90}(?![A-Za-z0-9])"),
    Provider("age", "private_key", r"AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    Provider("Nostr", "private_key", r"nsec1", r"[ac-hj-np-z02-9]{58}"),
    Provider("Bitcoin", "private_key", r"[xyztuvXYZUV]prv", r"[1-9A-HJ-NP-Za-km-z]{100,112}"),
)  # fmt: skip

_MASKED: Final = r"[xX*]{8}|EXAMPLE"
"""Stands in documentation for the rest of a key."""
_STARTS_WORD: Final = r"(?<![A-Za-z0-9_-])"
_TOO_COMMON: Final = (
    "SK", "SCW", "re_", "fc-", "sk_", "sdk-", "key-", "secret_", "EZ[AT]K", "AC", "EAA[A-Z]", "oauth:",
    r"[MNO][A-Za-z0-9_-]{23,27}\.", r"\d{8,10}:AA", r"[A-Za-z0-9]{14}\.atlasv1\.", r"[0-9a-f]{32}-us", r"1//0",
    r"[A-Za-z0-9_~.]{3}\dQ~", r"v1\.0-[a-f0-9]{24}-", "cmVmd", "A3-", "sha256~",
    "oy2", "cio", r"s\.", r"(?:live|test)_", "A{20,22}", r"\d{13,17}\|", "fw_", "pa-", r"t1\.", r"y[0-3]_", "dG9r",
    r"[ps]at\.[A-Za-z0-9_-]{22}\.", r"[A-Za-z0-9]{76}AZDO", r"[A-Za-z0-9]{52}JQQJ99", "API-",
    "KEY0", r"dd[pow]_", "ico-",
    r"[ps]at_", r"eds[ke]k?", r"ed25519:", "tk-us-",
)  # fmt: skip
"""Beginnings that are words themselves, or that nobody quotes."""
QUOTED_BEGINNINGS: Final = tuple(
    (each.kind, each.begins) for each in PROVIDERS if each.begins not in _TOO_COMMON
)
"""The kinds and beginnings that documentation and descriptions quote."""


# Compiled at first use: nobody who only imports the detector pays for a hundred expressions.


@lru_cache(maxsize=1)
def beginnings() -> re.Pattern[str]:
    """Where a token may begin."""
    return re.compile(rf"{_STARTS_WORD}(?:{'|'.join(begins for _, begins in QUOTED_BEGINNINGS)}|gh[pousr]-)")


@lru_cache(maxsize=1)
def _any_beginning() -> re.Pattern[str]:
    return re.compile(_STARTS_WORD + f"(?:{'|'.join(each.begins for each in PROVIDERS)})")


@lru_cache(maxsize=len(PROVIDERS))
def _whole(provider: Provider) -> re.Pattern[str]:
    return re.compile(_STARTS_WORD + provider.begins + provider.follows)


def provider_of(text: str) -> Provider | None:
    """The service whose key is in the text."""
    if _any_beginning().search(text) is None:
        return None
    found = ((provider, _whole(provider).search(text)) for provider in PROVIDERS)
    return next((each for each, match in found if match and not re.search(_MASKED, match[0])), None)
