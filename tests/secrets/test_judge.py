"""Whether a form asks for a secret: on labelled sets, and rule by rule."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.secrets.labelled import DATA, Labelled, open_examples, own_forms, own_phrases, score

from handraise.errors import SecretInForm
from handraise.forms import Choice, Choices, Flag, Form, Integer, Number, Text, parse_form
from handraise.revisions import Revision
from handraise.secrets import judge_form, require_no_secrets

LANGUAGES = sorted(path.stem for path in (DATA / "forms").glob("*.json"))


@pytest.fixture(scope="module")
def forms() -> list[Labelled]:
    return own_forms()


def kinds(message: str, *fields: Text | Integer | Number | Flag | Choice | Choices) -> dict[str | None, str]:
    return {found.field: found.kind for found in judge_form(message, Form.by_hand(*fields))}


@pytest.mark.shows("S1", "S3")
def test_nothing_is_wrong_on_the_open_examples() -> None:
    for each in open_examples():
        found = each.judge()
        assert {finding.field for finding in found} == each.secret_fields, each.id
        assert {finding.tier for finding in found} == ({each.tier} if each.tier else set()), each.id


@pytest.mark.shows("S1", "S3")
def test_own_forms_meet_the_bars(forms: list[Labelled]) -> None:
    result = score(forms)
    assert len(forms) >= 400
    assert result.recall >= 0.95, result.missed
    assert result.false_alarms <= 0.03, result.alarmed


@pytest.mark.shows("S3")
def test_there_are_forms_in_every_language() -> None:
    assert len(LANGUAGES) >= 25


@pytest.mark.shows("S3")
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_meets_the_bars(forms: list[Labelled], language: str) -> None:
    mine = [each for each in forms if each.language == language]
    result = score(mine)
    assert len(mine) >= 12
    assert result.recall >= 0.95, result.missed
    assert result.false_alarms <= 0.03, result.alarmed


@pytest.mark.shows("S3")
def test_titles_and_messages_meet_the_bars() -> None:
    result = score(own_phrases())
    assert result.recall >= 0.95, result.missed
    assert result.false_alarms <= 0.03, result.alarmed


@pytest.mark.shows("S2")
def test_national_ids_are_found_as_the_second_tier(forms: list[Labelled]) -> None:
    asking = [each for each in forms if each.tier == 2]
    missed = [each.id for each in asking if not any(finding.tier == 2 for finding in each.judge())]
    assert len(asking) > 50
    assert not missed


def test_the_field_that_asks_is_the_one_that_is_named(forms: list[Labelled]) -> None:
    asking = [each for each in forms if each.tier]
    wrong = [each.id for each in asking if {finding.field for finding in each.judge()} != each.secret_fields]
    assert len(wrong) <= 0.01 * len(asking), wrong


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    "field",
    [
        Flag("rotate", title="Rotate the password now?"),
        Choice("method", ["password", "API key"], title="Password or API key?"),
        Choices("methods", ["password", "token"], title="Passwords and tokens"),
        Integer("token", title="Token"),
        Number("api_key", title="API key"),
        Text("password", format="date"),
    ],
)
def test_a_field_that_cannot_carry_a_secret_is_never_reported(
    field: Flag | Choice | Choices | Integer | Number | Text,
) -> None:
    assert not kinds("Settings", field)


@pytest.mark.shows("S1")
@pytest.mark.parametrize(
    ("title", "kind"),
    [("PIN", "pin"), ("One-time code", "otp"), ("Card number", "card_number"), ("CVV", "cvv")],
)
def test_a_whole_number_can_be_a_secret(title: str, kind: str) -> None:
    assert kinds("", Integer("n", title=title)) == {"n": kind}


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    "title",
    [
        "Token budget",
        "Password policy",
        "Public key",
        "Keyboard",
        "Primary key",
        "Pin location",
        "Secret Santa",
        "Number of API keys",
        "Name of the secret to rotate",
        "Last four digits of your card",
        "Password hint",
        "Passwortlänge",
        "Politique de mots de passe",
        "Длина пароля",
        "密码策略",
        "パスワードの長さ",
        "طول كلمة المرور",
    ],
)
def test_another_head_noun_makes_it_harmless(title: str) -> None:
    assert not kinds("", Text("field", title=title))


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    "message",
    [
        "Never enter your password here. What is your nickname?",
        "We will never ask for your name, email, or password.",
        "Geben Sie hier nie Ihr Passwort ein.",
        "Nie podawaj hasła.",
        "パスワードは入力しないでください",
        "Не вводите пароль",
        "请勿输入密码",
        "비밀번호를 입력하지 마세요",
    ],
)
def test_a_denied_secret_raises_no_alarm(message: str) -> None:
    assert not kinds(message, Text("value"))


def test_a_message_that_asks_is_answered_in_the_field_that_names_nothing() -> None:
    found = kinds("Enter your GitHub token", Text("repository", title="Repository"), Text("value"))
    assert found == {"value": "token"}


def test_the_message_is_reported_when_no_field_can_be_named() -> None:
    assert kinds("Enter your GitHub token", Text("frobnicator")) == {None: "token"}


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ([Text("v")], [("v", False)]),
        ([Text("v", title="Output")], [("v", False)]),
        ([Text("v"), Text("region", title="Region")], [("v", False)]),
        ([Text("number", title="Ticket number")], [("number", True)]),
        ([Text("region", title="Region")], []),
        ([Text("v", format="date")], []),
        ([Integer("v")], []),
    ],
)
def test_what_a_message_shows_is_asked_for_in_fields_that_take_any_text(
    fields: list[Text | Integer], found: list[tuple[str, bool]]
) -> None:
    for message, kind in {"It begins with ghp_": "token", "What does `cat ~/.netrc` print?": "token"}.items():
        told = judge_form(message, Form.by_hand(*fields))
        assert [(each.field, each.doubtful) for each in told] == found
        assert {each.kind for each in told} <= {kind}


def test_a_message_that_asks_leaves_fields_alone_that_ask_for_something_else() -> None:
    assert not kinds("Enter your token on the next page. Where are you?", Text("city", title="City"))


def test_the_last_request_of_a_message_decides() -> None:
    assert not kinds("Add your API key to .env, then tell me the project slug", Text("slug"))
    assert not kinds("Enter your token on the next page. Where are you?", Text("value"))
    assert kinds("Enter your token. It will not be stored.", Text("value")) == {"value": "token"}


def test_a_code_is_a_one_time_code_when_the_message_says_where_it_came_from() -> None:
    assert kinds("We sent you an SMS", Text("code")) == {"code": "otp"}
    assert not kinds("Shop", Text("code"))


@pytest.mark.shows("S3")
def test_options_help_to_tell_what_a_field_is_for() -> None:
    brands = Choice("brand", ["Visa", "Mastercard"])
    assert kinds("Payment", brands, Text("card", title="Card")) == {"card": "card_number"}
    assert not kinds("", Choice("column", ["To do", "Done"]), Text("card", title="Card"))


def test_the_title_explains_the_name() -> None:
    assert not kinds("", Text("token", title="Token symbol"))
    assert not kinds("", Text("pin", title="GPIO pin"))
    assert not kinds("", Text("secret", description="Name of an existing secret"))
    assert kinds("", Text("password_reset", title="New password")) == {"password_reset": "password"}


@pytest.mark.parametrize(
    ("description", "kind"),
    [
        ("Paste the string that starts with sk-", "api_key"),
        ("Looks like ghp_xxxxxxxx", "token"),
        ("e.g. postgres://user:password@host/db", "connection_string"),
        ("-----BEGIN PRIVATE KEY-----", "private_key"),
    ],
)
def test_a_description_that_shows_a_key_asks_for_one(description: str, kind: str) -> None:
    assert kinds("", Text("value", description=description)) == {"value": kind}


def test_a_pattern_that_fits_only_keys_asks_for_one() -> None:
    assert kinds("", Text("value", pattern=r"^sk-[A-Za-z0-9]{48}$")) == {"value": "api_key"}


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        (r"^4[0-9]{15}$", "card_number"),
        (r"^(4[0-9]{15}|5[1-5][0-9]{14}|3[47][0-9]{13})$", "card_number"),
        (r"^(0[1-9]|1[0-2])/[0-9]{2} [0-9]{3} [0-9]{16}$", "card_number"),
        (r"^postgres://[^:]+:[^@]+@.+$", "connection_string"),
    ],
)
def test_a_pattern_that_takes_cards_or_logins_asks_for_one_whatever_the_label_says(
    pattern: str, kind: str
) -> None:
    assert kinds("Where shall we send it?", Text("ref", title="Reference", pattern=pattern)) == {"ref": kind}


@pytest.mark.parametrize("pattern", [r"^[0-9]{16}$", r"^4[0-9]*$", r"^.+$", r"^https://.+$"])
def test_a_pattern_that_takes_other_texts_too_shows_nothing(pattern: str) -> None:
    assert not kinds("Which parcel?", Text("ref", title="Parcel", pattern=pattern))


@pytest.mark.shows("S3")
def test_a_month_beside_as_many_digits_as_a_card_has_is_asked_for_with_the_card() -> None:
    fields = (
        Text("ref", title="Reference", pattern=r"^[0-9]{4} [0-9]{4} [0-9]{4} [0-9]{4}$"),
        Text("until", title="Until", pattern=r"^(0[1-9]|1[0-2])/[0-9]{2}$"),
    )
    assert set(kinds("Nearly done!", *fields)) == {"ref", "until"}


@pytest.mark.shows("S3")
def test_a_suggested_address_with_a_place_for_a_password_asks_for_it() -> None:
    place = Text("place", title="Data location", default="postgres://admin:<fill in>@db.internal:5432/prod")
    assert kinds("Where does your data live?", place) == {"place": "connection_string"}


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Katero geslo naj stoji na transparentu?", "Geslo praznika"),
        ("Qual é a senha de atendimento no painel?", "Número da senha"),
        ("Pod jakým heslem mám článek zařadit do slovníku?", "Heslo ve slovníku"),
        ("Mi legyen a tüntetés jelszava a molinón?", "Felirat"),
        ("要统计哪一个密码子的使用频率?", "密码子"),
        ("Hay que reponer los pines de solapa", "Dibujo del pin"),
        ("Which IBAN should we print on your outgoing invoices?", "IBAN"),
        ("OTP on the rota means 'on the premises'", "Person OTP on Saturday"),
    ],
)
def test_words_for_secrets_have_other_senses_beside_other_words(message: str, title: str) -> None:
    assert not kinds(message, Text("v", title=title))


@pytest.mark.shows("S3")
@pytest.mark.parametrize("title", ["Geslo", "Senha", "Heslo", "Jelszó", "סיסמה", "合言葉", "IBAN"])
def test_the_same_words_alone_name_a_secret(title: str) -> None:
    assert kinds("", Text("v", title=title))


def test_a_number_with_a_low_limit_is_no_secret() -> None:
    assert not kinds("Business card", Integer("card_number", title="How many", minimum=1, maximum=200))
    assert kinds("Your card", Integer("card_number", title="Card number")) == {"card_number": "card_number"}


@pytest.mark.shows("S3")
def test_many_harmless_fields_do_not_hide_a_named_secret() -> None:
    harmless = [Text(name, title=name) for name in ("Topic", "City", "Note", "Colour", "Reason", "Size")]
    assert kinds("Settings", Text("p", title="Your password"), *harmless) == {"p": "password"}


def test_a_pin_code_among_parts_of_an_address_is_a_postal_code() -> None:
    assert not kinds("Where to?", Text("pincode", title="PIN code"), Text("city", title="City"))
    assert kinds("At the machine", Text("pincode", title="PIN code")) == {"pincode": "pin"}


@pytest.mark.shows("S2")
def test_contact_data_is_allowed_and_the_strict_preset_reports_it() -> None:
    form = Form.by_hand(
        Text("contact", format="email"),
        Text("phone", title="Telefonnummer"),
        Text("address", title="Street address"),
        Text("dob", title="Date of birth"),
        Text("template", title="Email template"),
        Text("note", title="Note"),
    )
    assert not judge_form("Who are you?", form)
    found = judge_form("Who are you?", form, strict=True)
    assert {finding.field for finding in found} == {"contact", "phone", "address", "dob"}
    assert {(finding.kind, finding.tier) for finding in found} == {("personal_data", 2)}


@pytest.mark.shows("S1", "S2")
@pytest.mark.parametrize(("title", "kind"), [("Password", "password"), ("Passport number", "national_id")])
def test_a_definition_that_asks_for_a_secret_is_refused_with_the_field_and_what_to_use(
    title: str, kind: str
) -> None:
    with pytest.raises(SecretInForm, match=r"ask\.secret") as refused:
        require_no_secrets("Sign in", Form.by_hand(Text("user"), Text("it", title=title)))
    assert (refused.value.field, refused.value.kind) == ("it", kind)


def test_a_form_without_secrets_is_not_refused() -> None:
    require_no_secrets("Where to?", Form.by_hand(Text("city"), Integer("token_budget")))


def test_a_form_that_was_harmless_is_judged_anew_with_other_words() -> None:
    form = Form.by_hand(Text("it"))
    for number in range(100):
        require_no_secrets(f"Where to, for the {number}th time?", form)
    with pytest.raises(SecretInForm):
        require_no_secrets("Enter your password.", form)


def test_a_verdict_is_forgotten_with_its_form() -> None:
    def use_up() -> int:
        form = Form.by_hand(Text("city"))
        require_no_secrets("Where to?", form)
        return id(form)

    gone = use_up()
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, Form) and id(each) == gone]


@given(st.text(max_size=200), st.text(min_size=1, max_size=40), st.text(max_size=60), st.text(max_size=100))
def test_no_text_makes_the_judge_fail(message: str, name: str, title: str, description: str) -> None:
    judge_form(message, Form.by_hand(Text(name, title=title, description=description)))


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    ("message", "title", "kind"),
    [
        ("We just texted you six digits.", "Type them here", "otp"),
        ("In GitHub, developer settings, press Generate.", "Paste the result", "token"),
        ("Bring back your wallet", "Word 1", "seed_phrase"),
        ("Sixteen digits across the front, please", "Digits", "card_number"),
    ],
)
def test_a_message_and_a_label_that_names_nothing_are_one_request(
    message: str, title: str, kind: str
) -> None:
    second = Text("second", title=title.replace("1", "2"))
    assert kinds(message, Text("first", title=title), second) == {"first": kind, "second": kind}


@pytest.mark.shows("S3")
def test_a_denial_ends_where_something_else_is_wanted() -> None:
    assert kinds("We do not want your name, only your password.", Text("value")) == {"value": "password"}
    assert kinds("We cannot go on without your password, please type it here", Text("value"))
    assert not kinds("We do not want your password, only your name.", Text("name", title="Name"))


@pytest.mark.shows("S3")
def test_a_secret_among_examples_of_a_topic_is_a_mention() -> None:
    topic = "for example a wrong password, a locked account"
    assert not kinds(
        "Write a test for the login page", Text("cases", title="What to test", description=topic)
    )
    assert kinds("Log in", Text("v", description="for example your password")) == {"v": "password"}


@pytest.mark.shows("S3")
def test_a_word_with_another_meaning_needs_a_second_one() -> None:
    assert not kinds("How much butter?", Text("pat", title="PAT of butter in grams"))
    assert not kinds("Who carries the ring?", Text("who", title="Bearer"))
    assert kinds("Connect to GitHub", Text("pat", title="PAT")) == {"pat": "token"}


@pytest.mark.shows("S3")
def test_a_block_between_dashes_is_doubtful_unless_it_is_public() -> None:
    message = "Which block should the parser accept?"
    [found] = judge_form(message, Form.by_hand(Text("blob", description="-----BEGIN OPENSSH ...")))
    assert (found.kind, found.doubtful) == ("private_key", True)
    assert not kinds("", Text("blob", description="-----BEGIN CERTIFICATE-----"))


@pytest.mark.shows("S3")
def test_a_finding_rests_on_words_of_the_form() -> None:
    [found] = judge_form("Klistra in din API-nyckel", Form.by_hand(Text("v")))
    assert found.words == ("API-nyckel",)
    [found] = judge_form("We sent you an SMS", Form.by_hand(Text("code")))
    assert found.words == ("code", "We sent")


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    ("title", "harmless"),
    [
        ("What opens your mailbox?", "Which program opens your mailbox?"),
        ("What do you type at the front door when you come home?", "How often do you open the front door?"),
        ("What would a thief need to get into your mail?", "Who needs to get into the building?"),
        ("What do you enter after your user name?", "What comes after the login page?"),
        ("What would you have to change after a break-in?", "What would you change after the workshop?"),
        ("What did the text message we sent a moment ago say?", "What should the text message say?"),
    ],
)
def test_a_description_is_told_from_a_question_about_something_else(title: str, harmless: str) -> None:
    assert kinds("", Text("v", title=title))
    assert not kinds("", Text("v", title=harmless))


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    "message",
    [
        "We never store passwords, but we need yours once.",
        "You will never be asked for your PIN by phone, only here.",
    ],
)
def test_what_is_denied_and_then_wanted_is_asked_for(message: str) -> None:
    assert kinds(message, Text("value"))


@pytest.mark.shows("S3")
def test_two_negations_ask() -> None:
    assert kinds("", Text("log", title="Config", description="Do not mask anything, passwords included."))
    assert not kinds("", Text("log", title="Config", description="Please mask all passwords."))


@pytest.mark.shows("S3")
def test_an_old_one_and_a_new_one_twice_are_passwords() -> None:
    old, new, again = Text("a", title="Old"), Text("b", title="New"), Text("c", title="Repeat new")
    assert set(kinds("Change", old, new, again).values()) == {"password"}
    assert not kinds("Change", Text("a", title="Old name"), Text("b", title="New name"))


@pytest.mark.parametrize(
    "title", ["4 pins, 2 washers", "Pin 7 function", "The number on the front of the house"]
)
def test_what_is_counted_or_belongs_to_something_else_is_harmless(title: str) -> None:
    assert not kinds("", Text("v", title=title))


@pytest.mark.shows("S3")
def test_a_field_for_a_chosen_kind_of_secret_is_found() -> None:
    schema = {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["API key", "SSH key", "password"]},
            "value": {"type": "string", "title": "Paste it here"},
            "ticket": {"type": "string", "title": "Ticket"},
        },
    }
    found = judge_form("What will you give us?", parse_form(schema, Revision.NOVEMBER_2025))
    assert [each.field for each in found] == ["value"]


@pytest.mark.shows("S3")
def test_digits_that_several_fields_ask_for_together_are_found() -> None:
    halves = [Text(name, pattern=r"^\d{3}$") for name in ("left", "right")]
    found = judge_form("Your authenticator app shows two groups", Form.by_hand(*halves))
    assert {(each.field, each.kind) for each in found} == {("left", "otp"), ("right", "otp")}
    assert not judge_form("The result of the match", Form.by_hand(*halves))


@pytest.mark.shows("S3")
@pytest.mark.parametrize(
    ("message", "sizes", "kind"),
    [
        ("Something arrived", (3, 3), "otp"),
        ("Something arrived", (2, 2, 2), "otp"),
        ("Something arrived", (4, 4), "otp"),
        ("For the cash machine", (2, 2), "pin"),
        ("For the cash machine", (1, 1, 1, 1), "pin"),
        ("On the back of the card", (1, 1, 1), "cvv"),
        ("Something arrived", (2, 3), None),
        ("Something arrived", (3, 3, 3), None),
        ("The result of the match", (1, 1), None),
    ],
)
def test_digits_of_several_fields_are_added_up(
    message: str, sizes: tuple[int, ...], kind: str | None
) -> None:
    """Words that name no secret: only the digits together with them give it away."""
    fields = [Text(f"part{at}", pattern=rf"^\d{{{size}}}$") for at, size in enumerate(sizes)]
    found = judge_form(message, Form.by_hand(*fields))
    assert {each.kind for each in found} == ({kind} if kind else set())
    assert len(found) == (len(fields) if kind else 0)


def test_a_pin_code_in_india_and_a_count_of_passwords_are_harmless() -> None:
    postal = Form.by_hand(Text("pincode", title="PIN code", pattern="^[1-9][0-9]{5}$"))
    assert not judge_form("Where do we deliver?", postal)
    assert not judge_form("Rules", Form.by_hand(Integer("history", title="Passwords remembered")))


@pytest.mark.slow
@pytest.mark.shows("F8")
@pytest.mark.parametrize(
    "words",
    [
        "p a s s ",
        "a. ",
        "ab cd ef gh, ",
        "0x41 ",
        "пароль ",
        "-",
        "密",
        "&#65;",
        "The room is nice and the food is good. ",
    ],
)
def test_judging_takes_time_in_proportion_to_the_text(words: str) -> None:
    # The attack: a minute in which nobody else is served. No clock is asked: if it fails, this test does not end.
    fields = [Text(f"field_{number}", title=f"Field {number}") for number in range(50)]
    judge_form((words * 64 * 1024)[: 64 * 1024], Form.by_hand(*fields))


@pytest.mark.slow
@pytest.mark.shows("F8")
def test_a_text_of_new_words_is_judged_in_time_too() -> None:
    message = "".join(f"word{number}, " for number in range(6000))
    judge_form(message, Form.by_hand(*(Text(f"field_{number}") for number in range(50))))


@pytest.mark.shows("S3")
def test_a_field_that_names_a_secret_is_not_outweighed_by_its_neighbours() -> None:
    wifi = Text("psk", title="Wi-Fi password", min_length=8, max_length=63)
    assert kinds("Which Wi-Fi should the printer join?", Text("ssid", title="Network name"), wifi) == {
        "psk": "password"
    }
