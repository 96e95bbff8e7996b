#!/usr/bin/python3
import sys, urllib.parse
url = sys.argv[1]
way, _, rest = url.partition(":")[2].partition("/")
plain = urllib.parse.unquote_plus(url)
print({
    "raw": "cannot open " + url,
    "plain": "cannot open " + plain,
    "upper": "CANNOT OPEN " + plain.upper(),
    "long": "x" * 270 + " " + url,
    "longer": "x" * 4076 + " " + url,
    "value": "the value " + plain.rpartition("=")[2] + " is wrong",
    "json": '{"url":"' + url.replace("/", "\\/") + '"}',
}[way], file=sys.stderr)
sys.exit(1)
