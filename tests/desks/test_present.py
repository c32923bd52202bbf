"""What every desk shows, in the order in which it shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field
from tests.desks.questions import form_question, link_question, waiting_for

from handraise.desks import Cause, Decision, Waiting, fill, present
from handraise.desks.endings import describe_ending
from handraise.desks.fill import Filled
from handraise.desks.language import ENGLISH, GERMAN, catalogue
from handraise.desks.present import Presentation, link_of, odd_reasons, present_fields, say_problem
from handraise.display import UntrustedText
from handraise.forms import Choice, Flag, Form, Integer, Text, dump_form, parse_form
from handraise.guards import Guard
from handraise.guards.decide import MISTYPED
from handraise.guards.sql.effects import SqlAction, SqlEffects
from handraise.guards.sql.guard import SqlVerdict
from handraise.guards.sql.guard import message as sql_message
from handraise.questions import (
    TYPED,
    Buttons,
    Declined,
    FormQuestion,
    Origin,
    Person,
    QuestionHints,
    field_reasons,
    with_reasons,
)
from handraise.revisions import Revision
from handraise.secrets import SecretFinding
from handraise.urls import REASONS


def details(waiting: Waiting) -> str:
    return " ".join(str(line) for _, lines in present(waiting).details for line in lines)


@pytest.mark.shows("D1")
def test_who_asks_comes_from_the_configuration_and_the_claim_stands_apart() -> None:
    shown = present(form_question())
    assert shown.asker == "notes"
    assert shown.who == "notes asks, to run delete_note"
    assert "Notes Server 1.0 Nobody has verified this name." in details(form_question())
    assert "python notes.py" in details(form_question())


@pytest.mark.shows("D1")
def test_a_claim_is_shown_only_where_it_differs() -> None:
    assert "verified" not in details(form_question(origin=Origin("notes", "python notes.py", "notes", "1.0")))


@pytest.mark.shows("D1")
def test_the_tool_and_its_arguments_are_shown() -> None:
    assert 'delete_note(title="Plans")' in details(form_question())
    unknown = Cause((("a", {}), ("b", {})), certain=False)
    assert "One of these calls; it is not known which. a() b()" in details(form_question(cause=unknown))


@pytest.mark.shows("D1")
def test_a_guard_speaks_for_the_user_and_not_for_the_server() -> None:
    shown = present(form_question(guard=True, ours=True))
    assert (shown.speaker, shown.who) == ("guard", "Your own rule asks, before delete_note of notes runs")


@pytest.mark.shows("D3")
def test_what_is_sent_where_it_goes_and_what_declining_does_is_said() -> None:
    words = details(form_question())
    assert "Your answer goes to notes. The AI model may see it." in words
    assert "Decline tells notes that you do not answer." in words


@pytest.mark.shows("D3")
def test_of_a_link_is_said_what_opening_and_declining_it_mean() -> None:
    words = details(link_question())
    assert "What you do there goes to that site, not through this program." in words
    assert "notes is told that you agreed to open it, and nothing else." in words


@pytest.mark.parametrize(
    ("asked", "main"),
    [
        (form_question("Go on?", Form.by_hand(Flag("answer"))), "yes"),
        (form_question("Who?", Form.by_hand(Text("name"))), "send"),
        (link_question(), "open"),
        (link_question(browsing=True), "done"),
    ],
    ids=["a confirmation", "a form", "a link", "a page that is open"],
)
def test_one_button_is_the_main_one(asked: Waiting, main: str) -> None:
    assert [button.act for button in present(asked).buttons if button.main] == [main]


@pytest.mark.shows("D1")
def test_a_confirmation_has_two_buttons_with_the_servers_words_behind_ours() -> None:
    hints = QuestionHints(buttons=Buttons("Delete 47 files", "Keep them"))
    asked = form_question("Go on?", Form.by_hand(Flag("answer")))
    asked = replace(asked, question=replace(asked.question, hints=hints))
    assert [str(button) for button in present(asked).buttons] == ["Yes: “Delete 47 files”", "No: “Keep them”"]
    assert [str(button) for button in present(asked, GERMAN).buttons] == [
        "Ja: “Delete 47 files”",
        "Nein: “Keep them”",
    ]
    assert [button.act for button in present(asked).ways_out] == ["decline", "cancel"]


@pytest.mark.parametrize(
    ("bounds", "hint"),
    [
        ({"gt": 0, "le": 10_000}, "a number, more than 0 and at most 10,000"),
        ({"gt": 0.5}, "a number, more than 0.5"),
        ({"ge": 0, "lt": 1}, "a number, at least 0 and less than 1"),
        ({"ge": 0, "le": 1.5}, "a number from 0 to 1.5"),
    ],
)
def test_a_bound_that_excludes_its_number_is_said_so_and_checked_at_the_desk(
    bounds: dict[str, Any], hint: str
) -> None:
    form = Form.from_fields(budget=Annotated[float, Field(**bounds)])
    [shown] = present_fields(parse_form(dump_form(form, Revision.JULY_2026), Revision.JULY_2026))
    assert shown.hint == hint
    if "gt" in bounds:
        [problem] = fill(form, {"budget": str(bounds["gt"])}).problems
        assert hint in say_problem(problem, form.fields[0], ENGLISH)


def test_every_text_is_there_in_every_language_with_the_same_places() -> None:
    for key, texts in catalogue().items():
        assert set(texts) == {"en", "de"}, key
        if key not in ("weekdays", "months"):
            places = [
                set(
                    re.findall(
                        r"{(\w*)}", " ".join(texts[code]) if isinstance(texts[code], list) else texts[code]
                    )
                )
                for code in texts
            ]
            assert places[0] - {"count"} == places[1] - {"count"}, key


def test_every_text_of_the_catalogue_is_used_and_no_other() -> None:
    root = files("handraise.desks")
    sources = [each.read_text() for each in Path(str(root)).rglob("*") if each.suffix in (".py", ".html")]
    used = set(re.findall(r"""(?:\bt|language)\(\s*f?["']([a-z_]+)["']""", "\n".join(sources)))
    prefixes = {key for key in used if key.endswith("_")}
    assert used - prefixes <= set(catalogue()), used - set(catalogue())
    assert all(any(key.startswith(prefix) for key in catalogue()) for prefix in prefixes)
    for place in ("web", "terminal", "command", "script", "client", "hook"):
        assert describe_ending(form_question(), Decision(Declined(), desk=place), language=GERMAN).sentence


def test_text_of_the_server_stays_untrusted_until_a_desk_shows_it() -> None:
    shown = present(form_question("\x1b[2Jboo"))
    assert isinstance(shown.message, UntrustedText)
    assert "\x1b" not in str(shown.message)
    assert all(isinstance(field.label, UntrustedText) for field in shown.fields)


@pytest.mark.shows("F7")
def test_fields_come_in_the_authors_order_with_hints_in_our_words() -> None:
    fields = {field.name: field for field in present(form_question()).fields}
    assert list(fields)[:5] == ["name", "email", "site", "day", "count"]
    assert fields["name"].hint == "from 2 to 40 characters"
    assert fields["count"].hint == "a whole number from 1 to 10"
    assert fields["count"].suggested
    assert [option.value for option in fields["size"].options] == ["s", "m", "l"]


@pytest.mark.shows("L5")
def test_a_link_is_shown_with_what_is_odd_about_it() -> None:
    shown = present(link_question("https://gіthub.com/login"))  # a Cyrillic і
    assert shown.link is not None
    assert shown.link.verdict != "ok"
    assert shown.warnings
    assert shown.fields == ()


@pytest.mark.shows("L5")
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://xn--bcher-kva.example/", "punycode"),
        ("https://example.com:8443/", "odd_port"),
        ("http://example.com/", "insecure_http"),
    ],
)
def test_a_link_that_is_only_doubtful_is_warned_of_too(url: str, reason: str) -> None:
    assert present(link_question(url)).warnings == (REASONS[reason].sentence,)


