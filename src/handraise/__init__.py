"""Handraise: an MCP server that is about to guess raises its hand and asks the person instead."""
