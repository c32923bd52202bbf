from handraise.forms import Form, Text
from handraise.pages import (
    BrowserAtPage,
    BrowserSignIn,
    OutsidePage,
    Page,
    SecretField,
    Setup,
    SetupPage,
    ThisComputer,
    Visit,
    VisitReason,
    Visits,
    sign_webhook,
)

pages: list[Page] = [
    SetupPage("Mail", Form.by_hand(Text("host")), (SecretField("password"),)),
    OutsidePage("Sign the lease", "https://sign.example/lease", webhook_key="0123456789abcdef"),
]
print([page.title for page in pages])

# The data that the other site sends when it is done.
print(sign_webhook("0123456789abcdef", b'{"reference": "7", "status": "finished"}', now=1_700_000_000)[:25])

# The people who may sign in: a user of this computer, or the people of your own sign-in.
door: BrowserSignIn = ThisComputer(user=1000)
print(type(door).__name__)
print([each.__name__ for each in (VisitReason, Setup, BrowserAtPage, Visit, Visits)])
