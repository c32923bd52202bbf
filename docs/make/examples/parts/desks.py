from handraise.desks import (
    ARMED_AFTER,
    Cause,
    Content,
    DeskAnswer,
    Entries,
    Filled,
    Sheet,
    SheetField,
    SheetOption,
    Waiting,
    edited,
    fill,
    lay_out,
    suggest,
)
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

# What any desk shows, in which order, whatever it looks like.
sheet: Sheet = lay_out(waiting)
print(sheet.asker, "|", sheet.target, "| armed after", ARMED_AFTER, "seconds")
fields: tuple[SheetField, ...] = sheet.fields
options: tuple[SheetOption, ...] = fields[0].options
print([field.name for field in fields], len(options))

# What was entered, checked; the server's suggestion stands where nobody changed it.
entries: Entries = {**suggest(form), "size": "medium"}
filled: Filled = fill(form, entries)
print([problem.message for problem in filled.problems])
content: Content = fill(form, {**suggest(form), "size": "large"}).content
answer: DeskAnswer = Accepted(content)
print(answer, edited(form, {**content, "bags": 3}))
