"""`Handraise`: the options, and installing them into a server."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, TypeVar

from handraise.calls import CallLimits, Store
from handraise.errors import SetupError
from handraise.forms import DEFAULT_LIMITS, Limits
from handraise.policy.places import DATABASE_URLS
from handraise.sdk.choose import adapter_for
from handraise.server.pages_host import mount_pages, require_public_url
from handraise.server.runtime import RUNTIMES, Runtime, ServerOptions
from handraise.stores import VARIABLE, MemoryStore, named_store, require_address

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from handraise.ledger import Ledger
    from handraise.pages import Pages


S = TypeVar("S")

_MEMORY_TIMEOUT = 300.0
_STORE_TIMEOUT = 3 * 86_400.0


class Handraise:
    """Adds `ask` to one server, or to several: `Handraise().install(server)`.

    - `timeout`: seconds until `Expired` is raised; five minutes, or three days with a durable store.
    - `hold`: how long a retry on 2026-07-28 waits while the person is in the browser. Then the client gets the link
      again.
    - `max_questions`: how often one call may ask, including questions that it asks again. Clients stop at ten rounds.
    - `max_reasks`: how often Handraise asks again after an invalid answer.
    - `limits`: how large a question may be, as `Limits(message=…, fields=…, options=…)`. Desks have the same limits in
      their `[forms]` table. Change both.
    - `max_parked`: how many questions may wait at once.
    - `retry_window`: how long the result of a retry is kept, in case the same retry comes again.
    - `linger`: how long a tool may clean up after its client left. After an answer was used, the call also waits this
      long for the same retry to come again.
    - `keep_awake`: seconds between the progress notices of a waiting call on the legacy revisions.
    - `store`: where rounds and journals are kept: a path for an SQLite file, `postgresql://…` for several nodes, or any
      `Store`. HANDRAISE_STORE names one too. Memory by default.
    - `keys`: the keys of the store that `store=` names. The first key encrypts. All keys decrypt. All processes that
      share a store need the same keys.
    - `resume`: `"park"` keeps tools suspended in memory. `"replay"` ends a replayable tool at every question.
    - `public_url`: the address at which browsers reach this server. Pages are below it. A stdio server needs none.
    - `pages`: how pages are hosted: sign-in, brand, the vault's keys.
    - `person`: a function from the SDK's verified access token to `(issuer, subject)`, or None for nobody. Give it if a
      token does not say whose it is: below mcp 1.28, or with a verifier that sets no subject.
    - `ledger`: where questions and decisions are recorded: a path, a `Ledger`, or True. True means the store's tables,
      or the user's own file when the store is memory. HANDRAISE_LEDGER names one too. None by default.
    - `node_url`: removed. Giving it raises `SetupError`.
    """

    def __init__(
        self,
        *,
        timeout: float | None = None,
        hold: float = 45.0,
        max_questions: int = 10,
        max_reasks: int = 3,
        limits: Limits = DEFAULT_LIMITS,
        max_parked: int = 100_000,
        retry_window: float = 60.0,
        linger: float = 10.0,
        keep_awake: float = 15.0,
        store: Store | str | os.PathLike[str] | None = None,
        keys: Sequence[bytes | str] | None = None,
        resume: Literal["park", "replay"] = "park",
        public_url: str | None = None,
        pages: Pages | None = None,
        person: Callable[[Any], tuple[str, str] | None] | None = None,
        ledger: Ledger | str | os.PathLike[str] | bool | None = None,
        node_url: None = None,
    ) -> None:
        if node_url is not None or "HANDRAISE_NODE_URL" in os.environ:  # type: ignore[redundant-expr]
            raise SetupError(
                "node_url= and HANDRAISE_NODE_URL were removed: with several nodes, route each session to its node "
                "(sticky routing)"
            )
        if store is None:
            store = os.environ.get(VARIABLE) or None
        own_store = isinstance(store, str | os.PathLike)
        if isinstance(store, str | os.PathLike):
            store = named_store(store, keys=keys)
        elif keys is not None:
            raise SetupError("keys= seals the file that store= names; give a path, or keys to your own store")
        self.store: Store = MemoryStore() if store is None else store
        _require("store", _is_store(self.store), f"a path, {DATABASE_URLS} or a Store", store)
        if timeout is None:
            timeout = _STORE_TIMEOUT if self.store.durable else _MEMORY_TIMEOUT
        if public_url is not None:
            _require("public_url", _is_text(public_url), "text like https://mcp.example.com", public_url)
            public_url = require_public_url(public_url)
        if pages is not None:
            from handraise.pages import Pages

            _require("pages", isinstance(pages, Pages), "handraise.pages.Pages(…)", pages)
        takes_token = person is None or callable(person)
        _require("person", takes_token, "a function from an access token to (issuer, subject)", person)
        _require("resume", resume in ("park", "replay"), "'park' or 'replay'", resume)
        _require("limits", isinstance(limits, Limits), "handraise.forms.Limits(…)", limits)
        self._options = ServerOptions(
            store=self.store,
            own_store=own_store,
            calls=CallLimits(
                linger=require_seconds("linger", linger, zero=True),
                retry_window=require_seconds("retry_window", retry_window),
                max_parked=require_count("max_parked", max_parked, least=1),
                forget_handlers=resume == "replay",
            ),
            timeout=require_seconds("timeout", timeout),
            hold=require_seconds("hold", hold),
            keep_awake=require_seconds("keep_awake", keep_awake),
            max_questions=require_count("max_questions", max_questions, least=1),
            max_reasks=require_count("max_reasks", max_reasks, least=0),
            size=limits,
            identify=person,
            public_url=public_url,
            pages=pages,
        )
        self._ledger, self._own_ledger = _ledger(ledger, self.store)

    def install(self, server: S) -> S:
        """Make `ask` work inside a server's tools, prompts and resource templates. Returns the server."""
        adapter = adapter_for(server)
        recorder = None
        if self._ledger is not None:
            from handraise.server.recording import Recorder

            recorder = Recorder(self._ledger, adapter.name, self.store, own=self._own_ledger)
        runtime = Runtime(adapter, self._options, recorder)
        adapter.install(runtime)
        RUNTIMES.add(runtime)
        _INSTALLED[server] = runtime
        if self._options.public_url is not None:
            mount_pages(runtime)
        return server

    def pages_app(self, server: object) -> ASGIApp:
        """The pages of an installed server, to be mounted at `/handraise` in any ASGI application.

        `MCPServer` and FastMCP servers have them in their own applications already.
        """
        runtime = _INSTALLED.get(server)
        if runtime is None:
            raise SetupError("pages_app takes a server on which install(server) was called before")
        return runtime.pages.app()