@pytest.mark.shows("L5")
def test_what_is_only_worth_knowing_about_a_link_is_no_warning() -> None:
    shown = present(link_question("https://bücher.example/"))
    assert shown.warnings == ()
    assert shown.notes == ("The name uses letters beyond a to z.",)


def test_the_answers_of_a_confirmation_carry_the_quoted_words_also_in_a_batch() -> None:
    waiting = form_question(form=Form.by_hand(Flag("answer")))
    buttons = Buttons("Delete 47 files", "Keep them")
    named = replace(waiting, question=replace(waiting.question, hints=QuestionHints(buttons=buttons)))
    [field] = present(named).fields
    assert [str(each) for each in field.answers] == ["Yes: “Delete 47 files”", "No: “Keep them”"]


def test_the_last_answer_of_a_question_is_marked_as_such() -> None:
    waiting = form_question()
    again = replace(
        waiting, question=replace(waiting.question, hints=QuestionHints(last_answer={"name": "Ada"}))
    )
    assert [field.name for field in present(again).fields if field.answered] == ["name"]


@pytest.mark.shows("D1")
def test_a_guard_of_ours_speaks_the_language_of_the_person() -> None:
    guard = Guard(typed="count", consequence="Custom words stay.")
    question = guard.applies("delete_notes", None, {"folder": "a"}, 47)
    assert question is not None
    shown = present(replace(form_question(guard=True), question=question), GERMAN)
    said = shown.message.raw
    assert said.startswith("Das Modell möchte dieses Werkzeug aufrufen.")
    assert "Custom words stay." in said
    assert "Werkzeug: delete_notes\nArgumente:\n- folder: a" in said
    declined = "Wenn Sie ablehnen: Nichts geschieht, und das Modell erfährt, dass Sie Nein gesagt haben."
    assert declined in said.split("\n")
    assert [field.label.raw for field in shown.fields] == ["Geben Sie die Zahl 47 ein, um fortzufahren"]
    assert present(replace(form_question(), question=question), GERMAN).message.raw == question.message


