"""The kernels that `metalloid demo` runs."""
