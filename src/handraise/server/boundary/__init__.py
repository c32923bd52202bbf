"""The boundary: files, and only those inside the roots that the client and the configuration name."""

from handraise.server.boundary.boundary import Boundary, Handle
from handraise.server.boundary.files import FolderEntry

__all__ = ["Boundary", "FolderEntry", "Handle"]