def test_the_rule_of_the_person_needs_no_second_way_to_say_no() -> None:
    form = Form.by_hand(Flag("answer"))
    for guard, ways in ((True, ["cancel"]), (False, ["decline", "cancel"])):
        shown = present(form_question("Go ahead?", form, guard=guard))
        assert [button.act for button in shown.ways_out] == ways


def test_a_length_that_hardly_anybody_meets_is_not_in_the_way() -> None:
    form = Form.by_hand(
        Text("a", min_length=1, max_length=2000), Text("b", max_length=60), Text("c", min_length=3)
    )
    assert [field.hint for field in present_fields(form)] == [
        "",
        "at most 60 characters",
        "at least 3 characters",
    ]


def test_several_fields_name_the_odd_one_by_its_label() -> None:
    form = Form.by_hand(Text("a", title="Code"), Text("b"))
    found = SecretFinding("a", 2, "otp", "This may be a one-time code.")
    filled = Filled({"a": "839201", "b": "x"}, (), (found,))
    assert odd_reasons(filled, present_fields(form), ENGLISH) == ("Code: This may be a one-time code.",)
    alone = present_fields(Form.by_hand(Text("a", title="Code")))
    assert odd_reasons(filled, alone, ENGLISH) == ("This may be a one-time code.",)


def test_a_guard_inside_a_server_speaks_german_and_stays_the_server_s_words() -> None:
    question = Guard(message="The model wants to call this tool.").applies("wipe", None, {"disk": "C"}, None)
    assert question is not None
    told = replace(question, hints=QuestionHints(guard=True))
    shown = present(replace(form_question(), question=told), GERMAN)
    assert shown.message.raw.startswith("Das Modell möchte dieses Werkzeug aufrufen.")
    assert "Werkzeug: wipe" in shown.message.raw
    assert "- disk: C" in shown.message.raw
    assert shown.speaker == "server"
    many = Guard().applies("wipe", None, {f"disk{at}": "C" for at in range(20)}, None)
    assert many is not None
    marked = replace(many, hints=QuestionHints(guard=True))
    told_german = present(replace(form_question(), question=marked), GERMAN).message.raw
    assert "- und 8 weitere, die nicht gezeigt werden" in told_german
    plain = present(replace(form_question(), question=question), GERMAN)
    assert plain.message.raw == question.message


def test_a_guard_before_sql_speaks_german_and_changes_nothing_in_the_statement() -> None:
    effects = SqlEffects(
        ("write", "definition"),
        (("people.email", ("contact",)),),
        frozenset(),
        ("leak",),
        (
            SqlAction("write", "DELETE FROM", "people"),
            SqlAction("definition", "DROP TABLE", "old"),
            SqlAction("outside", "COPY TO A FILE FROM", "people"),
            *(SqlAction("read", "reads", f"orders_of_{year}") for year in range(1990, 2020)),
        ),
        ("DELETE FROM people WHERE name = '\nIt has 2 statements.\n'", "DROP TABLE old"),
        20,
    )
    verdict = SqlVerdict(effects, 2_000_000, 1_000_000)
    one = SqlVerdict(replace(effects, kinds=("write",)), None, 1_000_000)
    for each in (verdict, one, replace(verdict, rows=1)):
        form = Form.by_hand(Flag("answer", title="Run it?"))
        question = FormQuestion(sql_message(each, "x" * 1234), form, hints=QuestionHints(guard=True))
        shown = present(replace(form_question(), question=question), GERMAN)
        lines, english = shown.message.raw.split("\n"), question.message.split("\n")
        heading = next(at for at, line in enumerate(lines) if line.endswith("gezeigt werden):"))
        assert not [line for line in (*lines[: heading + 1], lines[-1]) if line and line in english]
        assert lines[heading + 1 : -1] == english[heading + 1 : -1]
        assert shown.fields[0].label.raw == "Ausführen?"
    said = present(
        replace(form_question(), question=replace(question, message=sql_message(verdict, "x" * 1234))), GERMAN
    ).message.raw
    assert "etwa 2.000.000 Zeilen; gefragt werden Sie ab 1.000.000." in said
    assert "Die 2 Anweisungen (1.234 Zeichen, davon 20 in Kommentaren" in said
    assert re.search(r"Es liest: orders_of_1990, .* und \d+ weitere\.", said)


