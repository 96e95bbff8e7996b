import Foundation
import Glibc
import TestSupport
import Testing

/// Waits until there is something to read, or the other end is closed.
private func awaitInput(_ descriptor: CInt) throws {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    try #require(poll(&ready, 1, 60_000) == 1, "there is no answer")
}

/// A program at the far side of a share, which reads and writes any bytes.
final class FarProgram {
    private let socket: CInt
    private var bytes: [UInt8] = []

    init(_ path: String) throws {
        socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { [socket] in
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(status == 0, "\(String(cString: strerror(errno)))")
    }

    deinit {
        close(socket)
    }

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    }

    /// Reads a line; nil at the end of the connection.
    func line() throws -> String? {
        while true {
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                defer { bytes.removeSubrange(...end) }
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
            try awaitInput(socket)
            var chunk = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            bytes += chunk[..<count]
        }
    }

    /// Sends a request, and returns the lines of the answer.
    func ask(_ request: String) throws -> [String] {
        write(request)
        var lines: [String] = []
        while let line = try line() { lines.append(line) }
        return lines
    }
}

/// A process that this one has started, and that passes one request on. It stands for ssh.
final class FarChild {
    private let process = ChildProcess()
    private let input = Pipe()
    private let output = Pipe()
    private var bytes: [UInt8] = []

    init(_ path: String) throws {
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", try pythonProgram("pass_on"), path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    deinit {
        process.terminate()
    }

    func write(_ text: String) throws { try input.fileHandleForWriting.write(contentsOf: Data(text.utf8)) }

    /// Reads a line; nil at the end of the connection.
    func line() throws -> String? {
        while true {
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                defer { bytes.removeSubrange(...end) }
                return String(decoding: bytes[..<end], as: UTF8.self)
            }
            try awaitInput(output.fileHandleForReading.fileDescriptor)
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { return nil }
            bytes += data
        }
    }

    /// Sends a request, and returns the lines of the answer.
    func ask(_ request: String) throws -> [String] {
        try write(request)
        var lines: [String] = []
        while let line = try line() { lines.append(line) }
        return lines
    }
}
