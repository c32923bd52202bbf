"""Does what the person typed hold a secret? Read before it leaves (S4).

Three things are reported: what can be told from the value itself (a key with a known beginning, a private key, a
signed token, an address with its password, a number or phrase with its checksum); a value that only looks random,
beside a word that says what it is; and a sentence such as "my password is …" in every language of the lexicons.
A password that stands alone looks like any other word; that is what judging the form is for.
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from handraise.forms import Form
from handraise.secrets.characters import INVISIBLE
from handraise.secrets.checksums import holds_bitcoin_key, holds_card_number, holds_iban, holds_seed_phrase
from handraise.secrets.connections import any_real, holds_connection_string
from handraise.secrets.everyday import everyday_in
from handraise.secrets.finding import CALLED, SecretFinding, tier_of
from handraise.secrets.pieces import put_in_one_piece
from handraise.secrets.providers import provider_of
from handraise.secrets.told import RANDOM, Found, is_real, looks_random, told_in

# Expressions are texts: `re` compiles and keeps each one when it is first used, so that importing costs little.

_PRIVATE_KEY: Final = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:- ?){4,5}(?:BEGIN|END) (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY"
    r"|[*=_~#]{3,8}\s?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY|BEGIN(?:%20|\+)(?:[A-Z0-9]{1,12}"
    r"(?:%20|\+)){0,3}PRIVATE(?:%20|\+)KEY"
    r"|-----BEGIN OpenVPN Static key|-----BEGIN OPENVPN STATIC KEY|\bPrivate-(?:Lines|MAC): ?\w"
    r"|</Exponent>.{0,2000}<D>"
    r"|(?<![A-Za-z0-9+/=])(?:MH[cQ]CAQEE|MIG[A-Za-z0-9+/]AgEA|MIH[A-Za-z0-9+/]AgEA|MC4CAQAwBQYDK2V"
    r"|MFECAQEwBQYDK2V"
    r"|MII[A-Za-z0-9+/]{3,4}I(?:BAz|wIBAz)C)[A-Za-z0-9+/]{20}"
    r"|PuTTY-User-Key-File-\d|\bb3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{20}|\bMII[A-Za-z0-9+/]{3}IBA(?:DAN"
    r"|AKC)[A-Za-z0-9+/]{20}"
    r"|LS0tLS1CRUdJTiB(?:SU0EgUFJJVkFUR|QUklWQVRF|FQyBQUklWQVRF|PUEVOU1NIIFBSSVZBVEU|FTkNSWVBURUQgUFJJVkFURS)"
    r"|\"kty\"\s{0,3}:[^{}]{1,3000}\"[dk]\"\s{0,3}:\s{0,3}\"[A-Za-z0-9_-]{30,}"
)
_JWT: Final = r"(?<![\w.-])(eyJ[A-Za-z0-9_-]{8,2000})\.[A-Za-z0-9_-]{4,20000}\.[A-Za-z0-9_-]{0,2000}"
_HEADER: Final = (
    r"(?i)(?:\bauthorization\s{0,3}:\s{0,3}(?:bearer|basic|token|bot|apikey)\s{1,3}|\b(?:bearer"
    r"|basic)\s{1,3}(?=\D{0,60}\d)"
    r"|\b(?:x-[a-z-]{0,20}(?:api-?key|auth-?token|access-?token)|private-token|api-key)\s{0,3}[:=]\s{0,3})"
    r"([A-Za-z0-9._~+/=-]{16,4000})"
)
_SETTING: Final = (
    r"(?i)(?<!\d:)(?:API_?KEY|SECRET|SECRET_KEY|ACCESS_KEY|TOKEN|PASSWORD|PASSWD|PASSPHRASE|PRIVATE_KEY)"
    r"[\"']?\s{0,3}(?:[=:]|value=)\s{0,3}[\"']?([^\s\"']{6,500})"
)
_NAMED_SETTING: Final = r"(?<![A-Za-z])[A-Z][A-Z0-9_]{2,60}\s{0,3}=\s{0,3}[\"']?([^\s\"']{6,500})"
_OPEN_NAME: Final = (
    r"PUBLIC|PUBLISHABLE|PRIMARY|SORT|FOREIGN|CACHE|PARTITION|OBJECT|IDEMPOTENCY|INDEX|S3_KEY|HASH"
)
"""Names of keys that are no secrets."""
_BACKUP_CODES: Final = (
    r"(?i)\b(?:backup|recovery|emergency|rescue|scratch)[ -]codes?\b[^\n]{0,12}?[:=\s]\s?"
    r"(?=[a-z-]{0,8}\d)[a-z0-9]{4,6}[ -]?[a-z0-9]{4,6}(?:[,;\s]{1,3}[a-z0-9]{4,6}[ -]?[a-z0-9]{4,6})+"
)
_BITLOCKER: Final = r"(?<![\d-])(?:\d{6}-){7}\d{6}(?![\d-])"
_OTPAUTH: Final = (
    r"(?i)otpauth://[a-z]{4}/\S{0,200}[?&]secret=[A-Z2-7]{8,}|otpauth-migration://offline\?data=\S{20,}"
)
_COOKIE: Final = (
    r"(?i)(?:\w{0,30}sess(?:ion)?(?:_?id|_?key|[0-9a-f]{32})?|sid|\w{0,20}auth(?:\w{0,20}(?:token|key|cookie|session|ticket))?|"
    r"(?:session|access|id)[-_.]token|jwt"
    r"|remember_(?:token|me|web_\w{8,60})|cf_clearance|\bxs|ESTSAUTH\w{0,12}|\w{0,30}(?:security|signin|login"
    r"|logged_in)\w{0,40}"
    r"|aspnetcore\.[\w.]{3,60})"
    r"\s{0,2}=\s{0,2}([A-Za-z0-9%._~+/-]{16,4000})"
    r"|\bsession(?:[ _-]?(?:id|key|token|cookie)|: ?)\W{1,3}(?:is )?([0-9a-f]{32,128}|[A-Za-z0-9]{32,128})\b"
    r"|\b\w{0,12}cookie(?! ?(?:policy|banner|hash))\b[^\n=]{0,40}[:=\s]\s?([A-Za-z0-9%_~+-]{32,4000})(?!\S)"
    r"|\b\w{0,20}sess(?:ion)?\w{0,8}\b[^\n=]{0,12}\bvalue\W{1,3}([A-Za-z0-9%_~+-]{24,4000})(?!\S)"
)
_BASE64_KEY: Final = r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{43}=(?![A-Za-z0-9+/=])"
_FORTY: Final = r"(?<![A-Za-z0-9+/=_.-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_.-])"
_HEX64: Final = r"(?<![A-Za-z0-9])(?:0x)?[0-9a-fA-F]{64}(?![A-Za-z0-9])"
_BASE58_KEY: Final = (
    r"(?<![A-Za-z0-9])(?:[1-9A-HJ-NP-Za-km-z]{86,88}|[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51})(?![A-Za-z0-9])"
)
_BASE32: Final = r"(?<![A-Za-z0-9])(?:[A-Z2-7]{4}[ -]?){4,13}(?![A-Za-z0-9])"
_SETUP_KEY: Final = r"(?i)\b(?=[a-z0-9 -]{0,20}\d)(?:[a-z0-9]{4}[ -]){3,15}[a-z0-9]{4}\b"
"""How an authenticator's secret is shown, if somebody made it up."""
_PRIVATE_HINT: Final = (
    r"(?i)private[ _-]?key|privkey|\benc(?:ryption)?[ _-]?key|secret[ _-]?key|spend[ _-]?key|signing[ _-]?key"
    r"|preshared[ _-]?key|\bwif\b"
    r"|\b(?:my|eth|ethereum|wallet|metamask)\b.{0,20}\bkey\b"
    r"|\b(?:solana|phantom|keypair)\b(?!.{0,30}(?:\btx|sign|trans|address))"
)
_WALLET_HINT: Final = (
    r"(?i)\b(?:validator|deployer|burner|hot wallet|cold wallet|view[ _-]?key|hardhat"
    r"|private|mini secret|seed)\b"
    r"|_PK\b|privat\w{0,3}[ -]?(?:key|schlüssel)|clé privée|clave privada|chiave privata|chave"
    r" privada|klucz prywatny|закрытый ключ"
    r"|приватный ключ"
)
_KEY_FILE: Final = (
    r"\"ciphertext\"\s{0,3}:.{0,400}\"kdf\"|(?<![A-Za-z0-9])6P[1-9A-HJ-NP-Za-km-z]{56}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])S[A-Z2-7]{55}(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])sEd[1-9A-HJ-NP-Za-km-z]{28,29}(?![A-Za-z0-9])"
    r"|\[\s{0,2}\d{1,3}(?:\s{0,2},\s{0,2}\d{1,3}){63}\s{0,2}\]"
    r"|(?i:solana|phantom|keypair|secret|private)[^\n\[]{0,30}\[\s{0,2}\d{1,3}(?:\s{0,2},\s{0,2}\d{1,3}){15,}"
)
"""A wallet's file; keys of Bitcoin (BIP 38), Stellar, Ripple and Solana."""
_TOTP_HINT: Final = (
    r"(?i)\b(?:totp|2fa|otp|mfa|oath(?:tool)?|authenticator|two-factor|set-?up key|manual(?:ly)?(?:"
    r" entry)? (?:key|code)|entry key"
    r"|can['’]?t scan|instead of (?:the qr|scanning))\b"
)
_ACCOUNT_HINT: Final = r"(?i)\b(?:iban|konto\w*|account|compte|cuenta|conto|conta|rekening\w*|счёт|счет)\b"
_KEY_HINT: Final = (
    r"(?i)(?<![a-z])(?:private|secret|signing|wallet|eth|ethereum|wireguard|wg|spend|validator"
    r"|account)(?![a-z])"
)
_SEED_HINT: Final = r"(?i)(?<![a-z])(?:totp|2fa|otp|mfa|authenticator|two-factor|secret|setup key)(?![a-z])"
_DIGEST_HINT: Final = (
    r"(?i)hash|digest|checksum|sha-?\d|fingerprint|commit|public|licen[sc]e|serial|transaction|txid"
    r"|\btx\b|block"
)
"""Words for values that look like keys and are none."""
_HEX64_PREFIXED: Final = r"0x[0-9a-fA-F]{64}"
_BASE32_GROUPS: Final = r"(?:[A-Z2-7]{4} ){3,15}[A-Z2-7]{4}"
_BARE_KEYS: Final = (
    ("private_key", r"(?:0x)?[0-9a-fA-F]{64}", _KEY_HINT),
    ("private_key", r"[A-Za-z0-9+/]{43}=", _KEY_HINT),
    ("otp", r"(?:[A-Z2-7]{4}[ -]?){4,13}", _SEED_HINT),
)
"""Keys without a beginning of their own, and the words that tell them."""
_LONGEST_HINT: Final = 500
_PROVIDER_HINT: Final = (
    r"(?i)\b(?:vercel|netlify|heroku|linkedin|square|twitter|facebook|mailchimp|okta|auth0|algolia"
    r"|datadog|circleci"
    r"|travis|jenkins|asana|zendesk|dropbox|twitch|cohere|mistral|cloudflare|intercom|amplitude"
    r"|mixpanel|segment|deepgram"
    r"|assemblyai|kraken|binance|coinbase|hetzner|linode|vultr|ovh|snyk|codecov|teamcity|bamboo|gitea"
    r"|drone|wandb|rapidapi)\b"
    r".{0,40}\b(?:token|key|secret)\b"
)
_NAMED_KEY: Final = (
    r"(?i)(?:\b(\w{1,20})[ _.-])?\b(?:key|token|secret)['’]?s?\b\s?(?:is|=|:|→|->)?\s{0,2}[\"']?"
    r"((?=[A-Za-z0-9_-]{0,80}\d)(?=[A-Za-z0-9_-]{0,80}[A-Za-z])[A-Za-z0-9_-]{32,200})(?![\w-])"
)
_OTHER_KEY: Final = frozenset({
    "public", "publishable", "primary", "foreign", "cache", "partition", "sort", "idempotency", "product", "license",
    "licence", "issue", "object", "s3", "anon", "site", "index", "registry", "translation", "hash", "routing",
    "message", "page", "next", "continuation", "cursor", "pagination", "resource", "version", "row", "item", "dedupe",
    "correlation", "request", "trace", "gpg", "pgp", "ssh", "host", "device", "design", "sync", "resume", "composite",
})  # fmt: skip
"""What stands before the word for a key that is no secret."""
_OPEN_VALUE: Final = (
    r"(?i)pk[_-]|pub|phc_|sb_publishable|6L[a-z]|AAAA[BCE]3Nza|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
"""How keys begin that everybody may know, and what a number of a thing looks like."""
_ADDRESS: Final = (
    r"(?i)https?://(?=\w*\d)([A-Za-z0-9_-]{30,100})@(?!o\d+\.)"
    r"|https?://\S{3,200}?/(?:\w{0,20}(?:reset|magic|confirm|invit\w{2,4}|activate|recover\w{0,3}"
    r"|unlock)\w{0,20}/)+((?=\S{0,99}\d)[A-Za-z0-9_-]{24,300})(?![\w-])"
    r"|(hooks\.zapier\.com/hooks/catch/\d{4,12}/\w{5,12}|maker\.ifttt\.com/trigger/\w{1,40}/"
    r"(?:json/)?with/key/\w{10,60}"
    r"|chat\.googleapis\.com/v1/spaces/\S{5,30}/messages\?key=\S{20,}|(?:feishu\.cn"
    r"|larksuite\.com)/open-apis/bot/v2/hook/[\w-]{20,})"
)
"""Addresses that let in every person who has them."""
_QUERY_KEY: Final = (
    r"(?i:(?:^|[?&#\s])(?:(?:api_?)?key|(?:access|refresh|id|auth)_token|client_secret|sig"
    r"|X-(?:Amz|Goog)-Signature)=)([A-Za-z0-9%+/_.-]{24,2000})"
)
_SENT_CODE: Final = (
    r"(?<![\w-])G-\d{6}(?![\w-])|(?i:\b(?:sms|text(?:ed)?|txt|смс|authenticator)\b)"
    r"[^\d\n]{0,20}(?<!to )(?<!at )\b\d{3}[ -]?\d{3}(?![ -]?\d|\w)"
)
"""Google's, and six digits after a text message or an authenticator."""
_ESCAPED_BREAK: Final = r"(?<!\\)\\(?:r\\)?n(?![a-z]{3})|\\n(?=user|login|password)"
_DOTS: Final = str.maketrans(dict.fromkeys("·•‧∙⋅", "."))
"""Dots that people write between the groups of a number."""


def scan_answer(
    content: Mapping[str, object], form: Form[Any] | None = None, message: str = ""
) -> tuple[SecretFinding, ...]:
    """The fields of an answer that hold a secret. The findings never carry the value.

    A key without a beginning of its own is told by the words around it: give the form and the message if you have them.
    """
    titles = {} if form is None else {field.name: field.title or "" for field in form.fields}
    return tuple(
        SecretFinding(
            name,
            2 if found.doubtful else tier_of(found.kind),
            found.kind,
            f"This {'may be' if found.doubtful else 'holds'} {found.called}.",
            doubtful=found.doubtful,
            words=(found.because,),
        )
        for name, value in content.items()
        for found in _found(value, f"{message[:_LONGEST_HINT]} {name} {titles.get(name, '')}")
    )


def value_kind(text: str) -> str | None:
    """The kind of secret that a text shows by itself, whatever the words around it say."""
    found = _by_value(clean(text))
    return None if found is None else found.kind


def clean(text: str) -> str:
    """The text without invisible characters, in plain letters and digits."""
    text = INVISIBLE.sub("", text)
    if "\\" in text:
        text = re.sub(_ESCAPED_BREAK, "\n", text)
    if "&#" in text:
        text = re.sub(r"&#(\d{2,4});", lambda code: chr(int(code[1])), text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_DOTS)
        text = "".join(str(unicodedata.digit(sign)) if sign.isdigit() else sign for sign in text)
    return text


def _found(value: object, hint: str) -> Iterator[Found]:
    """At most one kind."""
    for text in _texts(value):
        cleaned = clean(text)
        in_one_piece = (_by_value(each) for each in (cleaned, *put_in_one_piece(cleaned)))
        found = next(filter(None, in_one_piece), None) or told_in(cleaned) or everyday_in(cleaned)
        if found := found or _hinted(cleaned.strip(), hint):
            yield found
            return


def _hinted(text: str, hint: str) -> Found | None:
    """A value that is nothing but a key, beside a field or message that says so, or built so that"
    " it is likely one."""
    if re.search(_DIGEST_HINT, hint):
        return None
    for kind, pattern, named in _BARE_KEYS:
        if re.fullmatch(pattern, text) and re.search(named, hint):
            return Found(kind, CALLED[kind], "it looks like one, and the question names one")
    if re.fullmatch(_BASE64_KEY, text) and _is_clamped(text):
        return Found(
            "private_key", CALLED["private_key"], "it is built as keys of WireGuard are", doubtful=True
        )
    if re.fullmatch(_HEX64_PREFIXED, text):
        return Found(
            "private_key", CALLED["private_key"], "it is as long as keys of wallets are", doubtful=True
        )
    if re.fullmatch(_BASE32_GROUPS, text) and re.search(r"[2-7]", text):
        return Found("otp", CALLED["otp"], "it is written as secrets of authenticators are", doubtful=True)
    return None


def _is_clamped(text: str) -> bool:
    """Whether the bits are set that every key of Curve25519 has set (RFC 7748, section 5)."""
    raw = base64.b64decode(text)
    return raw[0] & 0b111 == 0 and raw[31] & 0b11000000 == 0b01000000


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, int) and not isinstance(value, bool):
        return [str(value)] if abs(value) < 10**30 else []
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _by_value(text: str) -> Found | None:
    if not text:
        return None
    if provider := provider_of(text):
        return Found(
            provider.kind,
            f"{CALLED[provider.kind]} of {provider.name}",
            f"it begins as those of {provider.name} do",
        )
    for kind, holds, because in _CHECKS:
        if holds(text):
            return Found(kind, CALLED[kind], because)
    return None


