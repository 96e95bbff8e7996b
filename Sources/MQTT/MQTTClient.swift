internal import CMosquitto
internal import Glibc
public import Reactor
internal import SystemPackage

/// One connection to a broker with MQTT 5, through libmosquitto.
///
/// A client is for one connection: after its end, make another one. The broker keeps the session, so that messages that arrive
/// in between are not lost, as long as the broker's memory is not. All messages are published with QoS 1, which means that each
/// arrives at least once, unless a subscription does without that.
///
/// Use a client only on the loop's thread.
public final class MQTTClient {
    /// The reports of a client.
    public struct Events {
        /// The broker has accepted the client, and does or does not know its session.
        public var connected: (_ isSessionPresent: Bool) -> Void = { _ in }
        /// The connection has ended, for the given reason. Nothing else is reported after this.
        public var ended: (_ reason: String) -> Void = { _ in }
        /// A message has arrived.
        public var received: (MQTTMessage) -> Void = { _ in }
        /// The broker has answered the publication with this number: it has taken the message, or refuses it for a reason.
        public var published: (_ number: Int32, _ refusal: String?) -> Void = { _, _ in }
        /// The broker refuses a subscription, or it cannot be asked for, so no message arrives for this filter.
        public var subscriptionRefused: (_ filter: String, _ reason: String) -> Void = { _, _ in }

        /// Events that do nothing.
        public init() {}
    }

    private let options: MQTTOptions
    private let loop: EventLoop
    private let events: Events
    /// Nil after the end.
    private var handle: OpaquePointer?
    private var watch: DescriptorWatch?
    private var timer: TimerID?
    /// When the loop last looked at the connection.
    private var lastTurn = ContinuousClock.now
    private var isConnecting = false
    private var isClosed = false
    /// Maximum size of a packet that the broker takes, in bytes; nil if it has not named one.
    private var brokerLimit: Int?
    /// The filters of the subscriptions that the broker has not answered, by the numbers of their packets.
    private var subscribing: [Int32: String] = [:]

    /// Whether messages are read. While they are not, the broker has to wait, and after some time ends the connection.
    public var isReading = true {
        didSet { if isReading != oldValue { update() } }
    }

    /// Maximum size of a packet that the client takes, in bytes.
    private static let packetBytes: UInt32 = 2 << 20
    /// Maximum size of a publication without its payload, its topics and its Correlation Data, in bytes: two lengths of up to
    /// four bytes, the first byte, the number, the length of the topic, and the three properties.
    private static let fixedBytes = 24
    /// How long the name of the broker and the first exchange with it may take.
    private static let connectionTime = Duration.seconds(60)
    private static let isInitialized = mosquitto_lib_init() == mosqSuccess
    private static let mosqSuccess = CInt(MOSQ_ERR_SUCCESS.rawValue)

    /// Creates a client that is not connected.
    public init(_ options: MQTTOptions, on loop: EventLoop, _ events: Events) {
        self.options = options
        self.loop = loop
        self.events = events
    }

    deinit {
        if let handle { mosquitto_destroy(handle) }
    }

    // MARK: Connecting

