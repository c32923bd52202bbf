"""The compiled lexicon is what the files say, and nobody pays for it before the first form."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files

import pytest
from tests.secrets.compile import compile_lexicon, lexicon_files, written

import handraise.secrets
from handraise.secrets.lexicon import COMPILED, load

LANGUAGES = "ar cs de el en es fi fr he hi id it ja ko nl pl pt ru sv th tr uk vi zh"


@pytest.mark.slow
def test_the_compiled_lexicon_matches_its_files() -> None:
    kept = files(handraise.secrets).joinpath(COMPILED).read_text("utf-8")
    assert kept == written(compile_lexicon(lexicon_files())), "run: python -m tests.secrets.compile"
    assert json.loads(kept) == json.loads(json.dumps(compile_lexicon(lexicon_files())))


@pytest.mark.shows("S3")
def test_there_is_a_file_for_every_language() -> None:
    assert {f"{language}.txt" for language in LANGUAGES.split()} <= {name for name, _ in lexicon_files()}


def test_a_small_lexicon_reads_as_it_is_written() -> None:
    known = load(
        compile_lexicon(
            [("xx.txt", "order: first\nendings: 2\n[password]\n*Lösen*, mot de passe\n[head]\nlängd*\n")]
        )
    )
    assert known.phrases["losen*"].senses[0].kind == "password"
    assert "mot de" in known.beginnings
    assert "motdepasse" in known.phrases
    assert known.is_head("langd")
    assert list(known.forms_of("losens")) == ["losen*"]
    assert not list(known.forms_of("losenlangd"))


def test_the_lexicon_is_loaded_at_the_first_form_and_not_before() -> None:
    program = (
        "import handraise.secrets as s; from handraise.secrets.lexicon import lexicon; "
        "from handraise.forms import Form; assert lexicon.cache_info().currsize == 0; "
        "s.judge_form('Hello', Form.by_hand()); assert lexicon.cache_info().currsize == 1"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
