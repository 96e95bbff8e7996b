"""Runs lines of shell without the descriptors of this process: close_descriptors.py LINES

Foundation waits until every process has closed a descriptor that all children of the shell inherit.
"""

import os, sys

os.closerange(3, os.sysconf("SC_OPEN_MAX"))
os.execvp("sh", ["sh", "-c", sys.argv[1]])
