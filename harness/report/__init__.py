"""The report: one value (``model``), and the renderers that show it."""
