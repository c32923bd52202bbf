from typing import Annotated, Literal

from annotated_types import Ge, Le
from pydantic import BaseModel

from handraise import Form
from handraise.forms import Choice, Integer, Text, check_answer, dump_form
from handraise.revisions import Revision


class Release(BaseModel):
    target: Literal["staging", "production"]
    replicas: Annotated[int, Ge(1), Le(20)] = 2


form = Form.of(Release)
for problem in check_answer(form, {"target": "moon", "replicas": 99}):
    print(problem.field, "|", problem.message)

by_hand = Form.by_hand(
    Choice("target", ["staging", "production"]), Integer("replicas"), Text("note", required=False)
)
print(dump_form(by_hand, Revision.JULY_2026)["required"])
