"""What one text mentions, and how."""

from __future__ import annotations

from time import thread_time

import pytest

from handraise.secrets.reading import read


def kinds(text: str) -> set[str]:
    return {mention.kind for mention in read(text).mentions}


@pytest.mark.parametrize(
    "text",
    [
        "The user whose password expired",
        "Where the API key is stored",
        "Who knows the Wi-Fi password?",
        "Why do you need a new API key?",
        "Give the API key a name",
        "パスワードをリセットするユーザー",
        "Benutzer, dessen Passwort zurückgesetzt wird",
    ],
)
def test_a_secret_mentioned_in_passing_raises_no_alarm(text: str) -> None:
    assert not kinds(text)


def test_a_word_means_what_it_means_in_the_language_of_the_text() -> None:
    assert kinds("Gebruikersnaam of wachtwoord") == {"password"}  # "of" is "or"
    assert not kinds("Name of the password")
    assert kinds("Yeni şifre") == {"password"}


def test_an_and_starts_a_new_noun() -> None:
    assert kinds("Name and password") == {"password"}
    assert kinds("اسم المستخدم وكلمة المرور") == {"password"}


def test_a_limit_on_the_value_is_no_other_noun() -> None:
    assert kinds("Password min 8 characters") == {"password"}
    assert not kinds("Password minimum length")


def test_an_example_in_brackets_goes_with_what_it_explains() -> None:
    assert not kinds("Token format (JWT or opaque)")


def test_enter_it_here_asks_for_what_was_named_before() -> None:
    [mention] = read("We sent you a one-time code. Enter it here.").mentions
    assert mention.asked


def test_a_text_without_words_names_nothing() -> None:
    assert read("").generic
    assert read("…!?").generic
    assert read("value").generic
    assert not read("region").generic


@pytest.mark.slow
@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    "unit",
    [
        "password ",
        "api key of the ",
        "a",
        "a b ",
        "пароль,",
        "密码",
        "p@$",
        "мот ",
        "1 ",
        ". ",
        "not ",
        "clé de l'",
        "\u200b",
        "\u0301",
        "Passwort",
        "sk-",
        "://a:b",
        "-----BEGIN ",
        "كلمة ",
    ],
)
def test_a_long_text_is_read_in_linear_time(unit: str) -> None:
    def seconds(characters: int) -> float:
        text = (unit * (characters // len(unit) + 1))[:characters]
        started = thread_time()
        read(text)
        return thread_time() - started

    seconds(1_000)
    assert seconds(64_000) < max(40 * min(seconds(4_000), seconds(4_000)), 2.0)
