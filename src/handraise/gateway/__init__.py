"""Any client, any server, any revision: Handraise between the two.

Nothing heavy is imported here or in the parts that only pass messages on: the server behind the gateway is started
before anything else, and what asking needs is loaded when the first question comes.
"""
