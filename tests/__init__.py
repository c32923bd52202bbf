"""Everything that shows what Handraise does. A package, because others install one of this name too."""
