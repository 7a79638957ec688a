"""`python -m sigmastar`: the command line, for interpreters whose scripts are not on the path."""

from sigmastar.cli import main

main()
