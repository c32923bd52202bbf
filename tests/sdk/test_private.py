"""Private names of other packages: `sdk/private.py` is the only module that uses one, and each can be taken away."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp import FastMCP
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from tests.server.peers import Person, accept, connect, text_of
from tests.server.rounds import accepted, by_hand

import handraise
from handraise import Handraise, ask, replayable
from handraise.errors import SetupError
from handraise.revisions import Revision
from handraise.sdk import adapter, private

SOURCE = Path(handraise.__file__).parent
ALLOWED = "sdk/private.py"
NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}
"""Public, in spite of their underscore."""
FRAMES = {
    "__closure__",
    "__code__",
    "__globals__",
    "cr_frame",
    "currentframe",
    "f_back",
    "f_locals",
    "gi_frame",
    "tb_frame",
}
"""What leads into somebody else's running code."""
BY_NAME = {"getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and len(name) > 1 and name not in NAMED_TUPLES


def names_of(tree: ast.AST) -> set[str]:
    """The names that a module gives to its own things."""
    own: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            own.add(node.attr)
        elif isinstance(node, ast.Assign) and any(
            getattr(each, "id", "") == "__slots__" for each in node.targets
        ):
            own |= {each.value for each in ast.walk(node.value) if isinstance(each, ast.Constant)}  # type: ignore[misc]
    return own


def imports_of(tree: ast.AST) -> set[str]:
    """The names that a module imports from other packages."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {
                (each.asname or each.name).partition(".")[0] for each in node.names if _is_foreign(each.name)
            }
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _is_foreign(node.module or ""):
            found |= {each.asname or each.name for each in node.names}
    return found


def private_names(source: str, known: frozenset[str] = frozenset()) -> Iterator[str]:
    """The private names of other packages that a module uses. `known` are names that it may inherit."""
    tree = ast.parse(source)
    own, imported = names_of(tree), imports_of(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (each.name for each in node.names if _has_private_part(each.name))
            case ast.ImportFrom(module=str(module), level=0) if _is_foreign(module):
                yield from (
                    each.name for each in node.names if is_private(each.name) or _has_private_part(module)
                )
            case ast.Attribute(attr=name) if name in FRAMES:
                yield name
            case ast.Attribute(attr="__dict__", value=value) if not _is_ours(value, tree):
                yield "__dict__"
            case ast.Attribute(attr=name, value=value) if is_private(name):
                inherited = _is_self(value) and name in known
                if _root(value) in imported or not (name in own or inherited):
                    yield name
            case ast.Call(func=func) if _called(func) == "vars" and node.args and not _is_self(node.args[0]):
                yield "vars"
            case ast.Call(func=func) if _called(func) in BY_NAME and not _is_self(node.args[0]):
                yield from _named_by_text(node.args[:2])
            case ast.Call(func=func) if _called(func) in ("import_module", "__import__"):
                yield from (text for text in map(_text, node.args) if _has_private_part(text))


def _named_by_text(arguments: list[ast.expr]) -> Iterator[str]:
    for argument in arguments:
        text = _text(argument)
        if is_private(text) or text in FRAMES or text == "__dict__":
            yield text


def _text(node: ast.expr) -> str:
    """A text that is written out, or how it begins."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=[first, *_]):
            return f"{_text(first)}…"
        case ast.BinOp(left=left):
            return f"{_text(left)}…"
    return ""


def _called(func: ast.expr) -> str:
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


def _root(node: ast.expr) -> str:
    """The name that a chain of attributes begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _is_ours(node: ast.expr, tree: ast.AST) -> bool:
    """Whether an object is of a class of ours: `self`, or a parameter that is said to be an error of ours."""
    errors = {
        each.arg
        for each in ast.walk(tree)
        if isinstance(each, ast.arg) and getattr(each.annotation, "id", "") == "HandraiseError"
    }
    return _is_self(node) or (isinstance(node, ast.Name) and node.id in errors)


def _is_foreign(module: str) -> bool:
    return module.partition(".")[0] not in ("handraise", "__future__")


def _has_private_part(module: str) -> bool:
    return any(is_private(part) for part in module.split("."))


@pytest.fixture(scope="module")
def modules() -> dict[str, str]:
    return {str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}


@pytest.mark.shows("N9")
def test_no_other_module_uses_a_private_name_of_another_package(modules: dict[str, str]) -> None:
    known = frozenset().union(*(names_of(ast.parse(source)) for source in modules.values()))
    found = {name: set(private_names(source, known)) for name, source in modules.items() if name != ALLOWED}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import mcp.shared._context",
        "from anyio import _core",
        "from asyncio._x import y",
        "import asyncio; asyncio._set_running_loop(None)",
        "def f(session): return session._connection",
        "def f(session): return getattr(session, '_connection', None)",
        "def f(session): return session.channel._queue",
        "def f(session, n): return getattr(session, f'_{n}')",
        "def f(session, n): return getattr(session, '_' + n)",
        "def f(session): return vars(session)['_connection']",
        "def f(session): return session.__dict__['_connection']",
        "import sys; sys._getframe(1)",
        "def f(other): return other.__closure__",
        "def f(task): return task.get_coro().cr_frame",
        "import inspect; inspect.currentframe()",
        "from importlib import import_module; import_module('mcp._private')",
    ],
)
def test_every_way_to_a_private_name_is_found(line: str) -> None:
    assert list(private_names(line))


@pytest.mark.parametrize(
    "line",
    [
        "class A:\n    def __init__(self): self._x = 1\n    def f(self, other): return other._x",
        "class B(A):\n    def f(self): return self._inherited",
        "from handraise.sdk import private; private.lowlevel_server(1)",
        "def f(row): return row._replace(x=1)",
        "def f(self): return self.__dict__",
    ],
)
def test_a_name_of_our_own_is_no_private_name_of_another_package(line: str) -> None:
    assert not list(private_names(line, frozenset({"_inherited"})))


# Each name can be taken away.


def test_importing_handraise_loads_no_sdk_whose_names_could_be_missing() -> None:
    script = (
        "import sys; from handraise import Handraise, ask; print(sys.modules.keys() & {'mcp', 'fastmcp'})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


class Without:
    """Takes a name away from us, and leaves it to the package that it belongs to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, taken: str) -> None:
        def found(thing: Any, name: str, *default: Any) -> Any:
            return getattr(thing, name if name != taken else "no such name", *default)

        assert taken in {each.name for each in private.NAMES}
        self._monkeypatch.setattr(private, "getattr", found, raising=False)
        self._monkeypatch.setattr(adapter, "_bodies", 0)  # other tests in this process have guards


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Without:
    return Without(monkeypatch)


