#!/usr/bin/env python3
"""Collects the texts that people see from the Swift sources, and checks the translations.

A text is a literal in a call of `translated` or `translatedOnly` (Sources/Translations). Its interpolations become `%1$s`, `%2$s`
and so on. A comment that begins with "Translators:", on the line before the call, is for the translators.

Usage: .ci/translations.py [--update | --pseudo FILE]
    without an option: checks that Packaging/po/openurl.pot has the texts of the sources, and that each translation is complete
    --update:          writes openurl.pot, and merges it into the translations
    --pseudo FILE:     writes a translation in which each letter is replaced, for the tests
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PO = ROOT / "Packaging/po"
TEMPLATE = PO / "openurl.pot"
MARKS = ("translated", "translatedOnly")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}


class Scanner:
    """Splits Swift into tokens: ("word", text), ("mark", character) and ("text", pieces), each with its line.

    The pieces of a literal are strings, and None for each interpolation, whose tokens are a list of their own.
    """

    def __init__(self, path, source):
        self.path, self.source, self.place = path, source, 0
        self.tokens, self.comments = [], {}
        self.lists = [self.tokens]

    def fail(self, problem):
        sys.exit(f"{self.path}:{self.source.count(chr(10), 0, self.place) + 1}: {problem}")

    def add(self, kind, value, start):
        self.tokens.append((kind, value, self.source.count("\n", 0, start) + 1))

    def scan(self, end=None):
        """Scans up to the end of the source, or up to the parenthesis that closes an interpolation."""
        depth = 0
        while self.place < len(self.source):
            start, rest = self.place, self.source[self.place:self.place + 3]
            character = rest[0]
            if rest.startswith("//"):
                self.place = (self.source + "\n").index("\n", start)
                self.comments[self.source.count("\n", 0, start) + 1] = self.source[start:self.place].lstrip("/ ")
            elif rest.startswith("/*"):
                self.place = self.source.index("*/", start) + 2
            elif character == '"' or character == "#" and self.source[start:].lstrip("#").startswith('"'):
                pieces = self.literal()
                self.add("text", pieces, start)
            elif character.isalpha() or character == "_":
                while self.place < len(self.source) and (self.source[self.place].isalnum() or self.source[self.place] == "_"):
                    self.place += 1
                self.add("word", self.source[start:self.place], start)
            else:
                if character == "(":
                    depth += 1
                elif character == ")":
                    depth -= 1
                    if depth < 0 and end == ")":
                        return
                if not character.isspace():
                    self.add("mark", character, start)
                self.place += 1
        if end:
            self.fail("an interpolation has no end")

    def literal(self):
        hashes = 0
        while self.source[self.place] == "#":
            hashes, self.place = hashes + 1, self.place + 1
        quote = '"""' if self.source.startswith('"""', self.place) else '"'
        end, escape = quote + "#" * hashes, "\\" + "#" * hashes
        self.place += len(quote)
        pieces, text = [], ""
        while not self.source.startswith(end, self.place):
            if self.place >= len(self.source) or quote == '"' and self.source[self.place] == "\n":
                self.fail("a literal has no end")
            if not self.source.startswith(escape, self.place):
                text += self.source[self.place]
                self.place += 1
                continue
            self.place += len(escape)
            character = self.source[self.place]
            self.place += 1
            if character == "(":
                pieces, text = [*pieces, text, None], ""
                around, self.tokens = self.tokens, []
                self.lists.append(self.tokens)
                self.scan(end=")")
                self.tokens = around
                self.place += 1
            elif character == "u":
                close = self.source.index("}", self.place)
                text += chr(int(self.source[self.place + 1:close], 16))
                self.place = close + 1
            elif character in ESCAPES:
                text += ESCAPES[character]
            elif character in " \t\n" and quote == '"""':
                # The line continues. A mark that no text has keeps the beginning of the next line apart from its indentation.
                self.place = self.source.index("\n", self.place - 1) + 1
                text += "\0\n"
            else:
                self.fail(f"the escape \\{character} is not known")
        self.place += len(end)
        pieces.append(text)
        return self.unindented(pieces) if quote == '"""' else pieces

    @staticmethod
    def unindented(pieces):
        indentation = pieces[-1].rsplit("\n", 1)[-1]
        pieces = [piece if piece is None else piece.replace("\n" + indentation, "\n") for piece in pieces]
        pieces[0] = pieces[0].removeprefix("\n")
        last = pieces[-1].rsplit("\n", 1)
        pieces[-1] = last[0] if len(last) > 1 else ""
        return [piece if piece is None else piece.replace("\0\n", "") for piece in pieces]


def key(pieces):
    """Returns the key of a literal in the catalogues."""
    if None not in pieces:
        return "".join(pieces)
    text, count = "", 0
    for piece in pieces:
        count += piece is None
        text += f"%{count}$s" if piece is None else piece.replace("%", "%%")
    return text


def texts(path):
    """Yields (keys, has values, comment for the translators) for each text of a file; a text with a plural has two keys."""
    source = path.read_text(encoding="utf-8")
    if "translated" not in source:
        return
    scanner = Scanner(path.relative_to(ROOT), source)
    scanner.scan()
    for tokens in scanner.lists:
        kinds = [kind if kind == "text" else value for kind, value, _ in tokens]
        for index, (kind, value, line) in enumerate(tokens):
            if kind != "word" or value not in MARKS or kinds[index + 1:index + 2] != ["("] or kinds[index - 1:index] == ["func"]:
                continue
            literals = arguments(kinds[index + 2:])
            if literals is None:
                sys.exit(f"{scanner.path}:{line}: the text is not a literal")
            found = [tokens[index + 2 + place][1] for place in literals]
            comment = scanner.comments.get(line - 1, "")
            yield (tuple(key(pieces) for pieces in found), any(None in pieces for pieces in found),
                   comment if comment.startswith("Translators:") else "")


