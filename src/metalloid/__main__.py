"""`python -m metalloid`: the command line, where the `metalloid` command is not on the path."""

from metalloid.cli import main

main()
