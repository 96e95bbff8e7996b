import Dispatch
import Glibc
import Logging
import OpenURLBus
import Reactor

@testable import URLRouter

private let directory = String(cString: getenv("TMPDIR") ?? strdup("/tmp")) + "/openurl-log"
private let path = directory + "/log.sqlite"
private let loop = try? EventLoop()

/// Reads a file as the log of requests, and adds an entry to it. A file that is damaged is replaced.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    mkdir(directory, 0o700)
    for suffix in ["-wal", "-shm", "-journal"] { unlink(path + suffix) }
    let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    precondition(descriptor >= 0 && write(descriptor, start, count) == count)
    close(descriptor)
    guard let loop else { preconditionFailure("no event loop") }
    let isDone = DispatchSemaphore(value: 0)
    Task.detached {
        let log = RequestLog(
            path: path,
            capacity: 8,
            on: loop,
            log: Logger(label: "fuzz", factory: { _ in SwiftLogNoOpLogHandler() })
        )
        let time: UInt64 = 1_700_000_000_000_000
        _ = try? await log.entries(MonitorFilter(), at: time)
        await log.add([MonitorEntry(time: time, kind: .open)], at: time)
        if let entries = try? await log.entries(MonitorFilter(), at: time) { precondition(entries.count <= 9) }
        isDone.signal()
    }
    isDone.wait()
    return 0
}