def holds_private_key(text: str) -> bool:
    """Whether the text holds the beginning of a private key in PEM, OpenSSH, PGP, PuTTY or JWK form."""
    return re.search(_PRIVATE_KEY, text) is not None


def _holds_signed_token(text: str) -> bool:
    return any_real(_HEADER, text) or any(_is_header(found[1]) for found in re.finditer(_JWT, text))


def _is_header(part: str) -> bool:
    """The first part of a JWT says how it is signed; three dotted words do not."""
    try:
        header = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except ValueError:
        return False
    return isinstance(header, dict) and "alg" in header


def _holds_setting(text: str) -> bool:
    """DB_PASSWORD=…, and any other assignment to a name that ends with a secret's."""
    for found in re.finditer(_SETTING, text):
        value = found[1]
        spelled = "_" in found[0] or found[0].isupper() or looks_random(value)
        if (
            spelled
            and is_real(value)
            and not value.isdigit()
            and (found[0][0].isupper() or looks_random(value))
        ):
            return True
    return any(
        _ends_with_secret(found[0], found[1]) and is_real(found[1])
        for found in re.finditer(_NAMED_SETTING, text)
    )


def _ends_with_secret(setting: str, value: str) -> bool:
    name = setting.partition("=")[0].rstrip()
    if name.endswith(("PASSWORD", "PASS", "PWD", "PASSPHRASE")):
        return True
    return (
        name.endswith(("_KEY", "SECRET", "TOKEN", "PEPPER", "_PK", "KEY_BASE", "CREDENTIAL", "CREDENTIALS"))
        and re.search(_OPEN_NAME, name) is None
        and looks_random(value)
        and re.search(r"[a-z].*\d|\d.*[a-z]|[A-Z].*\d|\d.*[A-Z]", value) is not None
        and value.count("-") + value.count("_") < 4
    )


