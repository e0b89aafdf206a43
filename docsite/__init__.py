"""What makes the pages of the documentation that no person writes, and the site of them all (`make docs`).

    python -m docsite.api            docs/api.md, from docstrings
    python -m docsite.variables      docs/environment.md, from metalloid.config
    python -m docsite.schemas        docs/json.md, from docs/schemas
    python -m docsite.pictures       docs/pictures, by a browser
    python -m docsite.sizes          what an installation takes

Tests fail where a committed page is not what its command writes.
"""
