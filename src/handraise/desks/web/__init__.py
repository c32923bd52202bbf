"""The web desk: questions answered in a browser on the person's own computer."""

from importlib.util import find_spec

from handraise.errors import SetupError

if find_spec("jinja2") is None:
    raise SetupError("The web desk needs jinja2. Install it with: pip install 'handraise[web]'")

from handraise.desks.web.desk import WebDesk

__all__ = ["WebDesk"]
