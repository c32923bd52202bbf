"""`Handraise`: the options, and installing them into a server."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from handraise.conversation import Store, Terms
from handraise.errors import SetupError
from handraise.server.given import require_count, require_one_of, require_seconds, require_store, require_text
from handraise.server.hosted_at import Hosting, mount_pages, require_public_url
from handraise.server.middleware import AskingMiddleware
from handraise.server.registered import Registered
from handraise.server.runtime import RUNTIMES, Options, Runtime
from handraise.stores import MemoryStore
from handraise.stores.named import VARIABLE, named_store, require_place

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from handraise.ledger import Ledger
    from handraise.pages import Pages

S = TypeVar("S")

_NEEDED = (2, 0, 1)
_MEMORY_TIMEOUT = 300.0
_STORE_TIMEOUT = 3 * 86_400.0
_PUBLIC = "https://mcp.example.com"


class Handraise:
    """Asking, for one server or several.

    - `timeout`: seconds until nobody answering is `Expired`; five minutes, or three days with a durable store.
    - `hold`: how long a retry on 2026-07-28 waits for a browser flow before the link is shown again.
    - `max_questions`: how often one call may ask, questions asked again included. Clients stop at ten rounds.
    - `max_reasks`: how often an answer that does not fit is asked for again.
    - `max_parked`: how many questions may wait at once.
    - `retry_window`: how long an outcome is kept for the same retry arriving again.
    - `linger`: how long a body goes on after its caller left, once an answer was used; and how long it may tidy up
      after it heard of that at a question.
    - `keep_awake`: seconds between the progress notices of a waiting call on the legacy revisions.
    - `store`: where rounds and journals live: a path for an SQLite file, `postgresql://…` for several nodes, or any
      `Store`. HANDRAISE_STORE names one too. Memory by default.
    - `keys`: what a store that we open seals its contents with; share them between processes. The first one seals.
    - `resume`: `"park"` keeps bodies suspended, `"replay"` lets replayable ones go at every question.
    - `public_url`: where browsers reach this server; pages are served below it. A stdio server needs none.
    - `pages`: how pages are hosted: sign-in, brand, the vault's keys.
    - `ledger`: where questions and decisions are recorded: a path, a `Ledger`, or True for the store's tables, or the
      user's own file when the store is memory. HANDRAISE_LEDGER names one too. None by default: a library writes no
      files unasked.
    """

    def __init__(
        self,
        *,
        timeout: float | None = None,
        hold: float = 45.0,
        max_questions: int = 10,
        max_reasks: int = 3,
        max_parked: int = 100_000,
        retry_window: float = 60.0,
        linger: float = 10.0,
        keep_awake: float = 15.0,
        store: Store | str | os.PathLike[str] | None = None,
        keys: Sequence[bytes | str] | None = None,
        resume: Literal["park", "replay"] = "park",
        public_url: str | None = None,
        pages: Pages | None = None,
        ledger: Ledger | str | os.PathLike[str] | bool | None = None,
    ) -> None:
        if store is None:
            store = os.environ.get(VARIABLE) or None
        self._own_store = isinstance(store, str | os.PathLike)
        if isinstance(store, str | os.PathLike):
            store = named_store(store, keys=keys)
        elif keys is not None:
            raise SetupError("keys= seals the file that store= names; give a path, or keys to your own store")
        self.store: Store = MemoryStore() if store is None else require_store(store)
        if timeout is None:
            timeout = _STORE_TIMEOUT if self.store.durable else _MEMORY_TIMEOUT
        self._options = Options(
            timeout=require_seconds("timeout", timeout),
            hold=require_seconds("hold", hold),
            keep_awake=require_seconds("keep_awake", keep_awake),
            max_questions=require_count("max_questions", max_questions, least=1),
            max_reasks=require_count("max_reasks", max_reasks, least=0),
        )
        self._terms = Terms(
            linger=require_seconds("linger", linger, zero=True),
            retry_window=require_seconds("retry_window", retry_window),
            max_parked=require_count("max_parked", max_parked, least=1),
            forget_bodies=require_one_of("resume", resume, "park", "replay") == "replay",
        )
        self._public_url = None
        if public_url is not None:
            self._public_url = require_public_url(require_text("public_url", public_url, _PUBLIC))
        self._pages = None if pages is None else _require_pages(pages)
        self._ledger, self._own_ledger = _ledger(ledger, self.store)

    def install(self, server: S) -> S:
        """Make `ask` work inside a server's tools, prompts and resource templates; the server itself."""
        require_sdk()
        low, tool_error = lowlevel_server(server)
        if any(isinstance(middleware, AskingMiddleware) for middleware in low.middleware):
            raise SetupError("Handraise is installed on this server already")
        hosting = Hosting(low.name, self.store, self._public_url, self._pages)
        recorder = None
        if self._ledger is not None:
            from handraise.server.recording import Recorder

            recorder = Recorder(self._ledger, low.name, self.store, own=self._own_ledger)
        runtime = Runtime(
            low,
            lasting_name(server, low.name),
            self._options,
            self.store,
            self._terms,
            tool_error,
            hosting,
            Registered(server),
            recorder,
            own_store=self._own_store,
        )
        if tool_error is not None and tool_error is not ToolError:
            from handraise.server.fastmcp import carry_request

            runtime.carriers.append(carry_request)
        asking = AskingMiddleware(runtime)
        low.middleware.append(asking)
        low.lifespan = _wrapped(low, asking, runtime)
        RUNTIMES[low] = runtime
        if self._public_url is not None:
            mount_pages(server, runtime)
        return server

    def pages_app(self, server: object) -> ASGIApp:
        """The pages of an installed server, to be mounted at `/handraise` in any ASGI application.

        `MCPServer` and FastMCP servers have them in their own applications already.
        """
        runtime = RUNTIMES.get(lowlevel_server(server)[0])
        if runtime is None:
            raise SetupError("pages_app takes a server on which install(server) was called before")
        return runtime.pages.app()


