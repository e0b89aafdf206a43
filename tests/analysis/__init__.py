"""Direct tests of the analyses: IR in, facts out."""
