import Testing

/// What a program may do wrong with libdbus, row by row, and what comes of it with this module.
///
/// The rows were tried with Debian's libdbus 1.14, which is built with its checks: most of them end the process
/// (`SIGABRT`), some make the bus close the connection, and with it everything that is under way, and some pass without a
/// word. Here each is a typed error before anything is sent, or cannot be written down at all; then the row says why, and
/// tests the nearest that can be. Row 45 does not exist.
///
/// | rows | |
/// |---|---|
/// | 0–18 | `TextTraps.swift`: strings, names and paths |
/// | 19–30 | `LifeTraps.swift`: messages that were sent, replies, objects, connections, match rules |
/// | 31–41 | `ContainerTraps.swift`: types, depth and size |
/// | 42–55 | `ConnectionTraps.swift`: what a connection refuses, and its end |
@Suite struct TrapTests {}
