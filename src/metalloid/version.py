"""The version, in the one place that the package, its wheel and its reports read it from."""

__version__ = "0.1.0"
