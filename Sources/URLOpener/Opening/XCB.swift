internal import Glibc

/// The libxcb functions that send a message to a display's clients.
///
/// The library is loaded at run time, because most runs of the program do not need it.
struct XCB {
    typealias Connection = OpaquePointer

    private typealias Connect = @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<CInt>?) -> Connection?
    private typealias Disconnect = @convention(c) (Connection) -> Void
    private typealias Ask = @convention(c) (Connection) -> CInt
    private typealias GenerateID = @convention(c) (Connection) -> UInt32
    private typealias GetSetup = @convention(c) (Connection) -> UnsafeRawPointer?
    // In libxcb, a cookie is a structure with a single 32-bit number.
    private typealias InternAtom = @convention(c) (Connection, UInt8, UInt16, UnsafePointer<CChar>) -> UInt32
    private typealias InternAtomReply =
        @convention(c) (Connection, UInt32, UnsafeRawPointer?) -> UnsafeMutableRawPointer?
    private typealias CreateWindow =
        @convention(c) (
            Connection, UInt8, UInt32, UInt32, Int16, Int16, UInt16, UInt16, UInt16, UInt16, UInt32, UInt32,
            UnsafeRawPointer?
        ) -> UInt32
    private typealias SendEvent =
        @convention(c) (Connection, UInt8, UInt32, UInt32, UnsafeRawPointer) -> UInt32

    private let connect: Connect
    private let disconnect: Disconnect
    private let hasError: Ask
    private let generateID: GenerateID
    private let getSetup: GetSetup
    private let internAtom: InternAtom
    private let internAtomReply: InternAtomReply
    private let createWindow: CreateWindow
    private let sendEvent: SendEvent

    /// The number of bytes in a piece of a message.
    static let pieceSize = 20

    /// Loads the library, which stays loaded; nil if it is not installed.
    init?() {
        guard let library = dlopen("libxcb.so.1", RTLD_NOW) else { return nil }
        func function<Function>(_ name: String, as _: Function.Type = Function.self) -> Function? {
            dlsym(library, name).map { unsafeBitCast($0, to: Function.self) }
        }
        guard let connect: Connect = function("xcb_connect"),
            let disconnect: Disconnect = function("xcb_disconnect"),
            let hasError: Ask = function("xcb_connection_has_error"),
            let generateID: GenerateID = function("xcb_generate_id"),
            let getSetup: GetSetup = function("xcb_get_setup"),
            let internAtom: InternAtom = function("xcb_intern_atom"),
            let internAtomReply: InternAtomReply = function("xcb_intern_atom_reply"),
            let createWindow: CreateWindow = function("xcb_create_window"),
            let sendEvent: SendEvent = function("xcb_send_event")
        else { return nil }
        self.connect = connect
        self.disconnect = disconnect
        self.hasError = hasError
        self.generateID = generateID
        self.getSetup = getSetup
        self.internAtom = internAtom
        self.internAtomReply = internAtomReply
        self.createWindow = createWindow
        self.sendEvent = sendEvent
    }

    /// Sends a message to all clients that watch the properties of the root window.
    ///
    /// This blocks until the display has accepted the message. If the display cannot be reached, nothing is sent.
    ///
    /// - Parameters:
    ///   - pieces: the pieces of the message, each of ``pieceSize`` bytes.
    ///   - types: the type of the first piece, and the type of the others.
    func broadcast(_ pieces: [[UInt8]], as types: (first: String, others: String), on display: String) {
        // The result is never a null pointer; a failed connection has an error instead.
        guard let connection = connect(display, nil) else { return }
        defer { disconnect(connection) }
        guard hasError(connection) == 0, let root = rootWindow(of: connection),
            let first = atom(types.first, on: connection), let others = atom(types.others, on: connection)
        else { return }
        // The window only marks which pieces belong to the same message. It disappears with the connection.
        let window = generateID(connection)
        _ = createWindow(connection, 0, window, root, 0, 0, 1, 1, 0, Self.inputOnly, 0, 0, nil)
        for (index, piece) in pieces.enumerated() {
            let event = ClientMessage(window: window, type: index == 0 ? first : others)
            withUnsafeBytes(of: event) { header in
                _ = sendEvent(connection, 0, root, Self.propertyChange, Array(header) + piece)
            }
        }
        // When a connection ends, the display may drop messages that it has not read. Once it has answered a further
        // request, it has read them.
        _ = atom(types.first, on: connection)
    }

    /// `XCB_WINDOW_CLASS_INPUT_ONLY`.
    private static let inputOnly: UInt16 = 2
    /// `XCB_EVENT_MASK_PROPERTY_CHANGE`.
    private static let propertyChange: UInt32 = 1 << 22

    /// The beginning of `xcb_client_message_event_t`, before the data.
    private struct ClientMessage {
        /// `XCB_CLIENT_MESSAGE`.
        let kind: UInt8 = 33
        /// The number of bits in each element of the data.
        let format: UInt8 = 8
        let sequence: UInt16 = 0
        let window: UInt32
        let type: UInt32
    }

    private func atom(_ name: String, on connection: Connection) -> UInt32? {
        guard let reply = internAtomReply(connection, internAtom(connection, 0, UInt16(name.utf8.count), name), nil)
        else {
            return nil
        }
        defer { free(reply) }
        return reply.load(fromByteOffset: 8, as: UInt32.self)
    }

    /// Returns the root window of the first screen, which the display describes in its first message (X Window System
    /// Protocol, "Connection Setup"). Displays with several screens are no longer in use.
    private func rootWindow(of connection: Connection) -> UInt32? {
        guard let setup = getSetup(connection), setup.load(fromByteOffset: 28, as: UInt8.self) > 0 else { return nil }
        let vendorLength = Int(setup.load(fromByteOffset: 24, as: UInt16.self))
        let formats = Int(setup.load(fromByteOffset: 29, as: UInt8.self))
        return setup.load(fromByteOffset: 40 + (vendorLength + 3) / 4 * 4 + formats * 8, as: UInt32.self)
    }
}