    /// Connects. The outcome is one of the events, except for the error that this throws.
    ///
    /// The name of the broker is looked up, and its socket is opened, in a thread of their own.
    public func connect() async throws(MQTTError) {
        guard Self.isInitialized, let handle = mosquitto_new(options.client, false, nil) else {
            throw MQTTError("libmosquitto cannot be used")
        }
        self.handle = handle
        try configure(handle)
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        let session = UInt32(clamping: options.sessionExpiry.components.seconds)
        mosquitto_property_add_int32(&properties, CInt(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), session)
        mosquitto_property_add_int16(&properties, CInt(MQTT_PROP_RECEIVE_MAXIMUM.rawValue), options.receiveMaximum)
        mosquitto_property_add_int32(&properties, CInt(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), Self.packetBytes)
        // Until the thread has returned, only it uses the handle and the properties.
        nonisolated(unsafe) let (client, list) = (handle, properties)
        let (host, port) = (options.host, CInt(options.port))
        let keepAlive = CInt(clamping: options.keepAlive.components.seconds)
        isConnecting = true
        let code: CInt?
        do throws(Errno) {
            code = try await HelperThread.run(for: Self.connectionTime, on: loop) {
                let code = mosquitto_connect_bind_v5(client, host, port, keepAlive, nil, list)
                return code == CInt(MOSQ_ERR_ERRNO.rawValue) ? -errno : code
            } late: { _ in
                mosquitto_destroy(client)
                var rest = list
                mosquitto_property_free_all(&rest)
            }
        } catch {
            isConnecting = false
            throw MQTTError("no thread can be started: \(error)")
        }
        isConnecting = false
        guard !isClosed || code == nil else {
            destroy()
            throw MQTTError("the client was closed")
        }
        guard let code else {
            // The thread still uses the handle and the properties, and its end frees them.
            self.handle = nil
            properties = nil
            throw MQTTError("the broker did not answer in time")
        }
        guard code == Self.mosqSuccess else {
            destroy()
            throw MQTTError(code < 0 ? "\(Errno(rawValue: -code))" : Self.words(code))
        }
        lastTurn = .now
        update()
        scheduleTurn()
    }

