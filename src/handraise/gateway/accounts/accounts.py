"""The accounts of people at the servers: the vault that keeps them, and the pages that connect them.

Loaded when a server first asks for an account.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from handraise.errors import SetupError
from handraise.gateway.accounts.own_account import Invitation, OwnAccount
from handraise.gateway.peers import NOVEMBER
from handraise.gateway.upstreams import Source, Upstream
from handraise.issuers import AllowedAddresses, host_of
from handraise.questions import Accepted, Answer, Cancelled, Declined, Person, UrlQuestion
from handraise.this_user import local_person

if TYPE_CHECKING:
    from handraise.gateway.accounts.hosting import AccountPages, LocalPages, SharedPages
    from handraise.gateway.state import GatewayState
    from handraise.pages import Visit
    from handraise.pages.oauth import ConnectPage
    from handraise.vault import Vault

logger = logging.getLogger(__name__)

NAME: Final = "Handraise gateway"
_CODE: Final = "If the page asks for a code, type: {}"


@dataclass(frozen=True, slots=True)
class _Connecting:
    """An open page, and its outcome."""

    own: OwnAccount
    page: ConnectPage
    ended: asyncio.Future[Answer[Any]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class Accounts:
    """All accounts. Only requests of its person carry an account's token."""

    def __init__(
        self,
        state: GatewayState,
        *,
        public_url: str | None = None,
        reach: AllowedAddresses | None = None,
    ) -> None:
        """`reach`: addresses of authorization servers; default are public ones and the user's networks."""
        self.state = state
        self._reach = reach or AllowedAddresses(
            public_only=True, unsafe_networks=state.options.unsafe_networks
        )
        self._public_url = public_url
        self._known: dict[tuple[str, str | None], OwnAccount] = {}
        self._shared: SharedPages | None = None
        self._pages: dict[int, LocalPages] = {}
        self._waiting: dict[str, _Connecting] = {}
        self._vault: Vault | None = None
        self._store: Any = None
        self._opening = asyncio.Lock()

    def own(self, upstream: Upstream, person: Person | None) -> OwnAccount | None:
        """A person's account at a server; None for a process, or if the user configured an `Authorization` header."""
        if upstream.url is None or any(name.lower() == "authorization" for name in upstream.headers):
            return None
        who = person or local_person()
        key = who.key, upstream.url
        if key not in self._known:
            self._known[key] = OwnAccount(self, upstream, who)
        return self._known[key]

    def asker_for(self, upstream: Upstream) -> Source:
        """The asker of questions about accounts at a server: the gateway, not the server.

        It is one asker for each server. The attack: a server demands accounts until the limits keep others from it.
        """
        name = f"{NAME} for {upstream.name}"
        itself = Upstream(name, ("handraise", "gateway"), self._public_url, itself=True)
        return Source(itself, revision=NOVEMBER)

    def reach(self, upstream: Upstream) -> AllowedAddresses:
        """Addresses that the gateway may call to connect an account at a server. The server names them.

        A shared gateway calls public addresses only. A gateway for one user also calls the configured server's host,
        and this computer if the server is on it.
        """
        return self._reach if self._shared is not None else self._reach.for_server(str(upstream.url))

    def share(self, pages: SharedPages) -> None:
        """Use these pages for all people. Without them everybody counts as the user of this computer."""
        self._shared = pages

    async def vault(self) -> Vault:
        """The vault for tokens; in memory only, if there is no key."""
        async with self._opening:
            if self._vault is None:
                self._vault = await self._open_vault()
        return self._vault

    async def _open_vault(self) -> Vault:
        from handraise.stores import MemoryStore, own_or_named_store
        from handraise.vault import EphemeralKeys, Vault, default_keys

        self._store = own_or_named_store(self.state.options.store)
        vault = Vault(self._store.secrets, default_keys)
        try:
            await vault.require_key()
        except SetupError as error:
            logger.warning("connected accounts are forgotten when the gateway ends: %s", error)
            keys = EphemeralKeys()
            return Vault(MemoryStore().secrets, lambda: keys)
        return vault

    def pages(self, upstream: Upstream) -> AccountPages:
        """The pages for accounts at this server."""
        if self._shared is not None:
            return self._shared
        from handraise.gateway.accounts.hosting import LocalPages

        port = 0 if upstream.oauth is None else upstream.oauth.port
        if port not in self._pages:
            self._pages[port] = LocalPages(self.settle, port)
        return self._pages[port]

    async def invite(self, own: OwnAccount, page: ConnectPage, goes_to: str, because_of: str) -> Invitation:
        """Open a page for a person, or return the open one. `goes_to` is where they sign in."""
        from handraise.pages import VisitReason

        pages = self.pages(own.upstream)
        at = own.upstream.host  # the whole address may contain a key of the operator's
        why = f"{at} wants to know who you are. {pages.lasts}".rstrip()
        visit = pages.visits.open(
            page,
            own.person,
            VisitReason(NAME, None, because_of, why),
            key=" ".join([own.service, *page.account.scopes]),
            seconds=self.state.options.wait,
            code=pages.code(),
        )
        self._waiting = {
            known: each for known, each in self._waiting.items() if pages.visits.find_reference(known)
        }
        connecting = self._waiting.setdefault(visit.elicitation_id, _Connecting(own, page))
        text = (
            f"{own.upstream.name} ({at}) can be used with an account of your own. The page shows what "
            f"for, and leads you on to {host_of(goes_to)}, where you sign in. The gateway keeps the access for you "
            f"alone. {pages.lasts}"
        ).rstrip()
        if visit.code is not None:
            text = f"{text}\n\n{_CODE.format(visit.code)}"
        link = f"{await pages.open()}/{visit.id}"
        return Invitation(UrlQuestion(text, link, visit.elicitation_id), connecting.ended)

    async def settle(self, visit: Visit, answer: Answer[Any]) -> None:
        """Store the token before the page ends, then set the outcome."""
        connecting = self._waiting[visit.elicitation_id]
        own = connecting.own
        if isinstance(answer, Accepted):
            contents = own.dump(connecting.page.account, answer.data.grant)
            await (await self.vault()).keep(own.person, own.service, contents)
            own.connected(answer.data.grant)
        del self._waiting[visit.elicitation_id]
        if not connecting.ended.done():
            connecting.ended.set_result(answer)

    def withdraw(self, own: OwnAccount, invitation: Invitation, answer: Declined | Cancelled) -> None:
        """Close the page of a person who said no at their desk or client."""
        reference = str(invitation.question.elicitation_id)
        visits = self.pages(own.upstream).visits
        if (visit := visits.find_reference(reference)) is not None:
            visits.withdraw(visit, answer)
        self._waiting.pop(reference, None)

    async def aclose(self) -> None:
        """Withdraw open questions and stop listening."""
        for own in self._known.values():
            await own.aclose()
        for pages in self._pages.values():
            await pages.aclose()
        if self._store is not None:
            await self._store.aclose()
