"""A studio for kernels: a page of this machine with source, launch, result, findings, timelines and generated code.

`server` speaks HTTP on loopback, `gate` decides who may ask, `workers` runs each job in a process of its own that has
little time and memory, `jobs` is what such a process does, `page` is what the browser gets.
"""
