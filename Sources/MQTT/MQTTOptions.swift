/// How a client reaches its broker.
public struct MQTTOptions: Sendable {
    /// The files for mutual TLS.
    public struct Certificates: Sendable, Hashable {
        /// The certificates of the authorities that may vouch for the broker.
        public var authorities: String
        /// The client's certificate.
        public var certificate: String
        /// The key of the client's certificate.
        public var key: String

        /// Names the files.
        public init(authorities: String, certificate: String, key: String) {
            self.authorities = authorities
            self.certificate = certificate
            self.key = key
        }
    }

    /// The client's identifier, under which the broker keeps its session.
    public var client: String
    /// The broker's host.
    public var host: String
    /// The broker's port.
    public var port: UInt16
    /// The files for TLS; nil for a connection without TLS.
    public var certificates: Certificates?
    /// The user's name and password, for a connection without a certificate; nil for none.
    public var user: (name: String, password: String)?
    /// How long the connection may be silent. The broker ends a connection that is silent for one and a half times as long.
    public var keepAlive = Duration.seconds(60)
    /// How long the broker keeps the session of a client that is gone.
    public var sessionExpiry = Duration.seconds(7 * 86_400)
    /// The retained message that the broker publishes when the client is gone; nil for none.
    public var will: (topic: String, payload: [UInt8])?
    /// Number of messages that the broker may send without an acknowledgement.
    public var receiveMaximum: UInt16 = 64

    /// Names a client and its broker.
    public init(client: String, host: String, port: UInt16) {
        self.client = client
        self.host = host
        self.port = port
    }
}
