#!/usr/bin/python3
"""A program that takes the name of a handler without being the handler. The arguments are those of `handler.py`."""

import handler

handler.main()
