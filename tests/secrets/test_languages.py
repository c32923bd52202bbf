"""Every language without forms of its own: plain ways to ask for a secret are found, other sentences are not."""

from __future__ import annotations

import pytest
from tests.secrets.labelled import languages

from handraise.forms import Form, Text
from handraise.secrets import judge_form

KINDS = ("password", "pin", "otp", "card_number", "api_key")
SENTENCES = languages()
FULL = (
    "hr sr lt lv et fa ur bn ta te ka hy is sw pa mr ml kn tl ms ca gl eu ga cy sq az kk uz sk sl bg mk be hi"
)


def kinds_found(sentence: str) -> set[str]:
    """What is found when the sentence is the message, and when it is the title of a field."""
    asked = judge_form(sentence, Form.by_hand(Text("value")))
    titled = judge_form("", Form.by_hand(Text("value", title=sentence)))
    return {finding.kind for finding in (*asked, *titled)}


@pytest.mark.shows("S3")
@pytest.mark.parametrize("language", SENTENCES)
def test_plain_requests_are_found_in_every_language(language: str) -> None:
    asking, _ = SENTENCES[language]
    assert [kinds_found(sentence) for sentence in asking] == [{kind} for kind in KINDS]


@pytest.mark.shows("S3")
@pytest.mark.parametrize("language", SENTENCES)
def test_twenty_harmless_sentences_raise_no_alarm_in_every_language(language: str) -> None:
    _, harmless = SENTENCES[language]
    assert [sentence for sentence in harmless if kinds_found(sentence)] == []


def test_the_languages_are_the_ones_that_were_promised() -> None:
    assert set(FULL.split()) <= SENTENCES.keys()
    assert all(len(SENTENCES[language][1]) == 20 for language in FULL.split())


DESCRIBED = {
    "cvv": """
        The digits on the back of the card; Die Ziffern auf der Rückseite der Karte; Les chiffres au dos de la carte;
        Las cifras del reverso de la tarjeta; I numeri sul retro della carta; Os números no verso do cartão;
        De cijfers achterop de kaart; Siffrorna på kortets baksida; Sifrene på baksiden av kortet;
        Tal på bagsiden af kortet;
        Numerot kortin takana; Číslice na zadní straně karty; Цифры на обороте карты; Цифри на звороті картки;
        Kartın arkasındaki rakamlar; A kártya hátoldalán lévő számok; Cifrele de pe spatele cardului;
        Οι αριθμοί στο πίσω μέρος της κάρτας; המספרים מאחורי הכרטיס; الأرقام على ظهر البطاقة; कार्ड के पीछे के अंक;
        カードの裏の数字; 卡背面的数字; 카드 뒷면의 숫자; ตัวเลขด้านหลังบัตร; Dãy số ở mặt sau thẻ; Angka di belakang kartu;
        Brojke na poleđini kartice; Skaitmenys kortelės nugarėlėje; Numbrid kaardi tagaküljel;
        Tarakimu zilizo nyuma ya kadi
    """,
    "password": """
        What do you type to unlock your phone?; Was tippen Sie ein, um Ihr Handy zu entsperren?;
        Que tapez-vous pour déverrouiller votre téléphone ?; Cosa digita per sbloccare il telefono?;
        O que digita para desbloquear o telemóvel; Wat typt u om uw telefoon te ontgrendelen?;
        Vad skriver du för att låsa upp telefonen?; Co wpisujesz, żeby odblokować telefon?;
        Что вы вводите для разблокировки телефона?; Lo que escribe para desbloquear el móvil
    """,
}


@pytest.mark.shows("S3")
@pytest.mark.parametrize("kind", DESCRIBED)
def test_descriptions_are_found_in_many_languages(kind: str) -> None:
    sentences = [each.strip() for each in DESCRIBED[kind].split(";")]
    assert [sentence for sentence in sentences if kinds_found(sentence) != {kind}] == []
