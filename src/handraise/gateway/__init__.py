"""The gateway: Handraise between any client and any server, on any revision.

Parts that only pass messages on import nothing heavy. The gateway starts its server first, and loads what asking needs
when the first question comes.
"""
