#!/usr/bin/python3
"""A handler that ends at its start."""

import no_such_module
