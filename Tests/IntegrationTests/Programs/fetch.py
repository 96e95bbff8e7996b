"""Prints the page at a URL, or the status of the error."""

import sys, urllib.error, urllib.request

try:
    print(urllib.request.urlopen(sys.argv[1]).read().decode())
except urllib.error.HTTPError as answer:
    print(answer.code)
