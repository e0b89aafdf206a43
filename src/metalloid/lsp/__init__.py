"""A language server: what is wrong with a kernel while it is written, what words mean, where names come from.

`server` speaks the protocol; the other files know nothing of it but positions: `texts` finds the Metal in a file,
`mistakes` lints it, `reference` explains words, `names` finds declarations, `fixes` mends what is certain.
"""