def _wrapped(
    low: Server[Any], asking: AskingMiddleware, runtime: Runtime
) -> Callable[[Server[Any]], AbstractAsyncContextManager[Any]]:
    authors = low.lifespan

    @asynccontextmanager
    async def lifespan(server: Server[Any]) -> AsyncIterator[Any]:
        asking.arrange(low.middleware)  # now, because middleware may have been added since
        await runtime.tools.put_in_place()
        async with authors(server) as state, runtime.running():
            yield state

    return lifespan


def lowlevel_server(server: object) -> tuple[Server[Any], type[Exception] | None]:
    """The SDK's server behind any of the three, and what its framework shows to the model as an error."""
    if isinstance(server, MCPServer):
        return server._lowlevel_server, ToolError
    if isinstance(server, Server):
        return server, None
    if type(server).__module__.partition(".")[0] == "fastmcp" or hasattr(server, "_mcp_server"):
        from fastmcp.exceptions import ToolError as FastToolError

        return server._mcp_server, FastToolError  # type: ignore[attr-defined]
    raise SetupError(
        f"cannot install into {type(server).__name__}; give an MCPServer, a lowlevel Server or a FastMCP server"
    )


def lasting_name(server: object, name: str) -> str:
    """The name of a server without what is new with every process: FastMCP makes up an end for who was given none."""
    kind = type(server).__name__
    return kind if re.fullmatch(rf"{kind}-[0-9a-f]{{4}}", name) else name


def _require_pages(given: Pages) -> Pages:
    from handraise.pages import Pages

    if not isinstance(given, Pages):
        raise SetupError(f"pages takes handraise.pages.Pages(…), not {given!r}")
    return given


def _ledger(
    wanted: Ledger | str | os.PathLike[str] | bool | None, store: Store
) -> tuple[Ledger | None, bool]:
    """The ledger to keep, and whether it has a store of its own, to be let go of with it."""
    named = os.environ.get("HANDRAISE_LEDGER")
    if isinstance(wanted, str | os.PathLike):
        require_place(wanted, "ledger")
    if wanted is False or (wanted is None and not named):
        return None, False
    from handraise.ledger import Ledger
    from handraise.ledger.home import ledger_place

    if isinstance(wanted, Ledger):
        return wanted, False
    if isinstance(wanted, str | os.PathLike):
        return Ledger.at(wanted), True
    if wanted is not True and wanted is not None:
        raise SetupError(f"ledger takes a path, postgresql://…, a Ledger, True or False, not {wanted!r}")
    if store.durable and not named:
        return Ledger.of(store), False
    return Ledger.at(ledger_place()), True


def require_sdk() -> None:
    """Refuse an SDK that is too old, before anything breaks in a stranger way."""
    found = importlib.metadata.version("mcp")
    if tuple(int(part) for part in re.findall(r"\d+", found)[:3]) < _NEEDED:
        raise SetupError(
            f'mcp {found} is too old; Handraise needs 2.0.1 or newer: pip install "mcp>=2.0.1,<3"'
        )
