import Testing

/// The mistakes that a program can make with libdbus, row by row, and the behaviour of this module in each case.
///
/// The rows were tried with Debian's libdbus 1.14, which is built with its checks. In parentheses each row says what
/// libdbus does: most mistakes end the process (`SIGABRT`), some make the bus drop the connection with all its pending
/// messages, and some succeed silently. In this module each mistake is a typed error before anything is sent, or cannot
/// be expressed in code. The row of a mistake that cannot be expressed says why, and tests the closest case. Row 45
/// does not exist.
///
/// | rows | |
/// |---|---|
/// | 0–14, 16–18, 54, 55 | `TrapTests+Text.swift`: strings, names and paths |
/// | 15, 19–30 | `TrapTests+Lifetimes.swift`: messages that were sent, replies, objects, connections, match rules |
/// | 31–41 | `TrapTests+Containers.swift`: types, depth and size |
/// | 42–53 | `TrapTests+Connections.swift`: refusals of a connection, and its end |
@Suite(.timeLimit(.minutes(10))) struct TrapTests {}
