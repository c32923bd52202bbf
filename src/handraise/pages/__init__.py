"""Hosted pages for URL questions. A person enters data in their browser, and the client never sees it."""

from handraise.pages.entry_pages import SecretField, SecretPage, Setup, SetupPage
from handraise.pages.identity import BrowserSignIn, OwnSessions, ThisComputer
from handraise.pages.outside_page import OutsidePage, OutsideRequest, sign_webhook
from handraise.pages.page import Brand, BrowserAtPage, Page, Visit, VisitReason, Visits
from handraise.pages.site import Pages

__all__ = [
    "Brand",
    "BrowserAtPage",
    "BrowserSignIn",
    "OutsidePage",
    "OutsideRequest",
    "OwnSessions",
    "Page",
    "Pages",
    "SecretField",
    "SecretPage",
    "Setup",
    "SetupPage",
    "ThisComputer",
    "Visit",
    "VisitReason",
    "Visits",
    "sign_webhook",
]
