"""The boundary: files, and only those inside the roots that the client and the configuration name."""

from handraise.server.boundary.boundary import Boundary
from handraise.server.boundary.files import FolderEntry
from handraise.server.boundary.handles import Handle

__all__ = ["Boundary", "FolderEntry", "Handle"]
