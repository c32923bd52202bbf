"""Passwords in addresses, in the commands and files that connect to something, and beside a user's name."""

from __future__ import annotations

import re
from typing import Final

from handraise.secrets.told import is_real

_URL_LOGIN: Final = r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@?#]{0,100}:([^\s/@?#]{1,200})@[^\s/@]"
_LOGIN_PAIR: Final = r"(?i)(?<![a-z])(?:password|passwd|pwd|accesskey)\s{0,3}=\s{0,3}([^;&\s]{3,200})"
_HOST_PAIR: Final = (
    r"(?i)(?<![a-z])(?:host|server|data source|user id|uid|user|username|database|dbname|initial catalog"
    r"|jdbc:\w{2,20}:)\s{0,3}[=/]"
)
_COMMANDS: Final = (
    r"\b(?:curl|curlie)\b.{0,200}\s(?:-u|--user|-U|--proxy-user)[ =]?['\"]?[^\s:'\"]{1,60}:([^\s'\"]{1,100})"
    r"|\b(?:https?|xh)\s(?:.{0,80}\s)?(?:-a|--auth)[ =]['\"]?[^\s:'\"]{1,60}:([^\s'\"]{1,100})",
    r"\b(?:mysql|mariadb)[\w-]{0,12}\b.{0,100}\s-p([^\s-]\S{2,60})|\bsshpass\s{1,3}-p\s{0,3}(\S{3,60})",
    r"\b(?:mongosh|mongo|mongodump|mongorestore|cqlsh|arangosh|oc|influx|nodetool|ipmitool|wbadmin"
    r"|mosquitto_(?:pub|sub))\b"
    r".{0,200}\s-[pP][ =]?['\"]?(?!\d{1,5}\b|-)([^\s'\"]{4,100})",
    r"\b(?:docker|podman|helm|az|nerdctl|buildah|skopeo|crane|oras|acr|gh|cf|ibmcloud)\b"
    r".{0,60}\blogin\b.{0,160}"
    r"\s-p[ =]?['\"]?([^\s'\"]{3,100})",
    r"\b(?:sqlcmd|bcp|osql|impala-shell|ttisql)\b.{0,160}\s-P ?['\"]?([^\s'\"]{3,60})",
    r"\b(?:zip|unzip)\b.{0,60}\s-P ?['\"]?([^\s'\"]{4,60})|\b(?:7za?|rar|unrar)\b.{0,60}\s-p['\"]?("
    r"[^\s'\"]{4,60})",
    r"\bldap(?:search|add|modify|passwd|whoami|delete)\b.{0,160}\s-w ?['\"]?([^\s'\"]{3,60})",
    r"\bsnmp\w{3,8}\b.{0,100}\s-[AX] ?['\"]?([^\s'\"]{4,60})",
    r"\b(?:smbclient|rpcclient|smbmap|net)\b.{0,100}\s-U ?['\"]?[^\s%'\"]{1,60}%([^\s'\"]{3,60})",
    r"(?i)\bnet use\b.{0,80}?\s((?!\\)[^\s:/\\]{4,60}) /user:|\bnet user \S{1,60} ([^\s/]{4,60}) /add\b",
    r"\b(?:isql|connect|sqlplus|rlwrap sqlplus)\s{1,3}[^\s/]{1,60}/([^\s@]{3,60})@"
    r"|\bisql \S{1,40} \S{1,40} (\S{4,60})",
    r"\brabbitmqctl (?:add_user|change_password) \S{1,60} ['\"]?([^\s'\"]{3,60})",
    r"\bredis-cli\b.{0,200}\s(?:-a|--pass)[ =]?['\"]?(\S{3,60})"
    r"|\b(?:requirepass|masterauth)\s{1,3}(\S{6,100})|\bAUTH (?=\S{0,99}\d)([A-Za-z0-9]{12,100})(?!\S)",
    r"\bopenssl\b.{0,160}\s(?:-k|-K|-pass(?:in|out|word)?(?: pass:)?)\s?['\"]?(?!pass:)("
    r"[^\s'\"]{4,80})|-pass(?:in|out)? pass:([^\s'\"]{4,80})",
    r"\s--?(?:(?:http-|ftp-|proxy-|db-|admin-|root-|user-)?pass(?:word|wd|phrase)?|(?:src|dest)?"
    r"(?:store|key)pass)(?:=| (?=\S{0,99}[\d!$%&?#]))"
    r"['\"]?([^\s'\"-][^\s'\"]{2,100})",
    r"--from-literal=['\"]?[\w.-]{0,40}(?i:pass|secret|token|key|pwd)[\w.-]{0,20}=([^\s'\"]{3,100})",
    r"_authToken\s{0,3}=\s{0,3}([\w.-]{16,})|\"auth\"\s{0,3}:\s{0,3}\"([A-Za-z0-9+/]{16,}={0,2})\"",
    r"\b(?:machine|default)\b.{0,100}?\blogin\s{1,3}\S{1,100}\s{1,3}password\s{1,3}(\S{3,200})",
    r"\bjdbc:oracle:\w{2,6}:[^\s/]{1,60}/([^\s/@]{3,60})@",
    r"(?i)\b(?:enable|username \S{1,40}(?: privilege \d{1,2})?) (?:password|secret)(?: \d)?"
    r" (?=\S{0,99}\d)(\S{4,100})",
)
"""Commands that take a password, and files that keep one."""
_FILE_LINES: Final = (
    r"(?<!\S)[\w.*-]{1,60}:(?:\d{2,5}|\*):[\w.*-]{1,60}:[\w.*-]{1,60}"
    r":(?=\S{0,99}[G-Zg-z!$%&?#])([^\s:]{4,100})(?!\S)"
)
"""A line of `.pgpass`."""
_HASHED: Final = (
    r"(?<![\w:])[\w.-]{1,40}:(?:\$(?:apr1|1|2[abxy]|5|6|7|y|argon2\w{1,2})\$[^\s$]\S{7,200}"
    r"|\{S?SHA\d{0,3}\}\S{20,120})"
    r"|\b(?:enable )?(?:password|secret) [5789] \$\d{1,2}\$\S{8,120}"
)
"""Lines of `.htpasswd` and `/etc/shadow`, and settings of a router. What they keep can be guessed from."""
_MARKED: Final = (
    r"(?i)<(?:\w{1,20}:)?(?:\w{0,20}password|pwd|passwd|passphrase|secret|api_?key|token)>(?=[^<]{0,200}[\d!$%&#])([^<\s]{4,200})</"
    r"|[\"'](?:pass(?:word|wd|phrase)?|pwd|client_?secret|secret|shared_secret"
    r"|totp_secret)[\"']\s{0,3}:\s{0,3}"
    r"[\"'](?=[^\"']{0,60}\d)([^\"'\s]{4,300})[\"']"
)
"""XML and JSON."""
_WIFI: Final = (
    r"\bWIFI:(?:[A-Z]:[^;\n]{0,64};){0,4}P:([^;\s]{4,64});"
    r"|\b(?:psk|wpa_passphrase)\s?=\s?[\"']?([^\s\"']{8,63})"
    r"|(?i:\b(?:wi-?fi|wlan|ssid|hotspot)\b)[^\n]{1,40}?(?i:\bkey|schlüssel|clé|clave|chiave|klucz"
    r"|ключ)\W{1,3}"
    r"((?=\S{0,99}\d)(?=\S{0,99}[A-Za-z])\S{8,63})"
    r"|(?i:\b(?:wi-?fi|wlan|hotspot)\b)[^\n/|]{1,40}?\s[/|]\s((?=\S{0,99}\d)(?=\S{0,99}[A-Za-z])(?!\S{0,99}-)[^\s./]{8,63})"
)
"""What the QR code of a wireless network says, its settings, and its name beside its key."""
_SERVICES: Final = (
    r"netflix|disney\+?|spotify|hulu|hbo|prime|steam|psn|xbox|icloud|gmail|outlook|instagram|facebook"
    r"|paypal|amazon"
    r"|log ?in|account|konto|compte|cuenta|conta|logowanie|вход|логин"
)
_USER_AND_ANOTHER: Final = (
    r"(?i)\b(?:log ?in|sign ?in|user(?:name)?|account|credentials?|anmeldung|benutzer|utilisateur"
    r"|insta(?:gram)?|netflix|spotify|disney\+?|steam|icloud|gmail"
    r"|usuario|utente)\b"
    r"[^\n]{0,30}?\s\S{2,60}\s{0,2}[/|]\s{0,2}((?=\S{0,99}\d)(?=\S{0,99}[A-Za-z])(?=\S{0,99}[!$%&?*#^~+=])\S{6,40})"
    r"|(?<![\w/.-])(?:root|admin(?:istrator)?|sa|postgres|ubuntu|pi)\s{1,2}[/"
    r"|]\s{1,2}((?=\S{0,99}\d)(?=\S{0,99}[A-Za-z])"
    r"[^\s/|:]{6,40})"
    r"|\A(?:root|admin(?:istrator)?|sa|postgres|guest|pi)[/:|]((?=\S{0,99}\d)(?=\S{0,99}[A-Za-z])[^\s/|:.]{5,40})\Z"
    r"|[\w.+-]{1,60}@[\w.-]{3,60}\s{0,2}[/|]\s{0,2}((?=\S{0,99}\d)(?=\S{0,99}[A-Za-z])[^\s/|]{6,40})"
    r"|[\w.+-]{1,60}@[\w.-]{3,60}(?:\s?[:;]\s"
    r"|[:;](?=\S{0,99}[!$%&?*#^~+=]))((?=\S{0,99}\d)[^\W\d_][^\s/|:@.]{5,40})(?!\S)"
    rf"|\b(?:{_SERVICES})\W{{1,3}}[\w.+-]{{1,60}}@[\w.-]{{3,60}},?\s((?=\S{{0,99}}\d)[^\W\d_][^\s/"
    rf"|:@]{{6,40}})(?=[\s.,]*\Z)"
    r"|\b(?:log ?in|tns\w{0,6}|oracle|conn(?:ect)?)\W[^\n]{0,20}?(?<![\w/])[\w$]{2,30}/((?=\S{0,99}\d)"
    r"[^\s/@]{4,60})@[\w./:-]{2,}"
    r"|(?<![\w/:.@])(?!mailto|acct|sips?|xmpp)[\w.-]{2,30}:((?=\S{0,99}\d)[^\s:@/]{6,60})@[\w-]{1,60}(?:\.\w|:\d)"
)


def holds_connection_string(text: str) -> bool:
    """Whether a password stands in an address, a command, a line of a file, or beside a user's name."""
    patterns = (_URL_LOGIN, *_COMMANDS, _FILE_LINES, _MARKED, _USER_AND_ANOTHER, _WIFI)
    if any(any_real(pattern, text) for pattern in patterns) or re.search(_HASHED, text):
        return True
    return any_real(_LOGIN_PAIR, text) and re.search(_HOST_PAIR, text) is not None


def holds_url_password(text: str) -> bool:
    """Whether the text holds a URL with a password in it."""
    return re.search(_URL_LOGIN, text) is not None


def any_real(pattern: str, text: str) -> bool:
    """Whether a secret that the pattern finds is more than a placeholder."""
    return any(
        is_real(next((group for group in found.groups() if group), found[0]))
        for found in re.finditer(pattern, text)
    )
