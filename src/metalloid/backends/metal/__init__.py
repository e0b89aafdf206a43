"""Apple's GPUs, through Metal itself: PyObjC compiles and runs kernels. No Mac has run it yet."""
