"""Block the server that asks: for this session, or always. Nothing is preselected."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from handraise.desks.clerk import Block
from handraise.desks.terminal.writing import Plain, Row


class BlockScreen(ModalScreen[Block | None]):
    """Asks for how long. Going back decides nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "block('session')"),
        Binding("a", "block('always')"),
        Binding("escape,ctrl+c,ctrl+q", "back", priority=True),
    ]

    def __init__(self, asker: str) -> None:
        super().__init__()
        self._asker = asker

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Plain(f"Block {self._asker}?", classes="title")
            yield Plain("This question is declined, and no other one of this server reaches you.")
            yield Row("S", "for this session")
            yield Row("A", "always, until you undo it: handraise policy undo")
            yield Row("Esc", "back; nothing is decided")

    def action_block(self, block: Block) -> None:
        self.dismiss(block)

    def action_back(self) -> None:
        self.dismiss(None)

    def before_key(self, key: str) -> None:
        """Nothing here depends on the keys before."""
