#!/usr/bin/env python3
"""Builds the documentation of the libraries, and fails when DocC finds a mistake in any comment.

Usage: .ci/docs.py BUILD OUTPUT
    BUILD    the directory that `swift build` has built into, such as .build/debug
    OUTPUT   the directory to replace with the site

DocC reads the symbols that the compiler has kept in the built modules, so nothing is compiled again. Package.swift names the
modules. Two passes look for mistakes: the public symbols of the library products, which become the site, and all symbols of all
modules except tests, because an internal comment may hold a stale link too.
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
from graphlib import TopologicalSorter
from pathlib import Path


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def targets():
    """Returns the targets that `swift build` builds, each after the targets that it imports, and the names of the published ones."""
    package = json.loads(output_of("swift", "package", "describe", "--type", "json"))
    swift = [target for target in package["targets"] if target["module_type"] == "SwiftTarget"]
    built = {target["name"]: target for target in swift if target["type"] in ("library", "executable")}
    graph = {name: built.keys() & set(target.get("target_dependencies", [])) for name, target in built.items()}
    libraries = [product for product in package["products"] if "library" in product["type"]]
    published = {name for library in libraries for name in library["targets"]}
    return [built[name] for name in TopologicalSorter(graph).static_order()], published


def search_paths(build):
    """Returns the compiler's options for the modules, those in C included."""
    modules = Path(build, "Modules")
    checkouts = Path(build).resolve().parent.parent / "checkouts"
    maps = glob("Sources/*/module.modulemap") + glob(f"{checkouts}/*/Sources/*/include/module.modulemap")
    options = ["-I", str(modules)]
    for path in maps:
        options += ["-I", os.path.dirname(path)]
    for flag in output_of("pkg-config", "--cflags", "dbus-1", "gtk4", "jansson", "libcurl", "sqlite3").split():
        options += ["-Xcc", flag]
    target = json.loads(output_of("swiftc", "-print-target-info"))["target"]["unversionedTriple"]
    return options + ["-target", target]


def convert(target, level, options, root, archives):
    """Writes the archive of a target's module below `root`. Returns its path and what is wrong with the comments."""
    module = target["c99name"]
    symbols, archive = Path(root, level, module), Path(root, level, f"{module}.doccarchive")
    symbols.mkdir(parents=True)
    subprocess.run(
        ["swift", "symbolgraph-extract", "-module-name", module, *options, "-minimum-access-level", level,
         "-output-dir", str(symbols)],
        check=True,
    )  # fmt: skip
    catalog = Path(target["path"], f"{module}.docc")
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
    modules, published = targets()
    problems = set()
    with tempfile.TemporaryDirectory() as root, ThreadPoolExecutor(os.cpu_count()) as pool:
        everything = [pool.submit(convert, target, "private", options, root, []) for target in modules]
        # A module's links may lead to the modules that it imports, which come before it.
        archives = []
        for target in modules:
            if target["name"] not in published:
                continue
            archive, found = convert(target, "public", options, root, archives)
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
    print(f"{len(archives)} libraries are documented in {output}, and the comments of {len(modules)} modules are checked")


main()
