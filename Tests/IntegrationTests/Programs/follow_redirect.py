#!/usr/bin/python3
"""A browser that is signed in: it notes each address, and goes straight to the redirect_uri."""
import subprocess, sys, urllib.parse, urllib.request

log, url = sys.argv[1], sys.argv[2]
with open(log, "a") as file:
    file.write(url + "\n")
parameters = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)
if redirect := parameters.get("redirect_uri"):
    callback = f"{redirect[0]}?code=1&state={parameters['state'][0]}"
    if callback.startswith("http:"):
        urllib.request.urlopen(callback).read()
    else:
        subprocess.run(["gio", "open", callback], check=True)
