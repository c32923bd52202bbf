"""The only place that touches mcp and FastMCP: one adapter for each generation behind one small protocol.

`adapter.py` is the protocol, free of any SDK's types. `private.py` lists every private name that we use of them.
"""
