"""Where kernels run: each backend takes a module and a launch."""