    private func configure(_ handle: OpaquePointer) throws(MQTTError) {
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, CInt(MQTT_PROTOCOL_V5))
        mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
        if let certificates = options.certificates {
            // libmosquitto does not say which of them it could not read.
            for file in [certificates.authorities, certificates.certificate, certificates.key]
            where access(file, R_OK) != 0 {
                throw MQTTError("\(file) cannot be read: \(Errno(rawValue: errno))")
            }
            let code = mosquitto_tls_set(
                handle,
                certificates.authorities,
                nil,
                certificates.certificate,
                certificates.key,
                nil
            )
            guard code == Self.mosqSuccess else {
                throw MQTTError("the certificates cannot be used: \(Self.words(code))")
            }
        }
        if let user = options.user { mosquitto_username_pw_set(handle, user.name, user.password) }
        if let will = options.will {
            mosquitto_will_set_v5(handle, will.topic, CInt(will.payload.count), will.payload, 1, true, nil)
        }
        mosquitto_connect_v5_callback_set(handle) { _, object, code, flags, properties in
            MQTTClient.of(object)?.accepted(code, flags, properties)
        }
        mosquitto_message_v5_callback_set(handle) { _, object, message, properties in
            guard let message else { return }
            MQTTClient.of(object)?.arrived(message.pointee, properties)
        }
        mosquitto_publish_v5_callback_set(handle) { _, object, number, reason, _ in
            let refusal = reason < 0x80 ? nil : String(cString: mosquitto_reason_string(reason))
            MQTTClient.of(object)?.events.published(number, refusal)
        }
        mosquitto_subscribe_v5_callback_set(handle) { _, object, number, count, reasons, _ in
            guard count > 0, let reasons else { return }
            MQTTClient.of(object)?.subscribed(number, reasons.pointee)
        }
    }

    private static func of(_ object: UnsafeMutableRawPointer?) -> MQTTClient? {
        object.map { Unmanaged<MQTTClient>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func words(_ code: CInt) -> String { String(cString: mosquitto_strerror(code)) }

    // MARK: Messages

    /// Publishes a message.
    ///
    /// - Parameters:
    ///   - expiry: how long the message is of use, rounded down to seconds; nil if it never expires.
    ///   - responseTopic: where an answer is expected; nil if none is.
    ///   - correlation: what the answer will be recognised by.
    ///   - isRetained: whether the broker keeps the message for subscribers that come later.
    /// - Returns: the number of the publication.
    public func publish(
        _ payload: [UInt8],
        to topic: String,
        expiry: Duration? = nil,
        responseTopic: String? = nil,
        correlation: [UInt8]? = nil,
        isRetained: Bool = false
    ) throws(PublishError) -> Int32 {
        guard let handle, !isConnecting else { throw .notConnected }
        let variable = payload.count + topic.utf8.count + (responseTopic?.utf8.count ?? 0) + (correlation?.count ?? 0)
        // The library lets a packet pass that is a byte or two too large, and an assertion fails when it notices that later.
        if let brokerLimit, variable + Self.fixedBytes > brokerLimit { throw .tooLarge(limit: brokerLimit) }
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        if let expiry {
            let seconds = UInt32(clamping: expiry.components.seconds)
            mosquitto_property_add_int32(&properties, CInt(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), seconds)
        }
        if let responseTopic {
            mosquitto_property_add_string(&properties, CInt(MQTT_PROP_RESPONSE_TOPIC.rawValue), responseTopic)
        }
        if let correlation {
            let id = CInt(MQTT_PROP_CORRELATION_DATA.rawValue)
            mosquitto_property_add_binary(&properties, id, correlation, UInt16(clamping: correlation.count))
        }
        var number: Int32 = 0
        let code = mosquitto_publish_v5(
            handle,
            &number,
            topic,
            CInt(payload.count),
            payload,
            1,
            isRetained,
            properties
        )
        update()
        guard code != Self.mosqSuccess else { return number }
        throw Self.isEnd(code) ? PublishError.notConnected : .failed(Self.words(code))
    }

    /// Returns whether a call has failed because the connection has ended. The loop notices the end too, and reports it.
    private static func isEnd(_ code: CInt) -> Bool {
        [MOSQ_ERR_NO_CONN, MOSQ_ERR_CONN_LOST, MOSQ_ERR_ERRNO, MOSQ_ERR_TLS].contains { CInt($0.rawValue) == code }
    }

    /// Subscribes to topics. The refusal of a subscription is one of the events.
    ///
    /// - Parameter isQueued: whether the broker keeps messages for the client while it is away or slow. There is room for few,
    ///   so topics whose last message is enough should not take it.
    public func subscribe(to filters: [String], isQueued: Bool = true) {
        guard let handle, !isConnecting else { return }
        for filter in filters {
            var number: Int32 = 0
            let code = mosquitto_subscribe_v5(handle, &number, filter, isQueued ? 1 : 0, 0, nil)
            if code == Self.mosqSuccess {
                subscribing[number] = filter
            } else if !Self.isEnd(code) {
                events.subscriptionRefused(filter, Self.words(code))
            }
        }
        update()
    }

    private func subscribed(_ number: CInt, _ reason: CInt) {
        guard let filter = subscribing.removeValue(forKey: number), reason >= 0x80 else { return }
        events.subscriptionRefused(filter, String(cString: mosquitto_reason_string(reason)))
    }

    /// Ends a subscription.
    public func unsubscribe(from filter: String) {
        guard let handle, !isConnecting else { return }
        mosquitto_unsubscribe(handle, nil, filter)
        update()
    }

    private func accepted(_ code: CInt, _ flags: CInt, _ properties: OpaquePointer?) {
        // A refusal ends the connection, and the end reports it.
        guard code == 0 else { return refusal = String(cString: mosquitto_reason_string(code)) }
        var limit: UInt32 = 0
        let id = CInt(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue)
        if mosquitto_property_read_int32(properties, id, &limit, false) != nil { brokerLimit = Int(limit) }
        events.connected(flags & 1 != 0)
    }

    /// Why the broker has refused the client; nil if it has not.
    private var refusal: String?

    private func arrived(_ message: mosquitto_message, _ properties: OpaquePointer?) {
        var expiry: UInt32 = 0
        var response: UnsafeMutablePointer<CChar>?
        var correlation: UnsafeMutableRawPointer?
        var count: UInt16 = 0
        let hasExpiry =
            mosquitto_property_read_int32(
                properties,
                CInt(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue),
                &expiry,
                false
            ) != nil
        mosquitto_property_read_string(properties, CInt(MQTT_PROP_RESPONSE_TOPIC.rawValue), &response, false)
        let id = CInt(MQTT_PROP_CORRELATION_DATA.rawValue)
        mosquitto_property_read_binary(properties, id, &correlation, &count, false)
        defer {
            free(response)
            free(correlation)
        }
        let bytes = UnsafeRawBufferPointer(start: message.payload, count: Int(max(message.payloadlen, 0)))
        events.received(
            MQTTMessage(
                topic: message.topic.map { String(cString: $0) } ?? "",
                payload: Array(bytes),
                isRetained: message.retain,
                responseTopic: response.map { String(cString: $0) },
                correlation: correlation.map { Array(UnsafeRawBufferPointer(start: $0, count: Int(count))) },
                expiry: hasExpiry ? .seconds(Int64(expiry)) : nil
            )
        )
    }

    // MARK: The loop

    private func update() {
        guard let handle, !isConnecting else { return }
        let socket = mosquitto_socket(handle)
        guard socket >= 0 else { return }
        var wanted: DescriptorEvents = isReading ? .readable : []
        if mosquitto_want_write(handle) { wanted.insert(.writable) }
        if let watch {
            watch.events = wanted
        } else {
            watch = loop.watch(socket, for: wanted) { [weak self] in self?.ready($0) }
        }
    }

    private func ready(_ ready: DescriptorEvents) {
        guard let handle else { return }
        guard !hasSlept() else { return }
        var code = Self.mosqSuccess
        if ready.contains(.writable) { code = mosquitto_loop_write(handle, 1) }
        // An end is noticed by reading.
        if code == Self.mosqSuccess, isReading || !ready.isDisjoint(with: [.hangup, .error]), ready != .writable {
            code = mosquitto_loop_read(handle, 1)
        }
        finishTurn(code)
    }

    /// Ends the connection if this process or the machine has slept for so long that messages in the socket may be out of
    /// date. The broker sends them again, with the time that they have left, unless they have expired.
    private func hasSlept() -> Bool {
        let pause = ContinuousClock.now - lastTurn
        lastTurn = .now
        guard pause > options.keepAlive * 2 else { return false }
        end("the machine has slept")
        return true
    }

    private func scheduleTurn() {
        timer = loop.schedule(at: .now + options.keepAlive / 2) { [weak self] in self?.takeTurn() }
    }

    /// Looks whether the broker has been silent for too long. The report of the end may give up the last reference to the client,
    /// so the caller must have one.
    private func takeTurn() {
        timer = nil
        guard let handle, !hasSlept() else { return }
        finishTurn(mosquitto_loop_misc(handle))
        if self.handle != nil { scheduleTurn() }
    }

    private func finishTurn(_ code: CInt) {
        guard handle != nil else { return }
        if code == Self.mosqSuccess {
            update()
        } else {
            let words = code == CInt(MOSQ_ERR_ERRNO.rawValue) ? "\(Errno(rawValue: errno))" : Self.words(code)
            end(refusal ?? words)
        }
    }

    /// Ends the connection.
    ///
    /// - Parameter publishesWill: whether the broker publishes the client's will, as it does when the connection is lost.
    public func close(publishesWill: Bool) {
        isClosed = true
        if let handle, !isConnecting {
            // Reason 4: "Disconnect with Will Message".
            mosquitto_disconnect_v5(handle, publishesWill ? 4 : 0, nil)
            _ = mosquitto_loop_write(handle, 1)
        }
        destroy()
    }

    /// Ends the connection without another word to the broker, and reports the end.
    private func end(_ reason: String) {
        guard handle != nil else { return }
        destroy()
        events.ended(reason)
    }

    private func destroy() {
        watch?.cancel()
        watch = nil
        if let timer { loop.cancelTimer(timer) }
        timer = nil
        guard !isConnecting, let handle else { return }
        self.handle = nil
        // A callback may be running, and the library uses the handle after it.
        nonisolated(unsafe) let ended = handle
        loop.execute { mosquitto_destroy(ended) }
    }
}

/// Why a message was not published.
public enum PublishError: Error, Hashable, CustomStringConvertible {
    /// The client is not connected, or is about to report the end of its connection.
    case notConnected
    /// The broker takes no packet that is larger than a number of bytes.
    case tooLarge(limit: Int)
    /// Another reason, in words.
    case failed(String)

    /// The reason in words.
    public var description: String {
        switch self {
        case .notConnected: "the broker is not connected"
        case .tooLarge(let limit): "the broker takes at most \(limit) bytes"
        case .failed(let reason): reason
        }
    }
}

/// Why a client cannot connect.
public struct MQTTError: Error, Hashable, CustomStringConvertible {
    /// The reason in words.
    public let description: String

    init(_ description: String) { self.description = description }
}
