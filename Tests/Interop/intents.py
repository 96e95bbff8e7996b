"""Intents: the cases in `Tests/Intents` with openurl's command, GLib, `update-desktop-database` and KService."""

import glob, json, os, shutil
from session import HERE, Skip, check

KIT = f"{os.path.dirname(HERE)}/Intents"
HEAD = ["[Desktop Entry]", "Type=Application", "Name=Test", "Exec=true"]
IMPLEMENTATIONS = """
import sys
from gi.repository import Gio
for application in Gio.DesktopAppInfo.get_implementations(sys.argv[1]):
    print(application.get_id())
"""


@check("openurl intents", limit=300)
def command(session):
    def ask(case):
        arguments = ["--scope", case["scope"]] if "scope" in case else []
        run = session.run("openurl", "intents", "--json", *arguments, "--", case["intent"], environment=case["environment"])
        if run.status == 1 and not run.output:
            # The name is no interface's, or the scope no scope: nothing can implement it.
            return []
        answer = json.loads(run.output.splitlines()[0])
        return [application["id"] for application in answer["applications"]]

    yield from agreement(session, "openurl", "chosen", ask, lambda case: case["chosen"] + case["others"])


@check("GLib, implementations of an intent", "python3-gi", limit=300)
def glib(session):
    """GLib's function knows neither scopes nor choices, and says nothing about the order."""

    def ask(case):
        run = session.run("/usr/bin/python3", "-c", IMPLEMENTATIONS, case["intent"], environment=case["environment"])
        return sorted(run.output.splitlines())

    unscoped = lambda case: None if "scope" in case else sorted(case["chosen"] + case["others"])
    yield from agreement(session, "GLib", "chosen", ask, unscoped)


@check("update-desktop-database, intent.cache", "desktop-file-utils", limit=120)
def database(session):
    directory = f"{session.root}/probe"
    os.mkdir(directory)
    session.run("update-desktop-database", directory)
    if not os.path.exists(f"{directory}/intent.cache"):
        raise Skip("this version of update-desktop-database writes no intent.cache")

    def ask(case):
        path = f"{case['root']}/home/applications"
        os.makedirs(path, exist_ok=True)
        session.run("update-desktop-database", path)
        try:
            with open(f"{path}/intent.cache") as file:
                return file.read()
        except FileNotFoundError:
            return None

    lines = lambda case: "".join(line + "\n" for line in case["cache"])
    yield from agreement(session, "update-desktop-database", "cache", ask, lines)


@check("KService, applications of an intent")
def kservice(session):
    libraries = glob.glob("/usr/lib/*/libKF6Service.so.6")
    run = session.run("nm", "-DC", *libraries) if libraries and shutil.which("nm") else None
    if not run or "KApplicationTrader::queryByIntent" not in run.output:
        raise Skip("there is no KService with intents; Documentation/Intents.md compares its source")
    raise Skip("KService has intents, but there is no client for them here")


def agreement(session, program, kind, ask, expectation):
    """Yields a line for each file with the cases in which a program has another answer. Known differences are expected."""
    with open(f"{KIT}/differences.json") as file:
        known = {name for names in json.load(file).get(program, {}).values() for name in names}
    for path in sorted(glob.glob(f"{KIT}/Cases/*.json")):
        name = os.path.basename(path)
        with open(path) as file:
            cases = [case for case in json.load(file)["cases"] if kind in case]
        asked, different = 0, []
        for case in cases:
            expected = expectation(case)
            if expected is None:
                continue
            asked += 1
            if ask(case | prepared(session, case)) != expected:
                different.append(f"{name}: {case['name']}")
        if not asked:
            continue
        seen = set(different)
        expected = sorted(difference for difference in known if difference.startswith(f"{name}: "))
        what = f"{name}, {asked} cases"
        yield what, f"{len(expected)} known differences", (
            f"{len(expected)} known differences" if sorted(seen) == expected
            else f"not as known: {sorted(seen.symmetric_difference(expected))}")


def prepared(session, case):
    """Creates the files of a case in an empty directory. Returns the directory and the variables that refer to it."""
    root = f"{session.root}/case"
    shutil.rmtree(root, ignore_errors=True)
    entries = {path: HEAD + lines for path, lines in case.get("entries", {}).items()}
    for path, lines in (case.get("files", {}) | entries).items():
        os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
        with open(f"{root}/{path}", "w", newline="") as file:
            file.writelines(line + "\n" for line in lines)
    return {"root": root, "environment": {
        "XDG_CONFIG_HOME": f"{root}/config",
        "XDG_CONFIG_DIRS": f"{root}/etc1:{root}/etc2",
        "XDG_DATA_HOME": f"{root}/home",
        "XDG_DATA_DIRS": f"{root}/data1:{root}/data2",
        "XDG_CURRENT_DESKTOP": case.get("desktop", ""),
    }}