def _holds_cookie(text: str) -> bool:
    return any(
        looks_random(value) and is_real(value)
        for found in re.finditer(_COOKIE, text)
        if (value := next(filter(None, found.groups())))
    )


def _holds_totp_secret(text: str) -> bool:
    if any(re.search(pattern, text) for pattern in (_OTPAUTH, _SENT_CODE, _BACKUP_CODES)):
        return True
    if re.search(_TOTP_HINT, text) is None:
        return False
    if any(len(re.findall(r"[A-Za-z]*\d\w*", found[0])) > 1 for found in re.finditer(_SETUP_KEY, text)):
        return True
    named = re.search(r"(?i)\b(?:key|secret|seed)\b", text) is not None
    return any(
        re.search("[2-7]", found[0]) or (named and _is_mixed_up(found[0]))
        for found in re.finditer(_BASE32, text)
    )


def _is_mixed_up(letters: str) -> bool:
    """Whether the letters are no filler: neither one over and over, nor the alphabet."""
    return len(set(letters)) > 6 and "ABCD" not in letters


def _holds_raw_key(text: str) -> bool:
    """A key without a beginning of its own, beside the words that say what it is."""
    if re.search(_BITLOCKER, text) or re.search(_KEY_FILE, text):
        return True
    if re.search(_WALLET_HINT, text) and not re.search(_DIGEST_HINT, text):
        return any(re.search(pattern, text) for pattern in (_BASE64_KEY, _HEX64, _BASE58_KEY))
    if (
        re.search(_PRIVATE_HINT, text) is None
        and "wireguard" not in text.lower()
        and "wg " not in text.lower()
    ):
        return False
    if re.search(r"(?i)public[ _-]?key", text):
        return False
    return any(re.search(pattern, text) for pattern in (_BASE64_KEY, _HEX64, _BASE58_KEY))


