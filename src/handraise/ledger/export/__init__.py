"""The ledger in the formats of other programs: JSON Lines, CSV, CloudEvents, OpenTelemetry."""

from handraise.ledger.export.formats import FORMATS, Exporter
from handraise.ledger.export.tables import json_line

__all__ = ["FORMATS", "Exporter", "json_line"]
