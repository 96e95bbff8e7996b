extension GenericURL {
    /// The components as bytes, which are faster to read than text.
    ///
    /// ```swift
    /// let url = try GenericURL("todolist://www.acme.com/lists?title=a")
    /// url.bytes.host == "www.acme.com"                // true
    /// url.bytes.path.count                            // 6
    /// url.bytes.query?.contains(UInt8(ascii: "&"))    // false
    /// url.bytes.host.map(Substring.init)              // the same as url.host
    /// ```
    ///
    /// In an optimised build, reading bytes without storing them requires only arithmetic on their offsets. A
    /// `Substring` also retains the stored string, which takes longer than the rest of the work.
    @inlinable @inline(__always)
    public var bytes: ByteView { ByteView(url: self) }

    /// The components of a URL as bytes.
    ///
    /// A property is `nil`, or empty, exactly when the property of ``GenericURL`` with the same name is.
    public struct ByteView: Sendable {
        // Every getter is inlined, because the compiler removes the reference counting only if it sees every step from
        // the URL to the byte. If the view stored the string and the layout instead of the URL, the reference counting
        // would remain.
        @usableFromInline let url: GenericURL

        @inlinable @inline(__always)
        init(url: GenericURL) { self.url = url }

        /// The bytes of ``GenericURL/scheme``.
        @inlinable @inline(__always)
        public var scheme: Bytes? { url.layout.scheme.map { Bytes(of: url.string, $0) } }

        /// The bytes of ``GenericURL/networkLocation``.
        @inlinable @inline(__always)
        public var networkLocation: Bytes? { url.layout.networkLocation.map { Bytes(of: url.string, $0) } }

        /// The bytes of ``GenericURL/user``.
        @inlinable @inline(__always)
        public var user: Bytes? { url.layout.user.map { Bytes(of: url.string, $0) } }

        /// The bytes of ``GenericURL/password``.
        @inlinable @inline(__always)
        public var password: Bytes? { url.layout.password.map { Bytes(of: url.string, $0) } }

        /// The bytes of ``GenericURL/host``.
        @inlinable @inline(__always)
        public var host: Bytes? { url.layout.host.map { Bytes(of: url.string, $0) } }

        /// The bytes of ``GenericURL/path``.
        @inlinable @inline(__always)
        public var path: Bytes { Bytes(of: url.string, url.layout.path) }

        /// The bytes of ``GenericURL/parameters``.
        @inlinable @inline(__always)
        public var parameters: Bytes? { url.layout.parameters.map { Bytes(of: url.string, $0) } }

        /// The bytes of ``GenericURL/query``.
        @inlinable @inline(__always)
        public var query: Bytes? { url.layout.query.map { Bytes(of: url.string, $0) } }

        /// The bytes of ``GenericURL/fragment``.
        @inlinable @inline(__always)
        public var fragment: Bytes? {
            url.layout.fragment(in: url.string.utf8.count).map { Bytes(of: url.string, $0) }
        }

        /// The bytes of ``GenericURL/opaquePart``.
        @inlinable @inline(__always)
        public var opaquePart: Bytes? { url.layout.opaquePart.map { Bytes(of: url.string, $0) } }
    }
}
