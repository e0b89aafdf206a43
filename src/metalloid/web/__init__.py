"""Pages that need nothing else: no script, no network, light and dark, readable on a telephone.

A page is a body in one frame with one style, whoever makes it: a check, a comparison, a bench. Everything of the
style is nested in one class, so that a part of a page can stand in a notebook and leave the notebook's own alone.
"""

from __future__ import annotations

from metalloid.web.frame import chips, document, embedded
from metalloid.web.made import made_by

__all__ = ["chips", "document", "embedded", "made_by"]
