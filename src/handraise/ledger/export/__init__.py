"""The ledger in the formats of other programs: JSON Lines, CSV, CloudEvents, OpenTelemetry."""

from handraise.ledger.export.formats import FORMATS, Exporter

__all__ = ["FORMATS", "Exporter"]
