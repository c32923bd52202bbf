"""The gateway's own desk: opened when somebody is asked there, and closed to whatever the client started."""
