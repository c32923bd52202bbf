"""Answers that hold a secret, made with a fixed seed so that no real-looking key stands in a file.

The harmless ones are in `data/hostile/answers_harmless.txt`. Half of each kind was held back (see `hostile`).
Later sets are files with places to fill: `answers_asking_fresh.txt`, `answers_asking_final.txt`.
"""

from __future__ import annotations

import hashlib
import random
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from tests.secrets.hostile import DATA, Half

import handraise.secrets

RANDOM = random.Random(20261118)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
HEX = "0123456789abcdef"
ZERO_WIDTH = "\u200b"


class Typed(NamedTuple):
    """What a person typed into a field."""

    kind: str
    text: str


def letters(number: int, alphabet: str = ALPHABET) -> str:
    return "".join(RANDOM.choice(alphabet) for _ in range(number))


def base64_of(number: int) -> str:
    return b64encode(RANDOM.randbytes(number)).decode()


def base58check(raw: bytes) -> str:
    raw += hashlib.sha256(hashlib.sha256(raw).digest()).digest()[:4]
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        text = BASE58[rest] + text
    return text


def wif(compressed: bool) -> str:
    return base58check(b"\x80" + RANDOM.randbytes(32) + (b"\x01" if compressed else b""))


def luhn(prefix: str, length: int) -> str:
    digits = prefix + letters(length - len(prefix) - 1, "0123456789")
    for check in "0123456789":
        doubled = [sum(divmod(2 * int(digit), 10)) for digit in (digits + check)[-2::-2]]
        if (sum(doubled) + sum(int(digit) for digit in (digits + check)[-1::-2])) % 10 == 0:
            return digits + check
    raise AssertionError


def iban(country: str, account: str) -> str:
    number = int("".join(str(int(sign, 36)) for sign in account + country + "00"))
    return f"{country}{98 - number % 97:02d}{account}"


def grouped(text: str, separator: str, size: int = 4) -> str:
    return separator.join(text[at : at + size] for at in range(0, len(text), size))


def in_groups(text: str, size: int = 6) -> str:
    return grouped(text, " ", size)


def split_by_zero_width(text: str) -> str:
    return ZERO_WIDTH.join((text[:7], text[7:13], text[13:]))


def github_token() -> str:
    return "ghp_" + letters(36)


