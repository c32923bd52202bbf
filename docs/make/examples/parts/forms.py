from handraise.errors import WireError
from handraise.forms import (
    DEFAULT_LIMITS,
    UNSET,
    Choices,
    Field,
    Form,
    Limits,
    Number,
    Problem,
    Value,
    check_form,
    load_json,
    measure,
    parse_form,
    read_answer,
    require_bounded,
    write_json,
)
from handraise.revisions import Revision

fields: list[Field] = [Choices("toppings", ["nuts", "plums"], max_items=1), Number("grams", maximum=500)]
form = Form.by_hand(*fields)
print(form.fields[1].default is UNSET)

told, problems = read_answer(form, {"toppings": ["nuts", "plums"], "grams": 900})
for problem in problems:
    assert isinstance(problem, Problem)
    print(problem.field, "|", problem.rule, "|", problem.message)

# What a server sends is read with bounds, and refused with the rule that it breaks.
raw = load_json('{"type": "object", "properties": {"size": {"type": "object"}}}', DEFAULT_LIMITS)
print(check_form(raw, Revision.JULY_2026)[0].message)
read: Form[dict[str, Value]] = parse_form({"type": "object", "properties": {}}, Revision.JULY_2026)
print(len(read.fields), measure({"a": "b"}), write_json({"b": 1, "a": 2}))
try:
    require_bounded({"a": "b" * 100}, Limits(bytes=50))
except WireError as error:
    print(error)
