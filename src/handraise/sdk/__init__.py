"""The only place that touches mcp and FastMCP: one adapter for each generation behind one small protocol.

`adapter.py` is the protocol, without SDK types. `private.py` lists every private name of the SDKs that we use.
"""