def _holds_aws_secret(text: str) -> bool:
    """Forty letters, digits and signs in which all kinds are mixed. A digest has only one case."""
    return any(
        re.search(r"[a-z].*[A-Z]|[A-Z].*[a-z]", found[0])
        and re.search(r"\d", found[0])
        and ("/" in found[0] or "+" in found[0] or re.search(r"(?i)\baws|secret", text))
        and found[0].count("/") <= 4
        for found in re.finditer(_FORTY, text)
    )


def _holds_named_token(text: str) -> bool:
    if any(looks_random(found[1]) and is_real(found[1]) for found in re.finditer(_QUERY_KEY, text)):
        return True
    if any(found[3] or _is_keylike(found[1] or found[2]) for found in re.finditer(_ADDRESS, text)):
        return True
    hint = re.search(_PROVIDER_HINT, text)
    if hint is not None and any(_is_keylike(found[0]) for found in re.finditer(RANDOM, text)):
        return True
    if re.search(_DIGEST_HINT, text):
        return False
    return any(
        (found[1] or "").lower() not in _OTHER_KEY
        and is_real(found[2])
        and _is_keylike(found[2])
        and not re.match(_OPEN_VALUE, found[2])
        for found in re.finditer(_NAMED_KEY, text)
    )


def _is_keylike(value: str) -> bool:
    """Whether letters and digits are mixed as chance does it, and not as in a list of words with a number."""
    return looks_random(value) and len(re.findall(r"[A-Za-z]\d|\d[A-Za-z]", value)) > 2


def _holds_account(text: str) -> bool:
    return re.search(_ACCOUNT_HINT, text) is not None and holds_iban(text)


_CHECKS: Final[tuple[tuple[str, Callable[[str], bool], str], ...]] = (
    ("private_key", holds_private_key, "it begins as private keys do"),
    ("token", _holds_signed_token, "it is built as tokens are"),
    ("connection_string", holds_connection_string, "a password stands in an address or a command"),
    ("otp", _holds_totp_secret, "it is a one-time code, or sets one up"),
    ("token", _holds_cookie, "a session's cookie is assigned"),
    ("client_secret", _holds_setting, "a setting that is named for a secret is assigned"),
    ("card_number", holds_card_number, "its check digit is that of a card"),
    ("private_key", holds_bitcoin_key, "its checksum is that of a Bitcoin key"),
    ("seed_phrase", holds_seed_phrase, "its checksum is that of a seed phrase"),
    ("private_key", _holds_raw_key, "a key beside the words for it"),
    ("api_key", _holds_aws_secret, "it looks as secret keys of AWS do"),
    ("api_key", _holds_named_token, "a random text beside the words for it"),
    ("bank_account", _holds_account, "its check digits are those of an IBAN"),
)
