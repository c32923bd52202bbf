"""Accounts that people connect by OAuth, and signing in to pages through an authorization server."""

from importlib.util import find_spec

from handraise.errors import SetupError

if find_spec("authlib") is None or find_spec("joserfc") is None:
    raise SetupError("Connecting accounts needs Authlib. Install it with: pip install 'handraise[oauth]'")

from handraise.pages.oauth.account import Account, ConnectPage
from handraise.pages.oauth.authorization import Token
from handraise.pages.oauth.discovery import Endpoints, FromVariable
from handraise.pages.oauth.sign_in import SignInAt

__all__ = ["Account", "ConnectPage", "Endpoints", "FromVariable", "SignInAt", "Token"]
