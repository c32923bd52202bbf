from handraise.forms import Form, Text
from handraise.pages import (
    About,
    OutsidePage,
    Page,
    SecretField,
    Setup,
    SetupPage,
    SignIn,
    Sitting,
    ThisComputer,
    Visit,
    Visits,
    sign_webhook,
)

pages: list[Page] = [
    SetupPage("Mail", Form.by_hand(Text("host")), (SecretField("password"),)),
    OutsidePage("Sign the lease", "https://sign.example/lease", webhook_key="0123456789abcdef"),
]
print([page.title for page in pages])

# What the other site sends to say that it is done.
print(sign_webhook("0123456789abcdef", b'{"status": "finished"}', now=1_700_000_000)[:25])

# Who is let in: a user of this computer, or whoever a sign-in of yours knows.
door: SignIn = ThisComputer(user=1000)
print(type(door).__name__)
print([each.__name__ for each in (About, Setup, Sitting, Visit, Visits)])
