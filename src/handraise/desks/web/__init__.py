"""The web desk: questions answered in a browser on the person's own computer."""

from handraise.desks.web.desk import WebDesk

__all__ = ["WebDesk"]
