"""The common parts of every site that Handraise serves: look, middleware and listener on this computer."""

from importlib.util import find_spec

from handraise.errors import SetupError

if find_spec("jinja2") is None:
    raise SetupError("The web desk and pages need jinja2. Install it with: pip install 'handraise[web]'")
