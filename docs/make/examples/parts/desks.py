import sys

from handraise.desks import (
    ARMED_AFTER,
    Cause,
    Content,
    Desk,
    DeskAnswer,
    Entries,
    Filled,
    Presentation,
    Queue,
    ShownField,
    ShownOption,
    Waiting,
    edited,
    fill,
    present,
    suggest,
)
from handraise.desks.codes import AnswerCode
from handraise.desks.headless import ParkedDesk
from handraise.forms import Choice, Form, Integer
from handraise.questions import Accepted, FormQuestion, Origin, Person

form = Form.by_hand(Choice("size", ["small", "large"]), Integer("bags", default=2))
waiting = Waiting(
    "q1",
    FormQuestion("Which tea?", form),
    Origin("my shop", "python shop.py", claimed_name="Your Bank"),
    Person("", "ada", "system"),
    cause=Cause((("order", {"kind": "green"}),)),
)

# The lines of a question in their order, for a desk of any look.
shown: Presentation = present(waiting)
print(shown.who, "|", [str(button) for button in shown.buttons], "| armed after", ARMED_AFTER, "seconds")
fields: tuple[ShownField, ...] = shown.fields
options: tuple[ShownOption, ...] = fields[0].options
print([str(field.label) for field in fields], len(options))

# The entered values, checked; the server's suggestion stands if nobody changed it.
entries: Entries = {**suggest(form), "size": "medium"}
filled: Filled = fill(form, entries)
print([problem.rule for problem in filled.problems])
content: Content = fill(form, {**suggest(form), "size": "large"}).content
answer: DeskAnswer = Accepted(content)
print(answer, edited(form, {**content, "bags": 3}))

# Every desk is one: it shows what waits in its queue until it is cancelled.
desk: Desk = ParkedDesk(Queue(), AnswerCode(), sys.stderr)