def made(make: Any, **options: Any) -> Any:
    """A server with one tool, prompt and resource that may run again."""
    server = Handraise(**options).install(make("private"))

    @replayable
    async def work() -> str:
        return f"{(await ask.text('First?')).or_stop()} {(await ask.text('Second?')).or_stop()}"

    server.tool()(work)
    server.prompt()(work)
    server.resource("work://{run}")(replayable(_of_a_run))
    return getattr(server, "_mcp_server", server)


async def _of_a_run(run: str) -> str:
    return (await ask.text("First?")).or_stop()


@pytest.mark.shows("N9")
@pytest.mark.parametrize("make", [MCPServer, FastMCP])
@pytest.mark.parametrize("name", [each.name for each in private.NAMES])
async def test_asking_works_or_installing_is_refused_without_any_of_the_names(
    without: Without, name: str, make: Any, revision: Revision
) -> None:
    without(name)
    if (make, name) in ((MCPServer, "_lowlevel_server"), (FastMCP, "_mcp_server")):
        with pytest.raises(SetupError, match="keeps its lowlevel server where Handraise cannot find it"):
            Handraise().install(make("private"))
        return
    async with connect(made(make), revision, Person(accept(answer="1"), accept(answer="2"))) as client:
        assert text_of(await client.call_tool("work")) == "1 2"


REPLAYED = {
    "_tool_manager": "tools/call",
    "_prompt_manager": "prompts/get",
    "_resource_manager": "resources/read",
}


@pytest.mark.parametrize(("name", "method"), REPLAYED.items())
async def test_a_handler_that_cannot_be_found_is_not_replayed(
    without: Without, name: str, method: str, tmp_path: Path
) -> None:
    without(name)
    target = "work://1" if method == "resources/read" else "work"
    async with by_hand(made(MCPServer, store=tmp_path / "store.db")) as rounds:
        first = await rounds.call(target, {}, method=method)
        async with by_hand(made(MCPServer, store=tmp_path / "store.db")) as other:
            retry = {"state": first["requestState"], "responses": accepted(first, answer="1")}
            with pytest.raises(MCPError, match="may not run again by itself"):
                await other.call(target, {}, method=method, **retry)


@pytest.mark.parametrize(("make", "name"), [(MCPServer, "_tool_manager"), (FastMCP, "_inner")])
async def test_a_server_whose_guards_cannot_be_put_in_place_does_not_start(
    without: Without, make: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without(name)
    monkeypatch.setattr(adapter, "_bodies", 1)
    server = make("guarded")
    if make is FastMCP:
        server.mount(FastMCP("inner"), namespace="in")
    Handraise().install(server)
    with pytest.raises(SetupError, match="cannot see that each @guard"):
        async with connect(getattr(server, "_mcp_server", server), Revision.JULY_2026):
            raise AssertionError


async def test_a_mounted_server_without_the_context_of_its_request_says_so(without: Without) -> None:
    without("_srctx")
    parent, child = FastMCP("parent"), FastMCP("child")
    Handraise().install(child)

    @child.tool()
    async def greet() -> str:
        return (await ask.text("Who?")).or_stop()

    parent.mount(child, "in")
    async with connect(getattr(parent, "_mcp_server"), Revision.JULY_2026) as client:  # noqa: B009
        assert "outside of a request" in text_of(await client.call_tool("in_greet"))
