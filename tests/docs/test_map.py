"""The map for contributors is true: its paths, names, targets and links exist."""

from __future__ import annotations

import re
import tomllib

import pytest
from tests.docs.snippets import ROOT

PACKAGE = ROOT / "src" / "handraise"
FILES = ["CONTRIBUTING.md", "docs/architecture.md", "SECURITY.md", "CHANGELOG.md", "RELEASING.md"]
TARGETS = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
MADE = {"dist/", "site/", "README.md", ".venv"}
PATH = re.compile(r"`([\w./-]+(?:\.(?:py|toml|md|html)|/))`((?:,? ?`\w+`)*)")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FILES[:2])
def test_every_path_of_the_map_exists_and_defines_the_names_beside_it(name: str) -> None:
    found = [(path, re.findall(r"`(\w+)`", names)) for path, names in PATH.findall(text_of(name))]
    paths = [(path, names) for path, names in found if path not in MADE]
    assert len(paths) > 15
    wrong = []
    for path, names in paths:
        [place] = [base / path for base in (ROOT, PACKAGE) if (base / path).exists()][:1] or [None]
        if place is None:
            wrong.append(path)
        elif place.is_file():
            source = place.read_text(encoding="utf-8")
            wrong += [f"{path} {each}" for each in names if not re.search(rf"(?:def|class) {each}\b", source)]
    assert not wrong


def test_the_map_is_in_the_order_of_the_layers() -> None:
    contracts = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers = [re.findall(r"handraise\.(\w+)", layer) for layer in reversed(contracts[0]["layers"])]
    rank = {name: number for number, names in enumerate(layers) for name in names}
    _, _, table = text_of("docs/architecture.md").partition("## The packages")
    rows = re.findall(r"(?m)^\| (`.*?) \|", table.partition("## ")[0])
    shown = [name for row in rows for name in re.findall(r"`(\w+)(?:\.py|/)`", row)]
    assert sorted(shown) == sorted(rank)
    assert [rank[name] for name in shown] == sorted(rank.values())


def test_every_package_is_on_the_map() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert not [name for name in packages if f"`{name}/`" not in text_of("docs/architecture.md")]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "RELEASING.md", ".github/pull_request_template.md"])
def test_every_target_that_contributors_are_told_of_exists(name: str) -> None:
    named = set(re.findall(r"(?:`|\$ )make ([a-z]+)", text_of(name)))
    assert named
    assert named <= TARGETS


@pytest.mark.parametrize("name", FILES)
def test_a_link_of_a_file_beside_the_readme_leads_somewhere(name: str) -> None:
    links = re.findall(r"\]\((?!https:)([^)#]+)", text_of(name))
    assert not [link for link in links if not (ROOT / name).parent.joinpath(link).exists()]
