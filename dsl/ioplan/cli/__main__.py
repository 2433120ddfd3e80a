"""`python -m ioplan.cli`."""

from ioplan.cli import main

main()
