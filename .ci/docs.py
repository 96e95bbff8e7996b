#!/usr/bin/env python3
"""Builds the documentation of the libraries, and fails when DocC finds a mistake in any comment.

Usage: .ci/docs.py BUILD OUTPUT
    BUILD    the directory that `swift build` has built into, such as .build/debug
    OUTPUT   the directory to replace with the site

DocC reads the symbols that the compiler has kept in the built modules, so nothing is compiled again. Two passes look for
mistakes: the public symbols, which become the site, and all symbols, as an internal comment may hold a stale link too.
A parameter without documentation is the one warning that does not count: comments describe a parameter only where its name
does not say everything.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

# From the bottom up: a module's links may lead to the ones before it.
PUBLISHED = [
    "Reactor", "DBus", "RFC1808", "OpenURLBus", "SchemeRegistry", "OpenURL", "URLHandler", "URLHandlerTesting",
]
INTERNAL = ["UserFiles", "Desktop", "SQLite", "URLRouter", "URLOpener", "OpenURLCommand", "RouterDaemon"]


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def search_paths(build):
    """Returns the compiler's options for the modules, those in C included."""
    modules = Path(build, "Modules")
    checkouts = Path(build).resolve().parent.parent / "checkouts"
    maps = glob("Sources/*/module.modulemap") + glob(f"{checkouts}/*/Sources/*/include/module.modulemap")
    options = ["-I", str(modules)]
    for path in maps:
        options += ["-I", os.path.dirname(path)]
    for flag in output_of("pkg-config", "--cflags", "dbus-1", "sqlite3").split():
        options += ["-Xcc", flag]
    target = json.loads(output_of("swiftc", "-print-target-info"))["target"]["unversionedTriple"]
    return options + ["-target", target]


def convert(module, level, options, root, archives):
    """Writes a module's archive below `root`. Returns its path and what is wrong with the comments."""
    symbols, archive = Path(root, level, module), Path(root, level, f"{module}.doccarchive")
    symbols.mkdir(parents=True)
    subprocess.run(
        ["swift", "symbolgraph-extract", "-module-name", module, *options, "-minimum-access-level", level,
         "-output-dir", str(symbols)],
        check=True,
    )  # fmt: skip
    catalog = Path("Sources", module, f"{module}.docc")
    diagnostics = Path(root, level, f"{module}.json")
    command = ["docc", "convert"] + [str(catalog)] * catalog.exists()
    command += ["--additional-symbol-graph-dir", str(symbols), "--output-path", str(archive)]
    command += ["--fallback-display-name", module, "--fallback-bundle-identifier", f"org.openurl.{module}"]
    command += ["--fallback-default-module-kind", "Library", "--diagnostics-file", str(diagnostics)]
    command += ["--enable-experimental-external-link-support"]
    for dependency in archives:
        command += ["--dependency", str(dependency)]
    result = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(diagnostics.read_text())["diagnostics"] if diagnostics.exists() else []
    problems = {describe(diagnostic) for diagnostic in found if counts(diagnostic)}
    if result.returncode != 0 and not problems:
        problems = {result.stdout + result.stderr}
    return archive, problems


def counts(diagnostic):
    summary = diagnostic["summary"]
    is_about_parameter = summary.startswith("Parameter ") and summary.endswith(" is missing documentation")
    return diagnostic["severity"] in ("warning", "error") and not is_about_parameter


def describe(diagnostic):
    path = diagnostic.get("source", "").removeprefix("file://")
    line = diagnostic.get("range", {}).get("start", {}).get("line", 1)
    return f"{os.path.relpath(path) if path else '-'}:{line}: {diagnostic['severity']}: {diagnostic['summary']}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, output = sys.argv[1:]
    options = search_paths(build)
    problems = set()
    with tempfile.TemporaryDirectory() as root, ThreadPoolExecutor(os.cpu_count()) as pool:
        everything = [
            pool.submit(convert, module, "private", options, root, []) for module in PUBLISHED + INTERNAL
        ]
        archives = []
        for module in PUBLISHED:
            archive, found = convert(module, "public", options, root, archives)
            problems |= found
            if archive.exists():
                archives.append(archive)
        for check in everything:
            problems |= check.result()[1]
        if problems:
            sys.exit("\n".join(sorted(problems)))
        site = Path(root, "site.doccarchive")
        subprocess.run(
            ["docc", "merge", *map(str, archives), "--output-path", str(site),
             "--synthesized-landing-page-name", "openurl"],
            check=True,
        )  # fmt: skip
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(site, output)
    print(f"{len(PUBLISHED)} libraries are documented in {output}")


main()
