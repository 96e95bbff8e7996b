"""The code generators of GLib and Qt, with the interfaces that the router and a handler of the library describe."""

from session import HERE, SCHEME, check

HANDLER = "com.example.described"


def describe(session):
    """Writes the descriptions of the router and of a running handler to `router.xml` and `handler.xml`."""
    session.begin()
    session.register_swift(HANDLER, "described")
    session.run("openurl", "described:")
    for file, name in [("router", "org.openurl.Router1"), ("handler", HANDLER)]:
        path = "/" + name.replace(".", "/")
        xml = session.run("gdbus", "introspect", "--session", "--xml", "--dest", name, "--object-path", path).output
        with open(f"{session.root}/{file}.xml", "w") as output:
            output.write(xml)


def shell(session, command):
    return str(session.run("sh", "-ec", command, limit=90))


def client(session, command):
    """Compiles the client, and opens a URL with it."""
    yield "compiled client", "status 0", (compiled := shell(session, command))
    if compiled == "status 0":
        url = f"{SCHEME}:?client"
        yield session.opened("call of the client", url, session.run("./client", url))


@check("gdbus-codegen", "libglib2.0-dev", "libglib2.0-bin", "gcc", "pkg-config", limit=120)
def gdbus_codegen(session):
    describe(session)
    for file in ["router", "handler"]:
        yield f"code of the {file}'s interfaces", "status 0", shell(session, f"""
            gdbus-codegen --interface-prefix org.openurl. --c-namespace Interop --generate-c-code {file} {file}.xml
            gcc -w -c {file}.c $(pkg-config --cflags gio-unix-2.0)""")
    yield from client(session, f"""
        gcc -I. -o client {HERE}/client.c router.o $(pkg-config --cflags --libs gio-unix-2.0)""")


@check("qdbusxml2cpp", "qtbase5-dev", "qtbase5-dev-tools", "libglib2.0-bin", "g++", "pkg-config", limit=120)
def qdbusxml2cpp(session):
    describe(session)
    tools = "PATH=$PATH:$(pkg-config --variable=host_bins Qt5Core)"
    yield "proxies of the router's interfaces", "status 0", shell(session, f"""
        {tools}
        qdbusxml2cpp -i {HERE}/structures.h -p router router.xml
        moc router.h -o router-moc.cpp
        for part in router router-moc; do g++ -fPIC -c $part.cpp $(pkg-config --cflags Qt5DBus); done""")
    # A handler that is written with Qt has an adaptor, and a program that calls a handler has a proxy.
    yield "code of a handler's interfaces", "status 0", shell(session, f"""
        {tools}
        qdbusxml2cpp -i {HERE}/structures.h -a adaptor -p proxy handler.xml
        for part in adaptor proxy; do
            moc $part.h -o $part-moc.cpp
            for file in $part $part-moc; do g++ -fPIC -c $file.cpp $(pkg-config --cflags Qt5DBus); done
        done""")
    yield from client(session, f"""
        g++ -fPIC -I. -o client {HERE}/client.cpp router.o router-moc.o $(pkg-config --cflags --libs Qt5DBus)""")
