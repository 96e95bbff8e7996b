#!/usr/bin/env python3
"""Checks that links and names of files in prose lead to something.

A relative link in Markdown must lead to a file, and to a heading of that file where the link names one. A name in backticks, in
Markdown or in a comment of Swift, must be the end of the path of a tracked file or folder if it looks like one of ours:

- it ends as sources and documents do, such as `Sessions/HandlerSession.swift` or `SECURITY.md`;
- it is a folder with a slash at its end and a capital letter at its beginning, such as `Callers/`;
- it is a path through one of our folders, such as `Tests/LayerTests`.

Blocks of code are not read. ELSEWHERE lists the names of files of the reader and of other projects.

Usage: .ci/references.py [FILE ...]
    FILE     Markdown files: only their links are checked. Without one, everything that git tracks is checked
"""

import re
import subprocess
import sys
from pathlib import Path

from prose import swift_comments

LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
# Double backticks are symbols, which DocC checks.
NAME = re.compile(r"(?<!`)`([\w.+-]+(?:/[\w.+-]+)*/?)`(?!`)")
OURS = re.compile(r".*\.(swift|md|py|c|h|ld)|[A-Z].*/")
ELSEWHERE = ("Sources/greeter/", "Sources/news/", "Tests/greeterTests/", "Type+Topic.swift", "CFBinaryPList.c")


def prose(lines):
    """Yields the (line number, line) pairs outside blocks of code."""
    is_code = False
    for number, line in lines:
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def lines_of(file):
    text = file.read_text(encoding="utf-8")
    return prose(swift_comments(text) if file.suffix == ".swift" else enumerate(text.splitlines(), 1))


def anchors(path):
    """Returns the names that forges give to the headings of a file."""
    names = set()
    for _, line in lines_of(path):
        heading = re.match(r"#+ (.*)", line)
        if heading:
            names.add(re.sub(r"[^\w\- ]", "", heading.group(1).lower()).replace(" ", "-"))
    return names


def links(file):
    """Yields (line number, what is wrong or None) for each relative link of a Markdown file."""
    for number, line in lines_of(file):
        for target in LINK.findall(re.sub(r"`+[^`]*`+", "code", line)):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            path, _, anchor = target.partition("#")
            destination = (file.parent / path if path else file).resolve()
            problem = None
            if not destination.exists():
                problem = f"{path} does not exist"
            elif anchor and destination.suffix == ".md" and anchor not in anchors(destination):
                problem = f"{path or file} has no heading #{anchor}"
            yield number, problem


def names(file, ends, folders):
    """Yields (line number, what is wrong or None) for each name in backticks that looks like a file or folder of ours."""
    for number, line in lines_of(file):
        for name in NAME.findall(line):
            is_path = "/" in name and name.split("/")[0] in folders
            if (is_path or OURS.fullmatch(name)) and not name.startswith(ELSEWHERE):
                yield number, None if name.rstrip("/") in ends else f"no file or folder is called {name}"


def tracked():
    command = ["git", "ls-files", "-z"]
    files = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return [Path(file) for file in files if Path(file).is_file()]


def main():
    files = [Path(argument) for argument in sys.argv[1:]] or tracked()
    found = [(file, *link) for file in files if file.suffix == ".md" for link in links(file)]
    checked = f"{len(found)} relative links"
    if not sys.argv[1:]:
        paths = {path for file in files for path in (file, *file.parents)}
        ends = {"/".join(path.parts[index:]) for path in paths for index in range(len(path.parts))}
        folders = {part for path in paths - set(files) for part in path.parts}
        texts = [file for file in files if file.suffix in (".md", ".swift")]
        named = [(file, *name) for file in texts for name in names(file, ends, folders)]
        checked += f" and {len(named)} names of files"
        found += named
    problems = [f"{file}:{number}: {problem}" for file, number, problem in found if problem]
    print("\n".join(problems + [f"{checked}, {len(problems)} of them broken"]))
    sys.exit(1 if problems else 0)


main()
