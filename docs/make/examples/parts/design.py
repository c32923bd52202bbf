from pathlib import Path
from tempfile import mkdtemp

from handraise.design import (
    Argument,
    Branch,
    Proposal,
    Refusal,
    ToolDescription,
    load_function,
    propose,
    tool_of_function,
    tool_of_schema,
)

folder = Path(mkdtemp())
(folder / "notes_tools.py").write_text('def delete_note(title: str) -> str:\n    """Delete a note."""\n')
subject: ToolDescription = tool_of_function(load_function("notes_tools:delete_note", folder))
arguments: tuple[Argument, ...] = subject.arguments
print(subject.name, [argument.name for argument in arguments])

for each in (
    subject,
    tool_of_schema("list_notes", "The notes.", {"type": "object"}, {"readOnlyHint": True}),
):
    match propose(each):
        case Proposal(message=message, branches=branches):
            branch: Branch = branches[0]
            print("ask:", message, "| then", branch.outcome)
        case Refusal(reason=reason):
            print("do not ask:", reason)
