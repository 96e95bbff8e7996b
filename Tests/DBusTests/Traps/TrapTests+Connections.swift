import CDBus
import Glibc
import PrivateBus
import Reactor
import Testing

@testable import DBus

// Rows 42 to 53: refusals of a connection, and its end.
extension TrapTests {
    /// Row 42: the path that libdbus reserves for itself (dropped).
    @Test func reservedPathIsRefused() async throws {
        let path: ObjectPath = "/org/freedesktop/DBus/Local"
        try await withPair { (pair: Pair) async throws in
            await #expect(throws: CallError.notSent(.reservedName(path.rawValue))) {
                try await pair.client.call(Echo.string, on: RemoteObject(Echo.name, path), "")
            }
            await #expect(throws: CallError.notSent(.reservedName(path.rawValue))) {
                try await pair.client.emit(Echo.played, from: path, Arguments("", 0))
            }
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "still there") == "still there")
        }
    }

    /// Row 43: the interface that libdbus reserves for itself (dropped).
    @Test func reservedInterfaceIsRefused() async throws {
        let interface: InterfaceName = "org.freedesktop.DBus.Local"
        try await withPair { (pair: Pair) async throws in
            await #expect(throws: CallError.notSent(.reservedName(interface.rawValue))) {
                try await pair.client.call(Method<Empty, Empty>(interface, "A"), on: Echo.object, Empty())
            }
            await #expect(throws: CallError.notSent(.reservedName(interface.rawValue))) {
                try await pair.client.emit(Signal<Empty>(interface, "Disconnected"), from: "/", Empty())
            }
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "still there") == "still there")
        }
    }

    /// Row 44: a call on an ended connection (seems to be sent, and is never answered).
    @Test func callOnAnEndedConnectionFails() async throws {
        try await withPair { (pair: Pair) async throws in
            let blocking = try BlockingConnection(.address(pair.bus.address))
            await pair.client.close()
            await #expect(throws: CallError.disconnected) {
                try await pair.client.call(Echo.string, on: Echo.object, "", timeout: nil)
            }
            await #expect(throws: CallError.disconnected) {
                try await pair.client.send(Echo.string, on: Echo.object, "")
            }
            pair.bus.stop()
            for _ in 0..<2 {
                #expect(throws: CallError.disconnected) {
                    try blocking.call(Echo.string, on: Echo.object, "", timeout: nil)
                }
            }
        }
    }

    /// Row 46: an array of booleans that are neither 0 nor 1 (abort).
    ///
    /// The type of an array of booleans is `[Bool]`, as in row 7.
    @Test func invalidBooleanInAnArrayIsRefused() throws {
        #expect(try roundTrip([true, false, true]) == [true, false, true])
        let liar = Liar<[Bool]> { (w) throws(MessageEncodingError) in
            try w.appendArray(of: "b") { (w) throws(MessageEncodingError) in try w.append(UInt32(2)) }
        }
        #expect(refusal(of: liar) == .inconsistentValue)
    }

    /// Row 47: the serial 0 (accepted).
    ///
    /// The module chooses every serial; a program cannot set one.
    @Test func serialsAreUniqueAndNotZero() async throws {
        try await withPair { (pair: Pair) async throws in
            let listener = try #require(dbus_connection_open_private(pair.bus.address, nil))
            defer {
                dbus_connection_close(listener)
                dbus_connection_unref(listener)
            }
            var error = DBusError()
            dbus_error_init(&error)
            try #require(dbus_bus_register(listener, &error) != 0)
            dbus_connection_set_exit_on_disconnect(listener, 0)
            dbus_bus_add_match(listener, "type='signal',interface='\(Echo.interface)'", &error)
            try #require(dbus_error_is_set(&error) == 0)
            for number in 0..<5 as Range<UInt32> {
                try await pair.service.emit(Echo.played, from: "/", Arguments("", number))
            }
            var serials: [UInt32] = []
            while serials.count < 5, dbus_connection_read_write(listener, -1) != 0 {
                while let message = dbus_connection_pop_message(listener) {
                    if dbus_message_is_signal(message, Echo.interface.rawValue, "Played") != 0 {
                        serials.append(dbus_message_get_serial(message))
                    }
                    dbus_message_unref(message)
                }
            }
            #expect(Set(serials).count == 5 && !serials.contains(0), "\(serials)")
        }
    }

    /// Row 48: an invalid descriptor (refused).
    @Test func invalidDescriptorIsRefused() async throws {
        #expect(refusal(of: UnixFD(owning: -1)) == .descriptorNotPassed)
        try await withPair { (pair: Pair) async throws in
            await #expect(throws: CallError.notSent(.descriptorNotPassed)) {
                try await pair.client.call(Echo.descriptor, on: Echo.object, UnixFD(owning: -1))
            }
            #expect(try await pair.client.call(Echo.string, on: Echo.object, "still there") == "still there")
        }
    }

    /// Row 49: a container that is closed twice (abort).
    ///
    /// A closure writes the contents of a container, and the module closes the container after the closure. The closest
    /// test is a closure that fails in the middle, which abandons the container once.
    @Test func containerThatFailsInTheMiddleIsRefused() throws {
        #expect(refusal(of: [["a"], ["b\0"]]) == .nulInString)
        #expect(refusal(of: ["a": Value.structure([.array(["b", "c\0"], of: "s")])]) == .nulInString)
        #expect(try roundTrip([["a"], ["b"]]) == [["a"], ["b"]])
    }

    /// Row 50: a container that is not closed or not filled (dropped).
    @Test func incompleteContainerIsRefused() {
        #expect(refusal(of: Liar<String> { _ in }) == .inconsistentValue)
        #expect(
            refusal(of: Liar<Value> { (w) throws(MessageEncodingError) in try w.appendVariant(of: "s") { _ in } })
                == .inconsistentValue
        )
        #expect(
            refusal(
                of: Liar<[String: String]> { (w) throws(MessageEncodingError) in
                    try w.appendDictionary(key: "s", value: "s") { (w) throws(MessageEncodingError) in
                        try w.appendEntry { (w) throws(MessageEncodingError) in try w.append("key") }
                    }
                }
            ) == .inconsistentValue
        )
        // A program that catches the refusal and continues cannot send the rest of the message. `WriterTests` has more
        // such cases.
        let careless = Liar<[String]> { (w) throws(MessageEncodingError) in
            do throws(MessageEncodingError) {
                try w.appendArray(of: "s") { (w) throws(MessageEncodingError) in try w.append("b\0") }
            } catch {}
        }
        #expect(refusal(of: careless) == .nulInString)
    }

    /// Row 51: the end of the bus (the process ends).
    @Test func processSurvivesTheEndOfTheBus() async {
        // The child process proves with its exit status that it survived.
        await #expect(processExitsWith: .exitCode(51)) {
            try await withPair { (pair: Pair) async throws in
                let blocking = try BlockingConnection(.address(pair.bus.address))
                pair.bus.stop()
                await pair.client.waitUntilClosed()
                await pair.service.waitUntilClosed()
                #expect(throws: CallError.disconnected) { try blocking.call(Echo.string, on: Echo.object, "") }
                exit(51)
            }
        }
    }

    /// Row 52: names of more than 255 bytes (abort).
    @Test func tooLongNamesAreRefused() {
        let element = String(repeating: "a", count: 254)
        #expect(MemberName(element + "a") != nil && MemberName(element + "aa") == nil)
        #expect(BusName("a." + element.dropLast()) != nil && BusName("a." + element) == nil)
        #expect(InterfaceName("a." + element.dropLast()) != nil && InterfaceName("a." + element) == nil)
        #expect(ErrorName("a." + element.dropLast()) != nil && ErrorName("a." + element) == nil)
    }

    /// Row 53: a call without a destination (accepted).
    ///
    /// A call always names an interface. A call without a destination goes to the other end of the socket. There the
    /// bus answers the standard methods of every peer, but not its own methods.
    @Test func callWithoutADestinationReachesTheOtherEnd() async throws {
        let ping = Method<Empty, Empty>("org.freedesktop.DBus.Peer", "Ping")
        let identify = Method<Empty, String>(BusDriver.interface, "GetId")
        try await withPair { (pair: Pair) async throws in
            #expect(try await pair.client.call(ping, on: RemoteObject(nil, "/"), Empty()) == Empty())
            do throws(CallError) {
                _ = try await pair.client.call(identify, on: RemoteObject(nil, BusDriver.object.path), Empty())
                Issue.record("the bus answered")
            } catch {
                guard case .remote(let error) = error else { throw error }
                #expect(error.name == .unknownMethod)
            }
        }
    }
}
