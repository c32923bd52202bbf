"""Every page that is made from code, with what makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final

from docs.make.clients import clients_page
from docs.make.commands import commands_page
from docs.make.configuration import configuration_page
from docs.make.errors import errors_page
from docs.make.flows import FLOWS
from docs.make.names import names_page
from docs.make.requirements import requirements_page
from docs.make.wire import flow_page, index_page

ROOT: Final = Path(__file__).parents[2]

PAGES: Final[Mapping[str, Callable[[], str]]] = MappingProxyType(
    {
        "docs/clients.md": clients_page,
        "docs/reference/commands.md": commands_page,
        "docs/reference/configuration.md": configuration_page,
        "docs/reference/errors.md": errors_page,
        "docs/reference/names.md": names_page,
        "docs/requirements.md": requirements_page,
        "docs/wire/index.md": index_page,
        **{f"docs/wire/{flow.name}.md": partial(flow_page, flow) for flow in FLOWS},
    }
)
"""The path of each page below the root, and the function that gives its text."""