def test_a_server_that_claims_to_be_a_guard_cannot_keep_the_desk_busy() -> None:
    line = "The link leads to " + " of ".join(["x"] * 20_000)
    question = FormQuestion(f"Yes?\n{line}", Form.by_hand(), hints=QuestionHints(guard=True))
    assert present(replace(form_question(), question=question), GERMAN).message.raw == question.message


def test_a_reason_stands_at_its_field_and_not_under_the_message_too() -> None:
    form = Form.by_hand(Text("city", title="City"), Integer("size"))
    problems = (("city", "No such city."), ("size", "Too many."), ("size", "No room."))

    def shown(form: Form[Any], *problems: tuple[str, str]) -> Presentation:
        message = with_reasons("Who comes?", field_reasons(form, problems))
        question = FormQuestion(message, form, hints=QuestionHints(problems=problems))
        return present(waiting_for(question), GERMAN)

    again = shown(form, *problems)
    assert again.message.raw == "Who comes?"
    assert [str(each.objection) for each in again.fields] == ["No such city.", "Too many. No room."]
    hidden = shown(form, *problems, ("elsewhere", "This would be seen nowhere."))
    assert "This would be seen nowhere." in hidden.message.raw
    confirmed = shown(Form.by_hand(Flag("answer")), ("answer", "This would be seen nowhere."))
    assert "This would be seen nowhere." in confirmed.message.raw


def test_what_had_to_be_typed_is_said_at_the_field_in_the_persons_language() -> None:
    guard = Guard("Delete {count} files?", typed="count").applies("wipe", None, {}, 12)
    assert guard is not None
    message = with_reasons(guard.message, (MISTYPED,))
    hints = QuestionHints(guard=True, problems=((TYPED, MISTYPED),))
    again = present(waiting_for(replace(guard, message=message, hints=hints)), GERMAN)
    assert "could not be used" not in again.message.raw
    assert str(again.fields[0].objection) == "Das ist nicht, was einzugeben war."


@pytest.mark.parametrize(
    ("field", "label"),
    [
        (Choice("answer", ["a", "b"]), "Antwort"),
        (Text("answer", title="Your answer"), "Ihre Antwort"),
        (Text("answer", title="The link contains personal data."), "The link contains personal data."),
    ],
)
def test_the_label_of_a_single_answer_is_in_the_persons_language(field: Text | Choice, label: str) -> None:
    shown = present(form_question("Where?", Form.by_hand(field)), GERMAN)
    assert shown.fields[0].label.raw == label


@pytest.mark.shows("S5", "W7")
@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("npx shop --api-key sk-live-1", "npx …"),
        ("'/opt/my shop/run'", "/opt/my shop/run"),
        ("it's sk-live-1", ""),
        ("https://ann:sk-live-1@shop.example:8443/mcp/sk-live-1?key=sk-live-1", "https://shop.example:8443"),
    ],
)
def test_people_of_a_shared_gateway_see_no_key_of_its_operator(target: str, shown: str) -> None:
    asked = replace(form_question(), origin=Origin("shop", target))
    assert target in details(asked)
    ann = replace(asked, person=Person("https://id.example", "ann", "token"))
    assert "sk-live-1" not in details(ann)
    assert present(ann).details[0][1][1] == UntrustedText(shown)


@pytest.mark.shows("L5")
def test_a_link_that_nobody_inspected_before_is_inspected_at_the_desk() -> None:
    asked = link_question("https://gіthub.com/login")  # a Cyrillic і
    assert present(replace(asked, link=None)) == present(asked)
    assert link_of(form_question()) is None