_INSTALLED: weakref.WeakKeyDictionary[object, Runtime] = weakref.WeakKeyDictionary()
"""The runtime of each server that Handraise is installed in."""


def _ledger(
    wanted: Ledger | str | os.PathLike[str] | bool | None, store: Store
) -> tuple[Ledger | None, bool]:
    """The ledger, and whether its store must be closed with it."""
    named = os.environ.get("HANDRAISE_LEDGER")
    if isinstance(wanted, str | os.PathLike):
        require_address(wanted, "ledger")
    if wanted is False or (wanted is None and not named):
        return None, False
    from handraise.ledger import Ledger
    from handraise.ledger.own_ledger import ledger_place

    if isinstance(wanted, Ledger):
        return wanted, False
    if isinstance(wanted, str | os.PathLike):
        return Ledger.at(wanted), True
    is_switch = wanted is True or wanted is None
    _require("ledger", is_switch, f"a path, {DATABASE_URLS}, a Ledger, True or False", wanted)
    if store.durable and not named:
        return Ledger.of(store), False
    return Ledger.at(ledger_place()), True


def _require(name: str, fits: bool, allowed: str, value: object) -> None:
    if not fits:
        raise SetupError(f"{name} takes {allowed}, not {value!r}")


def require_seconds(name: str, value: object, *, zero: bool = False) -> float:
    """A finite number of seconds, above zero unless zero is allowed."""
    if _is_number(value) and (0 < value < math.inf or (zero and value == 0)):
        return value
    raise SetupError(f"{name} takes a number of seconds{'' if zero else ' above 0'}, not {value!r}")


def require_count(name: str, value: object, *, least: int) -> int:
    """A whole number that is not too small."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise SetupError(f"{name} takes a whole number from {least} on, not {value!r}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _is_store(value: object) -> bool:
    return callable(getattr(value, "open_round", None)) and hasattr(value, "durable")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
