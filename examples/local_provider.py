"""An OpenID provider on this computer, to try connecting accounts with: `python examples/local_provider.py [PORT]`

It is Canaille (https://canaille.readthedocs.io), with two people, ann and bob, whose password is "correct horse". Any
program may register as a client. Everything is in memory and gone when it ends.
"""

import sys

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from joserfc.jwk import RSAKey

PEOPLE = ("ann", "bob")
PASSWORD = "correct horse"  # noqa: S105 - of made-up people, on this computer only


def serve(port: int) -> None:
    """Serve until the process is ended."""
    key = RSAKey.generate_key(2048, auto_kid=True).as_dict(private=True)
    app = create_app(
        config={
            "SECRET_KEY": "for this computer only",
            "SERVER_NAME": f"127.0.0.1:{port}",
            "PREFERRED_URL_SCHEME": "http",
            "CANAILLE": {
                "NAME": "Issue Place",
                "DATABASE": "memory",
                "JAVASCRIPT": False,
                "SMTP": None,
                "CAPTCHA_ENABLED": False,
            },
            "CANAILLE_OIDC": {
                "DYNAMIC_CLIENT_REGISTRATION_OPEN": True,
                "ACTIVE_JWKS": [{name: value for name, value in key.items() if isinstance(value, str)}],
                "TRUSTED_DOMAINS": [],  # so that people are asked
            },
        }
    )
    with app.app_context(), Backend.instance.session():
        for name in PEOPLE:
            person = models.User(
                user_name=name,
                formatted_name=name.title(),
                family_name=name.title(),
                emails=[f"{name}@example.com"],
                password=PASSWORD,
            )
            Backend.instance.save(person)
    app.run("127.0.0.1", port, threaded=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]) if len(sys.argv) > 1 else 8913)