def arguments(kinds):
    """Returns the places of the literals in the tokens after the parenthesis of a call; None if they are not literals."""
    if kinds[:2] == ["text", ")"]:
        return [0]
    depth = 0
    for place, kind in enumerate(kinds):
        depth += (kind in ("(", "[", "{")) - (kind in (")", "]", "}"))
        if depth < 0:
            return None
        if depth == 0 and kinds[place:place + 3] == ["one", ":", "text"]:
            is_pair = kinds[place + 3:place + 8] == [",", "other", ":", "text", ")"]
            return [place + 2, place + 6] if is_pair else None
    return None


def quoted(text):
    """Returns a text as PO files have it: on one line, or on a line for each of its own."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    lines = [line.replace("\n", "\\n") for line in escaped.splitlines(keepends=True)]
    return f'"{escaped}"' if len(lines) < 2 else "\n".join(['""', *(f'"{line}"' for line in lines)])


def entries():
    """Returns the keys of all texts, each with whether it has values, its comments and its files, in the order of the files."""
    found = {}
    for path in sorted((ROOT / "Sources").rglob("*.swift")):
        for keys, has_values, comment in texts(path):
            # gettext finds a text with a plural by its first form.
            entry = found.setdefault(keys[0], {"keys": keys, "values": False, "comments": [], "files": []})
            if entry["keys"] != keys:
                sys.exit(f"{path.relative_to(ROOT)}: the text {keys[0]!r} has a plural in one place only")
            entry["values"] |= has_values
            for value, values in ((comment, entry["comments"]), (str(path.relative_to(ROOT)), entry["files"])):
                if value and value not in values:
                    values.append(value)
    return list(found.values())


HEADER = r'''msgid ""
msgstr ""
"Project-Id-Version: openurl\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"
"Language: LANGUAGE\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"
'''


def catalogue(language, translation):
    """Returns a PO file whose texts are those of the sources, translated by a function."""
    parts = [HEADER.replace("LANGUAGE", language)]
    for entry in entries():
        lines = [f"#. {comment}" for comment in entry["comments"]] + [f"#: {file}" for file in entry["files"]]
        if entry["values"]:
            lines.append("#, c-format")
        one, *other = entry["keys"]
        lines.append(f"msgid {quoted(one)}")
        lines += [f"msgid_plural {quoted(text)}" for text in other]
        if other:
            lines += [f"msgstr[{form}] {quoted(translation(text))}" for form, text in enumerate(entry["keys"])]
        else:
            lines.append(f"msgstr {quoted(translation(one))}")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def pseudo(text):
    """Returns a text in which each letter is replaced by a similar one that is not ASCII, in brackets. Its values stay."""
    result, place = "", 0
    while place < len(text):
        end = place
        if text[place] == "%":
            end = place + 2 if text[place + 1:place + 2] == "%" else text.find("$s", place) + 2 or place
        if end > place and text[place + 1:end - 2].strip("0123456789") in ("", "%"):
            result, place = result + text[place:end], end
            continue
        character = text[place]
        result += chr(ord(character) + 0xFEE0) if character.isascii() and character.isalpha() else character
        place += 1
    # The brackets stay within the lines of a text.
    return f"⟦{result}⟧"


def check():
    """Returns what is wrong with the template and the translations."""
    problems = []
    if not TEMPLATE.exists() or TEMPLATE.read_text(encoding="utf-8") != catalogue("", lambda _: ""):
        problems.append("Packaging/po/openurl.pot differs from the sources; run .ci/translations.py --update")
    for file in sorted(PO.glob("*.po")):
        run = subprocess.run(["msgcmp", "--use-untranslated", file, TEMPLATE], capture_output=True, text=True)
        problems += run.stderr.splitlines()
        run = subprocess.run(["msgfmt", "--check", "--statistics", "-o", "/dev/null", file], capture_output=True, text=True,
                             env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
        if run.returncode or "fuzzy" in run.stderr or "untranslated" in run.stderr:
            problems.append(f"{file.relative_to(ROOT)}: {run.stderr.strip()}")
        run = subprocess.run(["msgattrib", "--only-obsolete", file], capture_output=True, text=True)
        if run.stdout.strip():
            problems.append(f"{file.relative_to(ROOT)}: it has texts that the sources no longer have")
    return problems


def main(arguments):
    if arguments == ["--update"]:
        PO.mkdir(exist_ok=True)
        TEMPLATE.write_text(catalogue("", lambda _: ""), encoding="utf-8")
        for file in sorted(PO.glob("*.po")):
            subprocess.run(["msgmerge", "--quiet", "--update", "--backup=none", "--no-wrap", "--previous", file, TEMPLATE],
                           check=True)
    elif len(arguments) == 2 and arguments[0] == "--pseudo":
        Path(arguments[1]).write_text(catalogue("xx", pseudo), encoding="utf-8")
    elif arguments:
        sys.exit(__doc__)
    else:
        problems = check()
        for problem in problems:
            print(problem)
        return 1 if problems else 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
