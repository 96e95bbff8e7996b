import ByteCoding
import OpenURLBus

@testable import DBus
@testable import URLRouter

/// Reads what the router has stored for later: deliveries, replies, tasks, registrations for pushes, and the entries of the
/// log. The first byte chooses.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    switch start[0] {
    case UInt8(ascii: "d"):
        guard let (options, context) = check(Arguments<OpenOptions, OpenContext>.self, bytes)?.values else { return 0 }
        checkTimes(
            of: Delivery(url: "x:", handler: "com.acme.app", options: options, context: context, turn: number(bytes))
        )
    case UInt8(ascii: "r"): check(OpenResult.self, bytes)
    case UInt8(ascii: "t"): for task in check([ScheduledTask].self, bytes) ?? [] { _ = task.isPossible }
    case UInt8(ascii: "p"): check([StoredRegistration].self, bytes)
    case UInt8(ascii: "l"): checkEntry(bytes)
    default: break
    }
    return 0
}

/// Reads a body, and checks that it is the same after it has been written and read again.
@discardableResult
private func check<Body: MessageBody>(_ type: Body.Type, _ bytes: [UInt8]) -> Body? {
    let body: Body
    do throws(MessageDecodingError) {
        body = try MessageArchive.body(from: bytes)
    } catch {
        return nil
    }
    guard let written = try? MessageArchive.bytes(of: body, limit: .max),
        let again: Body = try? MessageArchive.body(from: written)
    else { preconditionFailure("\(body) cannot be written and read again") }
    // The order of a dictionary's entries is not fixed, so compare their size.
    precondition((try? MessageArchive.bytes(of: again, limit: .max).count) == written.count)
    return body
}

/// Reads an entry of the log, and checks that it is the same after it has been written and read again, and that a message
/// can carry it.
private func checkEntry(_ bytes: [UInt8]) {
    guard let entry = read(bytes) else { return }
    var writer = ByteWriter()
    entry.write(to: &writer)
    precondition(entry == read(writer.bytes), "\(entry) cannot be written and read again")
    precondition((try? MessageArchive.bytes(of: entry, limit: .max)) != nil, "\(entry) cannot be sent")
}

private func read(_ bytes: [UInt8]) -> MonitorEntry? {
    bytes.withUnsafeBytes {
        var reader = ByteReader($0)
        return try? MonitorEntry(time: 1, from: &reader)
    }
}

/// Returns a number that the database may have beside the bytes.
private func number(_ bytes: [UInt8]) -> Int64 {
    bytes.suffix(8).reduce(0) { $0 << 8 | Int64($1) }
}

/// Checks that the next time of a delivery is still to come.
private func checkTimes(of delivery: Delivery) {
    guard var schedule = delivery.schedule else { return }
    let now: Int64 = 1_700_000_000_000
    let zone = TimeZoneRules { $0 < 1_711_846_800 ? 3600 : 7200 }
    _ = schedule.due(in: zone)
    _ = schedule.review(at: now, since: now - 1000, in: zone)
    if let next = schedule.advance(past: now, in: zone) { precondition(next > now) }
}
