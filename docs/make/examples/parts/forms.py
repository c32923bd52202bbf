from handraise.errors import WireError
from handraise.forms import (
    ANSWER,
    DEFAULT_LIMITS,
    SIZE_RULES,
    UNLIMITED,
    UNSET,
    Choices,
    Field,
    Form,
    Limits,
    Number,
    Problem,
    Value,
    check_form,
    exclusive_bound,
    label_of,
    load_json,
    measure,
    parse_form,
    read_answer,
    require_bounded,
    require_message,
    write_json,
)
from handraise.revisions import Revision

fields: list[Field] = [Choices("toppings", ["nuts", "plums"], max_items=1), Number("grams", maximum=500)]
form = Form.by_hand(*fields)
assert Form.of(int).fields[0].name == ANSWER  # the one field of a form without names
print(form.fields[1].default is UNSET, label_of(Number("team_size")), exclusive_bound(5e-324, 0.0))

told, problems = read_answer(form, {"toppings": ["nuts", "plums"], "grams": 900})
for problem in problems:
    assert isinstance(problem, Problem)
    print(problem.field, "|", problem.rule, "|", problem.message)

# A server's form is read with bounds, and refused with the broken rule.
raw = load_json('{"type": "object", "properties": {"size": {"type": "object"}}}', DEFAULT_LIMITS)
print(check_form(raw, Revision.JULY_2026)[0].message)
read: Form[dict[str, Value]] = parse_form({"type": "object", "properties": {}}, Revision.JULY_2026)
print(
    UNLIMITED.bytes > DEFAULT_LIMITS.bytes,
    len(read.fields),
    measure({"a": "b"}),
    write_json({"b": 1, "a": 2}),
)
try:
    require_bounded({"a": "b" * 100}, Limits(bytes=50))
except WireError as error:
    print(error)
try:
    require_message("b" * 70_000)
except WireError as error:
    print(error, error.rule in SIZE_RULES)
