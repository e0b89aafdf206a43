"""Reading Python files without running them."""
