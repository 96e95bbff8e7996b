#!/usr/bin/env python3
"""Checks that every relative link in Markdown leads to a file, and to a heading of that file where the link names one.

Usage: .ci/links.py [FILE ...]
    FILE     the Markdown files to read; without one, those that git tracks
"""

import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")


def prose(path):
    """Yields (line number, line) without what stands in blocks of code and in backticks."""
    is_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, re.sub(r"`+[^`]*`+", "code", line)


def anchors(path):
    """Returns the names that forges give to the headings of a file."""
    names, is_code = set(), False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_code = not is_code
        heading = None if is_code else re.match(r"#+ (.*)", line)
        if heading:
            name = re.sub(r"[^\w\- ]", "", heading.group(1).lower()).replace(" ", "-")
            names.add(name)
    return names


def problem(file, target):
    path, _, anchor = target.partition("#")
    destination = (file.parent / path if path else file).resolve()
    if not destination.exists():
        return f"{path} does not exist"
    if anchor and destination.suffix == ".md" and anchor not in anchors(destination):
        return f"{path or file} has no heading #{anchor}"
    return None


def main():
    files = sys.argv[1:]
    if not files:
        command = ["git", "ls-files", "*.md"]
        files = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    problems, count = [], 0
    for file in map(Path, filter(None, files)):
        for number, line in prose(file):
            for target in LINK.findall(line):
                if re.match(r"[a-z][a-z0-9+.-]*:", target):
                    continue
                count += 1
                found = problem(file, target)
                if found:
                    problems.append(f"{file}:{number}: {found}")
    print("\n".join(problems + [f"{count} relative links in Markdown, {len(problems)} of them broken"]))
    sys.exit(1 if problems else 0)


main()
