#!/usr/bin/env python3
"""Counts sentences in comments and in Markdown that begin with a relative clause, and fails above a bound.

A relative clause or a question word in the place of the subject makes a sentence hard to follow. CONTRIBUTING.md says how to write
instead.

Usage: .ci/prose.py [--list] [FILE ...]
    --list   print the sentences that count, with their places
    FILE     the Swift and Markdown files to read; without one, those that git tracks
"""

import re
import subprocess
import sys
from pathlib import Path

# A sentence that begins with one of these has a clause for a subject, or no subject.
OPENERS = {"what", "who", "whoever", "those", "that", "which", "whose", "where", "how", "of"}
OPENER_BOUND = 0.01

FIELD = re.compile(r"^- (Parameters?|Returns|Throws|Note|Warning|Important|SeeAlso)( [\w:]+)?:\s*")
BULLET = re.compile(r"^(- [\w`(_:]+\)?:\s|[-*] |\d+\. )")


def paragraphs(lines):
    """Yields (line number, text) for each run of prose in (line number, text) lines."""
    start, words, is_code = 0, [], False
    for number, line in lines:
        text = line.strip()
        if text.startswith("```"):
            is_code = not is_code
            text = ""
        elif is_code:
            text = ""
        elif text.startswith("MARK:") or re.match(r"^(#|\||<)", text):
            text = ""
        begins = FIELD.match(text) or BULLET.match(text)
        if (not text or begins) and words:
            yield start, " ".join(words)
            words = []
        if begins:
            text = BULLET.sub("", FIELD.sub("", text))
        if text:
            if not words:
                start = number
            words.append(text)
    if words:
        yield start, " ".join(words)


def swift_comments(text):
    """Yields the comment lines of Swift source, with a blank line wherever code ends a comment."""
    in_string = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.count('"""') % 2:
            in_string = not in_string
        match = None if in_string else re.match(r"///?(?!/)(.*)", stripped)
        yield number, match.group(1) if match else ""


def sentences(text):
    # What stands in backticks is a name: one word that begins no sentence and ends none.
    text = re.sub(r"`+[^`]+`+", "CODE", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"https?://\S+", "CODE", text)
    for sentence in re.split(r"(?<=[.!?:;])\s+(?=[A-Z(“\"])", text):
        if len(re.findall(r"[A-Za-z]+", sentence)) > 1:
            yield sentence


def count(paths, should_list):
    total, opened = 0, 0
    for path in paths:
        text = Path(path).read_text(encoding="utf-8")
        is_swift = path.endswith(".swift")
        lines = swift_comments(text) if is_swift else enumerate(text.splitlines(), 1)
        for number, paragraph in paragraphs(lines):
            for sentence in sentences(paragraph):
                total += 1
                words = [word.lower() for word in re.findall(r"[A-Za-z]+", sentence)]
                is_question = sentence.endswith("?")
                if words[0] in OPENERS and not is_question:
                    opened += 1
                    if should_list:
                        print(f"{path}:{number}: {sentence}")
    return total, opened


def main():
    arguments = sys.argv[1:]
    should_list = "--list" in arguments
    files = [argument for argument in arguments if not argument.startswith("-")]
    if not files:
        command = ["git", "ls-files", "*.swift", "*.md"]
        files = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    failed = False
    for kind, ending in [("comments", ".swift"), ("Markdown", ".md")]:
        paths = [file for file in files if file.endswith(ending) and Path(file).exists()]
        if not paths:
            continue
        total, opened = count(paths, should_list)
        print(
            f"{kind}: {total} sentences; {opened} ({opened / max(total, 1):.1%}) begin with a clause, "
            f"bound {OPENER_BOUND:.1%}"
        )
        failed = failed or opened > OPENER_BOUND * total
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
