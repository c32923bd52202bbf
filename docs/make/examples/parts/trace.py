from handraise.trace import Direction, Trace, TracedMessage, TraceReader, show_json, show_text

question = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "elicitation/create",
    "params": {"message": "Which tea?", "requestedSchema": {"type": "object", "properties": {}}},
}
way: Direction = "to client"
crossing: TracedMessage = TraceReader().read(way, question, 0.25)
print(next(show_text(crossing)))
print(show_json(crossing)[:66])

lines: list[str] = []
Trace(lines.append, clock=lambda: 0.0).message("to client", question)
print(lines[0].splitlines()[0])
