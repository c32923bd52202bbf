from __future__ import annotations

import re
from typing import Annotated, Any

import pytest
from annotated_doc import Doc
from annotated_types import Ge, Interval, Len
from pydantic import Field, StringConstraints
from typing_extensions import TypeAliasType

from handraise.errors import FormError
from handraise.forms import Choices, Form, Integer, Text

Age = TypeAliasType("Age", Annotated[int, Ge(18)])


def field_of(annotation: Any) -> Any:
    (field,) = Form.from_fields(x=annotation).fields
    return field


@pytest.mark.shows("F2", "F3")
@pytest.mark.parametrize(
    ("annotation", "field"),
    [
        (Annotated[str, Len(1, 5)], Text("x", min_length=1, max_length=5)),
        (
            Annotated[str, StringConstraints(min_length=1, pattern="^a")],
            Text("x", min_length=1, pattern="^a"),
        ),
        (Annotated[str, re.compile("^a")], Text("x", pattern=re.compile("^a"))),
        (Annotated[str, Doc("What for")], Text("x", description="What for")),
        (Annotated[str, "a bare string says nothing"], Text("x")),
        (Annotated[int, Interval(ge=1, lt=9)], Integer("x", minimum=1, maximum=8)),
        (Annotated[int, Ge(1)] | None, Integer("x", minimum=1, required=False)),
        (Annotated[int | None, Ge(1)], Integer("x", minimum=1, required=False)),
        (Age, Integer("x", minimum=18)),
        (
            Annotated[int, Field(5, title="T", description="D", ge=0)],
            Integer("x", title="T", description="D", minimum=0, default=5, required=False),
        ),
        (Annotated[int, Field(default_factory=int)], Integer("x", required=False)),
        (Annotated[list[Annotated["Any", 1]], Len(1, 2)], None),
    ],
)
def test_everything_around_a_type_is_read(annotation: Any, field: Any) -> None:
    if field is None:
        with pytest.raises(FormError):
            field_of(annotation)
    else:
        assert field_of(annotation) == field


@pytest.mark.shows("F3")
def test_the_length_of_a_list_is_the_number_of_choices() -> None:
    from typing import Literal

    assert field_of(Annotated[list[Literal["a", "b"]], Len(1, 2)]) == Choices(
        "x", ["a", "b"], min_items=1, max_items=2
    )


@pytest.mark.shows("F3")
def test_a_pattern_with_flags_is_refused_by_field() -> None:
    with pytest.raises(FormError, match=r"^x: a pattern with flags"):
        field_of(Annotated[str, re.compile("a", re.MULTILINE)])
