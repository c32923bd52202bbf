"""For host authors: a callback that asks the person safely, and a client around it."""

from handraise.client.consent import Consent
from handraise.client.guarded import ConsentClient
from handraise.client.roots import Roots

__all__ = ["Consent", "ConsentClient", "Roots"]
