"""Hosted pages for URL questions: what a client must not see is entered in the person's own browser."""

from handraise.pages.brand import Brand
from handraise.pages.fields import SecretField
from handraise.pages.identity import OwnSessions, SignIn, ThisComputer
from handraise.pages.options import Pages
from handraise.pages.outside_page import Errand, OutsidePage, sign_webhook
from handraise.pages.page import Page, Sitting
from handraise.pages.secret_page import SecretPage
from handraise.pages.setup_page import Setup, SetupPage
from handraise.pages.visits import About, Visit, Visits

__all__ = [
    "About",
    "Brand",
    "Errand",
    "OutsidePage",
    "OwnSessions",
    "Page",
    "Pages",
    "SecretField",
    "SecretPage",
    "Setup",
    "SetupPage",
    "SignIn",
    "Sitting",
    "ThisComputer",
    "Visit",
    "Visits",
    "sign_webhook",
]
