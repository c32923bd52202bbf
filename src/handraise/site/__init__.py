"""What every site that Handraise serves has in common: its look, its gate, and how it listens on this computer."""

from importlib.util import find_spec

from handraise.errors import SetupError

if find_spec("jinja2") is None:
    raise SetupError("The web desk and pages need jinja2. Install it with: pip install 'handraise[web]'")
