"""Secrets: a form of five fields judged on a warm process, an answer scanned, and how right the judge is.

A form comes with a new message each time, as a server that puts live data into it would send it; then with
new texts throughout, which nobody can remember.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from time import perf_counter
from typing import Any

from bench.measure import OURS, Bench, Figure, Turn, turn_of
from tests.secrets.labelled import open_examples, own_forms, own_phrases, score

from handraise.forms import Choice, Flag, Form, Integer, Text
from handraise.secrets import judge_form, scan_answer

ANSWER = {
    "title": "Notes on the meeting in Berlin",
    "max_tokens": 4096,
    "color": "blue",
    "pin_to_top": False,
    "link": "https://example.com/notes/550e8400-e29b-41d4-a716-446655440000",
}
MESSAGES = (
    "Note {n}: where should it go, and who may read it?",
    "Notiz {n}: Wohin soll sie, und wer darf sie lesen?",
    "Заметка {n}: куда её положить и кто может её читать?",
    "メモ{n}：どこに置きますか？",
)

numbers = count()


def run(bench: Bench) -> None:
    """Judge and scan against the bars, start from nothing, then score the labelled sets."""
    form = _form("")
    judged: dict[str, Turn] = {
        OURS: turn_of(judge_form, lambda: (_message(), form)),
        "bar of 250 µs": lambda: 250e-6,
    }
    bench.compare("a form of 5 fields under a new message, judged", judged, bars={"bar of 250 µs": 1.0})
    unseen: dict[str, Turn] = {OURS: turn_of(judge_form, lambda: (_message(), _form(f" {next(numbers)}")))}
    bench.compare("a form of 5 fields whose texts are all new, judged", unseen)
    bench.compare("an answer of 5 fields, scanned", {OURS: turn_of(scan_answer, lambda: (ANSWER,))})
    bench.compare("a new process: import and the first form", {OURS: _from_nothing}, rounds=5)
    bench.state("how right the judge is", list(_quality()))


def _message() -> str:
    number = next(numbers)
    return MESSAGES[number % len(MESSAGES)].format(n=number)


def _form(suffix: str) -> Form[Any]:
    return Form.by_hand(
        Text("title", title=f"Title of the note{suffix}", description=f"Shown in the list of notes{suffix}"),
        Integer("max_tokens", title=f"Token budget{suffix}"),
        Choice("color", [f"red{suffix}", f"blue{suffix}"]),
        Flag("pin_to_top"),
        Text("link", title=f"Link{suffix}", format="uri"),
    )


def _from_nothing() -> float:
    program = (
        "from handraise.secrets import judge_form; from handraise.forms import Form, Text; "
        "judge_form('Where to?', Form.by_hand(Text('city')))"
    )
    started = perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return perf_counter() - started


def _quality() -> Iterator[Figure]:
    for name, forms in {
        "open examples": open_examples(),
        "own forms": own_forms(),
        "phrases": [*own_phrases()],
    }.items():
        result = score(forms)
        yield Figure(f"{name}, recall of credentials", result.recall, at_least=0.95)
        yield Figure(f"{name}, false alarms", result.false_alarms, at_most=0.03)
