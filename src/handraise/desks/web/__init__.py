"""The web desk: questions answered in a browser on the person's own computer."""

from handraise.desks.web.site import WebDesk

__all__ = ["WebDesk"]