def jwt() -> str:
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"%d"}' % RANDOM.randrange(10**6), RANDOM.randbytes(32))
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def words(number: int) -> str:
    known = files(handraise.secrets).joinpath("bip39.txt").read_text("ascii").split()
    entropy = RANDOM.randbytes(number * 4 // 3)
    checksum = f"{hashlib.sha256(entropy).digest()[0]:08b}"[: number // 3]
    bits = "".join(f"{byte:08b}" for byte in entropy) + checksum
    return " ".join(known[int(bits[at : at + 11], 2)] for at in range(0, len(bits), 11))


VISA, MASTERCARD, AMEX, GITHUB = luhn("4", 16), luhn("53", 16), luhn("37", 15), github_token()
_SECRETS: list[Typed] = []


def _add(kind: str, *texts: str) -> None:
    _SECRETS.extend(Typed(kind, text) for text in texts)


_add(
    "provider",
    github_token(),
    "github_pat_11" + letters(20) + "_" + letters(59),
    "glpat-" + letters(20),
    "AKIA" + letters(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "AIza" + letters(35),
    "sk-ant-api03-" + letters(93) + "AA",
    "sk-proj-" + letters(48),
    "sk_live_" + letters(24),
    "rk_live_" + letters(24),
    "xoxb-" + letters(12, "0123456789") + "-" + letters(12, "0123456789") + "-" + letters(24),
    "xapp-1-A"
    + letters(10, "ABCDEFGHIJ0123456789")
    + "-"
    + letters(13, "0123456789")
    + "-"
    + letters(64, HEX),
    "npm_" + letters(36),
    "pypi-AgEIcHlwaS5vcmc" + letters(120),
    "hf_" + letters(34),
    "SG." + letters(22) + "." + letters(43),
    "dop_v1_" + letters(64, HEX),
    "shpat_" + letters(32, HEX),
    "dckr_pat_" + letters(27),
    "lin_api_" + letters(40),
    "ntn_" + letters(46),
    "figd_" + letters(40),
    "PMAK-" + letters(24, HEX) + "-" + letters(34, HEX),
    "glsa_" + letters(32) + "_" + letters(8, HEX),
    "hvs." + letters(90),
    "gsk_" + letters(52),
    "r8_" + letters(37),
    "tskey-auth-" + letters(12) + "CNTRL-" + letters(32),
    "sntrys_" + letters(60),
    "AC" + letters(32, HEX) + ":" + letters(32, HEX),
    "key-" + letters(32, HEX),
    letters(32, HEX) + "-us21",
    "EAACEdEose0cBA" + letters(80),
    "ya29." + letters(80),
    "1//0" + letters(60),
    "AQ" + "VD" + letters(70) + " (LinkedIn access token)",
    "sq0atp-" + letters(22),
    "EAAA" + letters(60) + " is our Square access token",
    "dapi" + letters(32, HEX),
    "CFPAT-" + letters(43),
    "phx_" + letters(43),
    "phc-not-" + "secret token: phx_" + letters(43),
    "nvapi-" + letters(64),
    "sk-or-v1-" + letters(64, HEX),
    "pplx-" + letters(48),
    "xai-" + letters(80),
    "fo1_" + letters(43),
    "FlyV1 fm2_" + letters(120),
    "rnd_" + letters(28),
    "vercel token: " + letters(24),
    "oauth:" + letters(30, "abcdefghijklmnopqrstuvwxyz0123456789"),
    "whsec_" + letters(32),
    "AGE-SECRET-KEY-1" + letters(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "nsec1" + letters(58, "qpzry9x8gf2tvdw0s3jn54khce6mua7l"),
    "EZAK" + letters(54),
    "secret-test-" + letters(28) + " is the API key",
)
_add(
    "aws",
    "aws_secret_access_key = " + base64_of(30),
    "AWS secret: " + base64_of(30),
    base64_of(30),
    "here is the secret access key " + base64_of(30),
    "AKIA" + letters(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") + " / " + base64_of(30),
)
_add(
    "card",
    VISA,
    grouped(VISA, "."),
    grouped(MASTERCARD, " "),
    grouped(MASTERCARD, "-"),
    grouped(VISA, "/"),
    grouped(VISA, "_"),
    "card " + VISA + " exp 12/27 cvc 123",
    grouped(MASTERCARD, " . "),
    AMEX[:4] + " " + AMEX[4:10] + " " + AMEX[10:],
    AMEX[:4] + "." + AMEX[4:10] + "." + AMEX[10:],
    ZERO_WIDTH.join(VISA),
    grouped(VISA, "\u00a0"),
    "".join(chr(0xFF10 + int(c)) for c in VISA),
    "".join(chr(0x0660 + int(c)) for c in MASTERCARD),
    " ".join(VISA),
    "My Visa is " + grouped(luhn("4", 16), " – "),
    grouped(luhn("62", 16), ","),
    "Karte: " + grouped(luhn("51", 16), "\u2009"),
)
_add(
    "crypto",
    wif(True),
    wif(False),
    "0x" + letters(64, HEX) + " is my private key",
    "ETH private key " + letters(64, HEX),
    "private key: 0x" + letters(64, HEX),
    "xprv9s21ZrQH143K" + letters(96, BASE58),
    words(12),
    words(24),
    words(12).upper(),
    ", ".join(words(12).split()),
    "\n".join(f"{i}. {w}" for i, w in enumerate(words(12).split(), 1)),
    "PrivateKey = " + base64_of(32),
    "[Interface]\nPrivateKey = " + base64_of(32) + "\nAddress = 10.0.0.2/32",
    "wg private key " + base64_of(32),
    "my solana secret key is " + letters(88, BASE58),
    "monero spend key " + letters(64, HEX),
)
_add(
    "pem",
    "-----BEGIN RSA PRIVATE KEY-----\n" + base64_of(200),
    "-----BEGIN OPENSSH PRIVATE KEY-----\n" + base64_of(100),
    "- - - - - BEGIN PRIVATE KEY - - - - -\n" + base64_of(100),
    "-----BEGIN ENCRYPTED PRIVATE KEY-----",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    "PuTTY-User-Key-File-2: ssh-rsa",
    b64encode(b"-----BEGIN PRIVATE KEY-----\nMIIEvQ").decode(),
    '{"type": "service_account", "private_key_id": "'
    + letters(40, HEX)
    + '", "private_key": "-----BEGIN PRIVATE KEY-----\\nMII"}',
    "-----BEGIN EC PRIVATE KEY-----MHcCAQEE" + base64_of(60),
    '{"kty":"RSA","n":"' + letters(40) + '","e":"AQAB","d":"' + letters(60) + '"}',
)
_add(
    "connection",
    "postgres://app:hunter2@db/prod",
    "mongodb+srv://u:p4ss@c0.example.net/x",
    "amqp://guest:guest@rabbit:5672",
    "redis://:s3cret@cache:6379",
    "Server=db;User Id=sa;Password=Hunter2!;",
    "host=db user=app password=hunter2",
    "jdbc:postgresql://db/x?user=app&password=hunter2",
    "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=" + base64_of(64),
    "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=" + base64_of(32),
    "mysql -u root -pHunter2 prod",
    "curl -u admin:hunter2 https://example.com",
    "sshpass -p hunter2 ssh me@host",
    "smtp://me%40example.com:app%20pw@smtp.example.com:587",
    "ftp://joe:joe123@files.example.com/",
    "Data Source=db;Initial Catalog=x;uid=sa;pwd=S3cret",
    "https://user:" + github_token() + "@github.com/o/r.git",
    "sqlserver://db:1433;user=sa;password=S3cret!",
    "PGPASSWORD=hunter2 psql -h db",
    "//registry.example.com/:_authToken=" + letters(36),
)
_add(
    "otpauth",
    "otpauth://totp/Example:me@example.com?secret=JBSWY3DPEHPK3PXP&issuer=Example",
    "OTPAUTH://hotp/x?secret=GEZDGNBVGY3TQOJQ&counter=0",
    "totp secret JBSW Y3DP EHPK 3PXP",
    "my 2fa seed: JBSWY3DPEHPK3PXP",
)
_add(
    "cookie",
    "Cookie: sessionid=" + letters(32, HEX),
    "Set-Cookie: connect.sid=s%3A" + letters(32) + "; HttpOnly",
    "PHPSESSID=" + letters(26, "abcdefghijklmnopqrstuv0123456789"),
    "JSESSIONID=" + letters(32, "0123456789ABCDEF"),
    "session cookie is " + letters(40),
    "csrftoken=" + letters(32) + "; sessionid=" + letters(32),
    "document.cookie gave auth_token=" + letters(48),
    "_gitlab_session=" + letters(32, HEX),
    "__Secure-next-auth.session-token=" + letters(60),
)
_add(
    "bearer",
    "Authorization: Bearer " + letters(40),
    "Bearer " + jwt(),
    jwt(),
    "Authorization: Basic " + b64encode(b"admin:hunter2").decode(),
    "X-Api-Key: " + letters(32),
    "authorization: token " + letters(40, HEX),
    "-H 'PRIVATE-TOKEN: " + letters(20) + "'",
    "Authorization: Bot " + letters(24) + "." + letters(6) + "." + letters(27),
)
_add(
    "hidden",
    split_by_zero_width(GITHUB),
    in_groups(GITHUB),
    " ".join(GITHUB),
    GITHUB[:10] + "\u00ad" + GITHUB[10:],
    GITHUB[:4] + "\n" + GITHUB[4:],
    GITHUB[:20] + "\u2060" + GITHUB[20:],
    "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in GITHUB),
    split_by_zero_width("AKIA" + letters(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
    in_groups("sk-ant-api03-" + letters(90), 12),
    "sk_live_ " + letters(24),
    "g h p _ " + letters(36),
    split_by_zero_width(jwt()),
    GITHUB[:4] + "…" + " " + GITHUB[4:],
    split_by_zero_width("postgres://app:hunter2@db/prod"),
    "ghp-" + " " + GITHUB[4:],
)
_add(
    "sentence",
    "my password is Sommer2024!",
    "The password is hunter2",
    "password: correcthorse",
    "pw=Tr0ub4dor&3",
    "pass: letmein99",
    "My PIN is 4711",
    "pin 0815 for the card",
    "the code is 482913, it came by sms",
    "OTP 193847",
    "my pw: qwerty!7",
    "Mein Passwort ist Sommer2024!",
    "Das Passwort lautet: Katze123",
    "Kennwort: Hund!99",
    "Meine PIN ist 4711",
    "Mon mot de passe est Soleil99",
    "mot de passe : azerty12",
    "Mi contraseña es Gato1234",
    "contraseña: hola99!",
    "La mia password è Estate24!",
    "A minha senha é Verao2024",
    "minha senha: abc12345",
    "Мой пароль Лето2024!",
    "пароль: qwerty99",
    "我的密码是Abc12345",
    "密码：abc123456",
    "パスワードは Neko1234 です",
    "내 비밀번호는 abcd1234 입니다",
    "Moje hasło to Lato2024!",
    "hasło: kotek99",
    "Mijn wachtwoord is Zomer24!",
    "Mitt lösenord är Sommar24",
    "Şifrem Yaz2024!",
    "şifre: kedi1234",
    "كلمة المرور: Qamar123",
    "כלמת: no; הסיסמה שלי היא Shemesh1",
    "Heslo je Leto2024!",
    "Moja lozinka je Ljeto2024",
    "Mano slaptažodis yra Vasara24",
    "Mana parole ir Vasara24",
    "رمز عبور من Tabestan24 است",
    "Salasanani on Kesa2024",
    "A jelszavam Nyar2024!",
    "Parola mea este Vara2024",
    "Ο κωδικός μου είναι Kalokairi24",
    "Kata sandi saya adalah Hujan123",
    "Mật khẩu của tôi là Hanoi2024",
    "รหัสผ่านของฉันคือ Bangkok99",
    "मेरा पासवर्ड है Dilli1234",
    "Мій пароль Літо2024!",
    "user: admin pass: S3cret!",
    "login admin / password hunter2!",
    "cvv 123",
    "My CVC is 321 and it expires 12/27",
    "security answer: Rex, my first dog",
    "seed phrase: apple banana cherry",
    "API key: " + letters(32, HEX),
    "secret=" + letters(24),
    "client_secret: " + letters(32),
    "token = " + letters(40),
    "My access token is " + letters(30),
    "DB_PASSWORD=correcthorse",
    "export API_TOKEN=" + letters(30),
    "wifi password: FRITZ!Box 7590 12345678901234567890",
    "Wi-Fi key 12345678901234567890",
    "unlock code 9876",
    'master password "Tr0ub4dor"',
    "the pass phrase is correct horse battery staple",
)
_add(
    "iban",
    "Konto " + iban("DE", "370400440532013000"),
    "account to charge: " + grouped(iban("GB", "NWBK60161331926819"), " "),
    "IBAN " + grouped(iban("FR", "20041010050500013M02606"), "."),
)


_ALPHABETS = {
    "alnum": ALPHABET,
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "lower": "abcdefghijklmnopqrstuvwxyz0123456789",
    "digit": "0123456789",
    "hex": HEX,
    "bech": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
    "BECH": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "base58": BASE58,
}
_SEPARATORS = {"space": " ", "dot": ".", "dash": "-", "colon": ":", "slash": "/", "thin": "\u2009"}


def filled(line: str) -> str:
    """A line of a file with its places filled: "ghp_‹alnum 36›"."""
    return re.sub("‹([^›]*)›", lambda found: _made(*found[1].split(" ")), line)


def _made(what: str, *how: str) -> str:
    if what in _ALPHABETS:
        text = letters(int(how[0]), _ALPHABETS[what])
        return " ".join(text) if how[1:] == ("spaced",) else text
    if what == "luhn":
        number = luhn(how[0], int(how[1]))
        if how[2:] == ("zero",):
            return ZERO_WIDTH.join(number)
        return grouped(number, _SEPARATORS[how[2]]) if how[2:] else number
    if what == "seed":
        return _seed(words(int(how[0])).split(), *how[1:])
    if what == "b64":
        return base64_of(int(how[0])).rstrip("=" if how[1:] == ("bare",) else "")
    made = {"wif": lambda: wif(True), "jwt": jwt, "iban": lambda: iban(*how), "uuid": _uuid}[what]()
    return split_by_zero_width(made) if how == ("zero",) else made


def _seed(phrase: list[str], how: str = "") -> str:
    if how == "numbered":
        return " ".join(f"{number}. {word}" for number, word in enumerate(phrase, 2))
    joined = (", " if how == "comma" else " ").join(phrase)
    return joined.upper() if how == "upper" else joined


def _uuid() -> str:
    digits = letters(32, HEX)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def secret_answers(half: Half) -> list[Typed]:
    """Answers that hold a secret."""
    if half in ("open", "held_back"):
        return list(_half(_SECRETS, half))
    answers, kind = [], ""
    for line in (DATA / f"answers_asking_{half}.txt").read_text("utf-8").split("\n"):
        if re.fullmatch(r"\[[a-z]+\]", line):
            kind = line[1:-1]
        elif line:
            answers.append(Typed(kind, filled(line)))
    return answers


def harmless_answers(half: Half) -> list[Typed]:
    """Answers that hold none."""
    files = "answers_harmless" if half in ("open", "held_back") else f"answers_harmless_{half}"
    lines = (DATA / f"{files}.txt").read_text("utf-8").split("\n")
    answers = [
        Typed("harmless", filled(line)) for line in lines if line and not re.fullmatch(r"\[[a-z]+\]", line)
    ]
    return list(_half(answers, half)) if half in ("open", "held_back") else answers


def _half(answers: list[Typed], half: Half) -> Iterator[Typed]:
    order = random.Random(32)
    for kind in dict.fromkeys(each.kind for each in answers):
        mine = [each for each in answers if each.kind == kind]
        order.shuffle(mine)
        yield from mine[: len(mine) // 2] if half == "open" else mine[len(mine) // 2 :]
