"""From templates to text. Text from others is made inert on its way into a page."""

from __future__ import annotations

import re
from importlib.resources import files
from types import CodeType
from typing import Final

from jinja2 import BytecodeCache, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape
from starlette.responses import Response

from handraise.display import UntrustedText, for_html, line_for_html

_WHOLE = 1_000_000
"""Where nothing may be left out, all is shown, however long it is."""

_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def line(text: UntrustedText | str) -> Markup:
    """Text of others on one line: a name, a label, a sentence with a name in it."""
    return Markup(line_for_html(_raw(text)))  # noqa: S704 - line_for_html escapes


def excerpt(text: UntrustedText | str) -> Markup:
    """Text of others run together into one line, where only its beginning is shown."""
    return line(re.sub(r"[ \n\r\t]+", " ", _raw(text)).strip())


def whole(text: UntrustedText | str) -> Markup:
    """Text of others with nothing left out."""
    return Markup(for_html(_raw(text), limit=_WHOLE))  # noqa: S704 - for_html escapes


def _raw(text: UntrustedText | str) -> str:
    return text.raw if isinstance(text, UntrustedText) else text


def commands(text: str) -> Markup:
    """Our own words with commands between backticks."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped above


def sentence(text: str) -> Markup:
    """Our own words as a sentence."""
    return escape(text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else "."))


class _Compiled(BytecodeCache):
    """Templates that were compiled: once in a process, however many sites it serves."""

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        assert bucket.code is not None
        self._code[bucket.key, bucket.checksum] = bucket.code


_COMPILED: Final = _Compiled()


def environment(*packages: str, static: str) -> Environment:
    """The templates of packages, which extend `site.html`. `static` is where the site's own files are served."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in (*packages, "handraise.site")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_COMPILED,
    )
    made.filters.update(line=line, excerpt=excerpt, whole=whole, sentence=sentence, commands=commands)
    made.globals["static"] = static
    return made


class StaticFiles:
    """The stylesheets, scripts and icons of a site: the common ones, and those that a package adds."""

    def __init__(self, *packages: str) -> None:
        self._files = {
            file.name: file
            for package in ("handraise.site", *packages)
            for file in files(package).joinpath("static").iterdir()
            if file.name.rpartition(".")[2] in _TYPES
        }

    def get(self, name: str) -> Response | None:
        """The file, None when there is none of that name."""
        if name not in self._files:
            return None
        return Response(self._files[name].read_bytes(), media_type=_TYPES[name.rpartition(".")[2]])
