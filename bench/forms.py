"""Forms: a schema seen for the first time, a prepared check, rendering a type again, and importing.

Against jsonschema, jsonschema-rs, fastjsonschema and pydantic on the same five fields. Each looks at
formats, and each schema is new: names change, so that nobody can remember anything.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import count
from statistics import median
from typing import Annotated, Any, Literal

import fastjsonschema
import jsonschema_rs
from bench.measure import OURS, Bench, Figure, Turn, turn_of
from jsonschema import Draft202012Validator
from mcp.server.elicitation import render_elicitation_schema
from pydantic import BaseModel, EmailStr, Field, create_model

from handraise.forms import Form, check_answer, dump_form, parse_form
from handraise.revisions import Revision

FORMATS = Draft202012Validator.FORMAT_CHECKER
REVISION = Revision.NOVEMBER_2025
ROLES = {"dev": "Developer", "pm": "Product manager", "ops": "Operations", "sec": "Security"}
TOPICS = {"api": "The API", "ui": "The interface", "docs": "Documents", "cost": "Cost", "law": "Contracts"}
Role = Literal["dev", "pm", "ops", "sec"]
Topic = Literal["api", "ui", "docs", "cost", "law"]

numbers = count()


def form_and_answer() -> tuple[dict[str, Any], dict[str, Any]]:
    """Five fields under names that never came before, and a good answer."""
    n = next(numbers)
    properties = {
        f"name{n}": {"type": "string", "title": "Your name", "minLength": 1, "maxLength": 80},
        f"email{n}": {"type": "string", "title": "E-mail", "format": "email"},
        f"seats{n}": {"type": "integer", "title": "Seats", "minimum": 1, "maximum": 500},
        f"role{n}": {"type": "string", "title": "Your role", "oneOf": _titled(ROLES)},
        f"topics{n}": {
            "type": "array",
            "title": "Topics",
            "maxItems": 3,
            "items": {"anyOf": _titled(TOPICS)},
        },
    }
    schema = {"type": "object", "properties": properties, "required": [f"name{n}", f"email{n}", f"role{n}"]}
    values = ("Ada Lovelace", "ada@example.org", 36, "dev", ["api", "law"])
    return schema, dict(zip(properties, values, strict=True))


def _titled(options: dict[str, str]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in options.items()]


class Signup(BaseModel):
    """The same five fields, as an author writes them."""

    name: str = Field(title="Your name", min_length=1, max_length=80)
    email: EmailStr = Field(title="E-mail")
    seats: int = Field(default=1, title="Seats", ge=1, le=500)
    role: Role = Field(title="Your role")
    note: str = Field(default="", title="Note")


def pydantic_model(schema: dict[str, Any]) -> type[BaseModel]:
    """The model that an author would write by hand for this schema; pydantic itself does not read one."""
    name, email, seats, role, topics = schema["properties"]
    fields: dict[str, Any] = {
        name: (Annotated[str, Field(min_length=1, max_length=80)], ...),
        email: (EmailStr, ...),
        seats: (Annotated[int, Field(ge=1, le=500)], 1),
        role: (Role, ...),
        topics: (Annotated[list[Topic], Field(max_length=3)], []),
    }
    return create_model("Signup", **fields)


def checked_by_jsonschema(schema: dict[str, Any], answer: dict[str, Any]) -> None:
    """As `jsonschema.validate` does it: the schema is looked at too, as it is by all the others."""
    Draft202012Validator.check_schema(schema)
    list(Draft202012Validator(schema, format_checker=FORMATS).iter_errors(answer))


def run(bench: Bench) -> None:
    """All of it."""
    bench.compare(
        "a schema never seen before, read and checked once",
        {
            OURS: _new(lambda schema, answer: check_answer(parse_form(schema, REVISION), answer)),
            "jsonschema": _new(
                lambda schema, answer: list(
                    Draft202012Validator(schema, format_checker=FORMATS).iter_errors(answer)
                )
            ),
            "jsonschema-rs": _new(
                lambda schema, answer: jsonschema_rs.Draft202012Validator(
                    schema, validate_formats=True
                ).is_valid(answer)
            ),
        },
        rounds=100,
        bars={"jsonschema": 1 / 8, "jsonschema-rs": 1 / 3},
    )
    bench.compare(
        "the same, and those that take milliseconds",
        {
            OURS: _new(lambda schema, answer: check_answer(parse_form(schema, REVISION), answer)),
            "jsonschema, schema looked at too": _new(checked_by_jsonschema),
            "fastjsonschema": _new(lambda schema, answer: fastjsonschema.compile(schema)(answer)),
            "pydantic": _new(lambda schema, answer: pydantic_model(schema).model_validate(answer)),
        },
        rounds=15,
    )
    _prepared(bench)
    bench.compare(
        "the schema of a type that was asked for before",
        {
            OURS: _again(lambda: dump_form(Form.of(Signup), REVISION)),
            "mcp's render_elicitation_schema": _again(lambda: render_elicitation_schema(Signup)),
        },
        bars={"mcp's render_elicitation_schema": 1 / 500},
    )
    _imports(bench)


def _prepared(bench: Bench) -> None:
    schema, answer = form_and_answer()
    form = parse_form(schema, REVISION)
    validator = Draft202012Validator(schema, format_checker=FORMATS)
    rust = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    compiled, model = fastjsonschema.compile(schema), pydantic_model(schema)
    checks: dict[str, Callable[[], object]] = {
        OURS: lambda: check_answer(form, answer),
        "jsonschema": lambda: list(validator.iter_errors(answer)),
        "jsonschema-rs": lambda: rust.is_valid(answer),
        "fastjsonschema": lambda: compiled(answer),
        "pydantic": lambda: model.model_validate(answer),
    }
    turns = {name: _again(check) for name, check in checks.items()}
    bench.compare("an answer to a form that is at hand", turns, bars={"jsonschema": 1 / 15})


def _new(work: Callable[[dict[str, Any], dict[str, Any]], object]) -> Turn:
    return turn_of(work, form_and_answer)


def _again(work: Callable[[], object]) -> Turn:
    return turn_of(work, tuple)


def _imports(bench: Bench) -> None:
    """In processes of their own, timed inside: the start of Python does not count."""
    rounds = range(bench.rounds(15))
    samples = [_import("mcp", "handraise") for _ in rounds]
    both = {OURS: [mcp + ours for mcp, ours in samples], "mcp": [mcp for mcp, _ in samples]}
    bench.record("import mcp, then handraise", both, bars={"mcp": 1.05})
    alone = [_import("handraise", "handraise.forms") for _ in rounds]
    bench.state(
        "import, by itself",
        [
            Figure("handraise", 1000 * median(ours for ours, _ in alone), "ms", at_most=150),
            Figure("and its forms", 1000 * median(forms for _, forms in alone), "ms"),
        ],
    )


def _import(first: str, second: str) -> tuple[float, float]:
    program = (
        "from time import perf_counter as now\n"
        f"began = now(); import {first}; between = now(); import {second}; print(between - began, now() - between)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    one, other = map(float, done.stdout.split())
    return one, other
