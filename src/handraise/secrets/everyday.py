"""Secrets of every day that the words around them tell: locks, patterns, codes that were sent."""

from __future__ import annotations

import re
from typing import Final

from handraise.secrets.finding import CALLED
from handraise.secrets.told import Found

_CODE: Final = (
    r"(?<!postal )(?<!post)(?<!post )(?<!zip )(?<!error )(?<!product )(?<!color )(?<!colour"
    r" )(?<!dress )(?<!promo )(?:code|pin|kod(?:e|en|u|ot)?|koodi|kood|kód\w{0,3}|koda|codul|codice"
    r"|c[oó]digo|codi"
    r"|cod|digicode|combo|combination"
    r"|combinación|combinaison|combinazione|combinação|kombination|zahlenkombination|szyfr|комбинация"
    r"|код|шифр|κωδικός)"
)
_DOOR: Final = (
    r"door|gate|garage|alarm|safe|locker|lock|padlock|lockbox|key ?box|key ?safe|keypad|building"
    r"|entrance|intercom|shed"
    r"|haust[üu]r|t[üu]r|tor|tresor|schloss|schließfach|gartentor|eingang|alarmanlage|zahlenschloss"
    r"|schlüsselkasten"
    r"|porte|portail|immeuble|coffre|cadenas|interphone|entrée|digicode|alarme|casier"
    r"|puerta|portal|caja fuerte|candado|alarma|garaje|taquilla|cancello|portone|cassaforte|lucchetto"
    r"|allarme"
    r"|porta|portão|cofre|cadeado|garagem|bramy|drzwi|furtki|domofonu|sejfu|alarmu|kłódki|klatki|garażu"
    r"|deur|poort|kluis|hek|dörren?|porten?|kassaskåpet?|døren?|pengeskab|låsen?|oven|portin"
    r"|hälyttimen|kassakaapin"
    r"|двер\w{1,3}|домофон\w{0,2}|ворот\w{0,2}|сейф\w{0,2}|подъезд\w{0,2}|сигнализаци\w{1,2}|замк\w{1,2}"
    r"|kapı\w{0,4}|kasa\w{0,3}|kapu|széf|riasztó|vrata|kapije|sefa?|dveř\w{1,3}|trezoru?|brány|ușă"
    r"|ușii|interfon|seif|hälytysjärjestelm\w{1,3}|συναγερμ\w{1,3}|πόρτα\w?|cửa|điện thoại"
)
_OPENED: Final = r"\d{4,8}(?:[A-Z]|[#*])?|\d{2,3}[A-D]\d{2,3}|\d{1,2}(?:[- ]\d{1,2}){2,5}"
_NO_AMOUNT: Final = (
    r"(?![\w€$£%#*-]|[.,:/]\d|\s?(?:€|\$|£|%|eur|usd|gbp|chf|zł|pln|kč|kr|руб|mm|cm|km|kg|pm|am|h\b"
    r"|uhr|people|units|days))"
)
_LOCKS: Final = (
    rf"(?i)\b(?:{_CODE})\b[^\d\n.!?]{{1,30}}\b(?:{_DOOR})\b[^\d\n.!?]{{0,12}}(?<![\d.,:/])(?!(?:19"
    rf"|20)\d\d\b)({_OPENED}){_NO_AMOUNT}",
    rf"(?i)\b(?:{_DOOR})[ -](?:{_CODE})(?:['’]s| is| ist| on| är| er| je| to| jest| este| είναι|:| =)?"
    rf" ?(?!(?:19|20)\d\d\b)({_OPENED}){_NO_AMOUNT}",
    rf"(?i)\b(?:padlock|lockbox|key ?box|key ?safe|keypad|bike lock|luggage lock|locker"
    rf"|schlüssel(?:box|tresor|safe)|boîte à clés|caja de llaves|cassetta delle chiavi|sleutelkluis"
    rf"|nyckelskåp|nøkkelboks)\b"
    rf"[^\d\n.!?]{{1,20}}(?<![\d.,:/])"
    rf"(?!(?:19|20)\d\d\b|(?:[01]\d|2[0-3])(?:00|15|30|45)\b)({_OPENED}){_NO_AMOUNT}",
    r"(?i)\b(?:enter|type|press|dial|punch in|key in|tippe|tape[rz]?|marque|digita|wpisz"
    r"|введите?)\s(\d{4,8})[#*]?\s"
    r"[^\d\n.]{0,30}\b(?:keypad|panel|disarm|alarm|gate|door|button|unlock|hash|star|raute|dièse)\b",
    rf"(?i)\b(?:unlock(?:ing)? code|mã (?:mở khóa|cửa))\b[^\d\n.]{{0,24}}(?!(?:19|20)\d\d\b)({_OPENED}){_NO_AMOUNT}",
    r"(?i)\b(?:airbnb|check-?in|flat|apartment|unit|locker|storage|carte|card|karte|tarjeta|floor"
    r"|door|stairs|entrance|gate)\b"
    rf"[^\n.]{{0,16}}[,:;]\s(?:the )?code (?:is )?(?!(?:19|20)\d\d\b)(\d{{4,6}}[#*]?){_NO_AMOUNT}",
    rf"(?i)\b(?:{_CODE})\b[^\d\n.]{{1,16}}\b(?:carte|karte|tarjeta|carta|cartão|karty|kort\w{{0,2}}"
    rf"|card|bancomat|cajero)\b"
    rf"[^\d\n.]{{0,8}}(?<!\d)(?!(?:19|20)\d\d\b)(\d{{4}}){_NO_AMOUNT}",
    r"(?i)\bpuk\d?\b\W{1,3}(?:is )?\d{8}\b",
    r"(?i)\b(?:locks?|luggage|suitcase|case|koffer|valise|maleta)\b[^\d\n.!?]{0,20}\bset (?:to|at)"
    r" (\d{3,6})\b",
    r"(?i)\bcombin?(?:o|ation)\b[^\n]{0,24}?(?<![\d.,:/-])(\d{1,2}-\d{1,2}(?:-\d{1,2}){1,4})(?![\w-]"
    r"|\s?(?:mg|ml|mm|cm|g)\b)",
    r"(?i)\b(?:(?:turn |then )?(?:left|right|clockwise|anti-?clockwise|links|rechts|gauche|droite"
    r"|izquierda|derecha|destra"
    r"|sinistra)(?: to| auf| à| a)?\s\d{1,2}\W{1,3}(?:then |and )?){2,}",
    r"(?i)\b(?:safe|dial|combination|lock|tresor|coffre)\b[^\n]{0,24}?"
    r"(?:\b\d{1,2} (?:left|right|links|rechts)\W{1,3}){2,}",
    r"(?i)\b(?:garage|gate|alarm|door)\b\W{1,3}(?!(?:19|20)\d\d\b)(\d{4,6})(?:[#*]|,?\s(?:and"
    r"|then)\s(?:enter|ok|hash|star|pound))",
)
_DRAWN: Final = (
    r"(?i)(?:\bunlock|\block|\bphone|\btablet|\bscreen|\bswipe|\bdots|handy|entsperr|\A(?:my"
    r" )?pattern|déverrouill"
    r"|desbloque|odblok|графический)(?=[^\n]{0,80}?(?<![\d.])([1-9])(?:["
    r" ,>→-]{1,3}(?!\1)[1-9]){3,8}(?![\w.]|[-,/]\d))"
    r"[^\n]{0,40}?(?:pattern|swipe|\bdots|muster|schéma|patrón|wzór|desenho|графический|\d)",
    r"(?i)\b(?:draw|swipe|trace)\b[^\n.]{0,40}\b(?:lock ?screen|unlock|dots|phone)\b[^\n]{0,40}\b"
    r"(?:left|right|up|down|corner)\b",
)
_SENT: Final = (
    r"(?i)\b(?:sent|texted|messaged|e-?mailed) me\s(?:(?:a|the) code\W{1,3}|just now\W)?\d{3}[ -]?\d{3}"
    rf"{_NO_AMOUNT}(?!\s[a-z]+s\b)",
    r"(?i)\b(?:okta|duo|authy|authenticator|verify|key ?fob|token)\b[^\d\n]{0,20}\b(?:gave|shows?"
    r"|showing|says)\s"
    rf"(?:me\s)?(?:\d{{1,4}}\W{{1,5}}no wait )?\d{{3}}[ -]?\d{{3}}{_NO_AMOUNT}(?!\s[a-z]+s\b)",
    r"(?i)\b(?:got|received|came|habe|reçu|recibí|ricevuto|recebi|dostał[ae]m|получил[аи]?)\b"
    r"[^\d\n.]{0,16}\d{3}[ -]?\d{3}\b"
    r"[^\d\n]{0,16}\b(?:by|via|per|par|por|as a|на|sms-?em|přes) ?(?:text|sms|txt|e-?mail|whatsapp|смс)",
    r"(?i)\b(?:telegram|whatsapp|signal|okta|duo|authy|google|microsoft|apple|steam|discord|log-?in"
    r"|bank(?:id)?|viber|wechat)"
    r"(?: verify| id| guard)? code\W{1,3}(?:is )?\d{3}[ -]?\d{2,5}\b",
    r"\b[Ss]team [Gg]uard(?: code)?\W{1,3}(?:is )?[A-Z0-9]{5}\b",
    r"(?i)(?<![\w.,-])\d{3}[ -]?\d{3}\s?(?:is|ist|est|es|è|é|to|=|–|—|-)\s(?:the|your|my|our|dein|ihr"
    r"|mein|votre|mon|le|tu|mi|el"
    r"|su|il|tuo|mio|o|seu|meu|twój|mój)\b(?![^\n]{0,24}\b(?:postal|zip|product|error|area|order"
    r"|country|bar|colou?r|item|promo"
    r"|discount|article|booking|tracking|source)\b)[^\d\n.]{0,24}"
    r"(?:code|otp|tan|código|codice|kod|passcode)\b",
    r"(?i)\b(?:key ?fob|rsa token|securid|hardware token|fob)\b(?: \w{1,5}){0,2}\W{1,3}\d{6}\b|\bit"
    r" (?:says|shows) \d{3} \d{3} now\b",
    r"(?i)\byubi\w{1,6}\b[^\n]{0,20}\b[a-z0-9]{32,48}\b",
    r"(?i)\b(?:backup|recovery|emergency|rescue|scratch)[ -]codes?\W{1,3}(?:is"
    r" )?(?=[a-z-]*\d)[a-z0-9]{4,6}[ -](?=[a-z]*\d|\w*\d)"
    r"[a-z0-9]{4,6}(?![\w-])",
    r"(?i)\bblik\w{0,3}\b[^\d\n]{0,16}\d{3} ?\d{3}\b",
)
_ANSWERED: Final = (
    r"(?i)\b(?:m[ou]ther|m[ou]m)['’]?s maiden name\b,?(?:\s(?:is|was)|\s?[:=-])\s?"
    r"(?!(?:an?|the|not|no|required|asked|missing|optional|never|often|still|used|what|one|on|in"
    r"|my)\b)\w{2,}",
    r"(?i)\b(?:mädchenname (?:meiner|der) mutter (?:ist|war|lautet)|nom de jeune fille de ma mère "
    r"(?:est|était|c'est)"
    r"|apellido de soltera de mi madre (?:es|era)|cognome da nubile di mia madre (?:è|era)|nome de"
    r" solteira da minha mãe (?:é|era)"
    r"|nazwisko panieńskie (?:mojej )?matki(?: to)?|девичья фамилия (?:моей )?матери)\W{1,3}\w{2,}",
    r"(?i)\b(?:security|secret) question\b(?:'s)? answer\s?(?:is|was|:|=|->|→)\s?(?!(?:wrong|right"
    r"|missing|not|required|unknown|case|in)\b)\S{3,}",
    r"(?i)\b(?:that's|this is|is|it's) (?:my |the )?answer (?:to|for|of) (?:the|my|that) (?:security"
    r"|secret) question",
    r"(?i)\banswer (?:to|for|of) (?:the|my|that) (?:security|secret) question\W{0,2}\s?(?:is|was|:|="
    r"|would be)\s?\S{3,}",
)
_WORD_AND_DIGITS: Final = (
    r"([^\W\d_]{4,24}[-_.]?\d{2,4}[!#$%&*?+]{0,3}|[^\W\d_]{4,24}[!#$%&*?+_]{1,2}\d{1,4}[!?]?)"
)
_PRODUCTS: Final = (
    r"(?i)(?:office|windows|win|word|excel|chrome|firefox|version|room|route|python|java|area|studio"
    r"|server|agent|level)\W?\d+"
)
_OPENS_WITH: Final = (
    r"(?i)\b(?:log(?:s|ged|ging)?[ -]?(?:in|on|into \S{1,30})|sign(?:s|ed)?[ -]?in|unlock(?:s|ed)?(?:"
    r" (?:it|this|that|my \w{2,12}"
    r"|the \w{2,12}))?|opens?(?: (?:it|up))?|decrypt(?:s|ed)?(?: it)?|get in(?:to \S{1,10}"
    r" ?\S{0,12})?) (?:with|using|by typing|type)"
    rf" [\"'“]?{_WORD_AND_DIGITS}(?!\w)",
    rf"(?i)\b(?:melde mich mit|einloggen mit|logge mich mit|entsperre \w{{2,10}} mit|me connecte avec"
    rf"|entro con|accedo con|loguję się)"
    rf" [\"'“]?{_WORD_AND_DIGITS}(?!\w)",
    rf"(?i)\b(?:use|type|enter|try|tippe|nimm|tape|usa|wpisz|введи)\b:? [\"'“]?{_WORD_AND_DIGITS}[\"'”]? "
    r"(?:to|and you(?:'re| are)|um|pour|para|per|żeby|чтобы) (?:get in|log ?in|log ?on|sign ?in"
    r"|unlock|in\b|open it|dich anzumelden"
    r"|reinzukommen|entrer|entrar|entrare|wejść|войти)",
    rf"(?i)(?<!\w){_WORD_AND_DIGITS}[\"'”]? (?:is what (?:I|we|you) (?:log|sign|type|use|get)|gets you"
    rf" (?:in|into)|unlocks it|opens it)",
    r"(?i)\bpass(?:word|wd)?\b[^\n=:]{0,24}[=:]\s?([^\W\d_]{4,24}\d{1,4}[!#$%&*?+]{1,3})(?!\w)",
    r"(?i)\A(?:my )?(?:laptop|computer|pc|macbook|notebook|tablet|router|bitwarden|keepass"
    r"|1password)\W{1,3}"
    r"([^\W\d_]{4,24}\d{1,4}[!#$%&*?+]{1,3})\Z",
)
_ON_THE_BACK: Final = (
    r"(?i)\b(?:digits?|numbers?|figures|code|ziffern|zahlen|chiffres|cifras|números|cifre|numeri"
    r"|cyfry|цифры|número|nummer)\b[^\d\n.]{0,24}"
    r"\b(?:back|reverse|strip|rückseite|hinten|dos|verso|reverso|detrás|dorso|retro|atrás|tyłu"
    r"|odwrocie|обороте|обратной)\b"
    r"[^\d\n.]{0,16}(?<![\d.])\d{3,4}(?![\w%€$]|[.,:/-]\d|\s?(?:pages|people|times|mm|cm))",
)
_GROUPS: Final = (
    ("cvv", _ON_THE_BACK),
    ("pin", _LOCKS),
    ("password", _DRAWN),
    ("otp", _SENT),
    ("security_answer", _ANSWERED),
)


def everyday_in(text: str) -> Found | None:
    """A code, a pattern, an answer or a password that the words beside it tell."""
    for kind, patterns in _GROUPS:
        if any(re.search(pattern, text) for pattern in patterns):
            return Found(kind, CALLED[kind], "the words beside it say what it is for")
    for pattern in _OPENS_WITH:
        if any(not re.fullmatch(_PRODUCTS, found[1]) for found in re.finditer(pattern, text)):
            return Found("password", CALLED["password"], "the words beside it say what it opens")
    return None
