internal import CCurl
internal import Glibc
internal import WebLinks

/// One request for a file of a site, with libcurl: over HTTPS to exactly this host, without redirects, cookies,
/// authentication, proxies and compression, and with limits on everything.
package final class Transfer {
    /// The place that a request goes to, and the time that it may take.
    package struct Options: Sendable {
        /// The file with the certificates of authorities; nil for the system's.
        package var authorities: String?
        /// The address and the port to connect to, instead of the host's; nil for the host's.
        package var connection: String?
        /// The answer of the name service about the host: `ADDRESS`, or several with commas; nil to ask it.
        package var addresses: String?
        /// Whether the host may have a private address.
        package var allowsPrivateAddresses = false
        /// When the last request has to be done.
        package var deadline = ContinuousClock.now + .seconds(20)

        package init() {}
    }

    /// The result of a request.
    enum Outcome {
        case file([UInt8])
        /// The site has answered, but there is no usable file.
        case noFile(String)
        /// There is no answer of the site.
        case unreachable(String)
    }

    /// Maximum size of a file, the one that Apple has for its own.
    private static let maximumSize = 128 << 10
    /// Maximum size of all headers.
    private static let maximumHeaders = 32 << 10

    private let options: Options
    private var bytes: [UInt8] = []
    private var headers = 0
    private var types = 0
    private var isCompressed = false
    private var excess: String?
    private var refusedAddress = false

    private init(_ options: Options) {
        self.options = options
    }

    /// Gets a file.
    ///
    /// - Parameter path: the path of the file, which needs no escapes.
    static func get(_ path: String, from host: WebHost, _ options: Options) -> Outcome {
        guard let curl = curl_easy_init() else { return .unreachable("libcurl cannot be used") }
        defer { curl_easy_cleanup(curl) }
        return Transfer(options).run(curl, "https://\(host)\(path)", host)
    }

    /// The time that is left, in milliseconds; at least one, because zero would mean no limit.
    private var milliseconds: Int { max(1, Int(ContinuousClock.now.duration(to: options.deadline) / .milliseconds(1))) }

    private func run(_ curl: UnsafeMutableRawPointer, _ url: String, _ host: WebHost) -> Outcome {
        var list: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(list) }
        guard configure(curl, url, host, &list) else { return .unreachable("libcurl lacks an option") }
        let code = curl_easy_perform(curl)
        if let excess { return .noFile(excess) }
        if code != CURLE_OK, refusedAddress {
            return .unreachable("the host has no address in the public Internet")
        }
        switch code {
        case CURLE_OK: break
        case CURLE_FILESIZE_EXCEEDED: return .noFile("the file is larger than \(Self.maximumSize) bytes")
        default: return .unreachable(String(cString: curl_easy_strerror(code)))
        }
        return outcome(curl)
    }

    private func outcome(_ curl: UnsafeMutableRawPointer) -> Outcome {
        let status = curl_status(curl)
        switch status {
        case 200: break
        case 300..<400: return .noFile("the site redirects (status \(status)), which is not followed")
        // The site may answer otherwise later.
        case 408, 425, 429: return .unreachable("the site is busy (status \(status))")
        case 400..<500: return .noFile("the site has no such file (status \(status))")
        default: return .unreachable("the site answers with status \(status)")
        }
        guard !isCompressed else { return .noFile("the file is compressed, although the request did not allow it") }
        let type = curl_content_type(curl).map { String(cString: $0) } ?? ""
        let essence = type.prefix { $0 != ";" }.lowercased().filter { $0 != " " && $0 != "\t" }
        guard essence == "application/json", types == 1 else {
            return .noFile("the file's type is not application/json")
        }
        return .file(bytes)
    }

    /// Sets all options. The options that are not set here have defaults without cookies, authentication or caches.
    private func configure(
        _ curl: UnsafeMutableRawPointer,
        _ url: String,
        _ host: WebHost,
        _ list: inout UnsafeMutablePointer<curl_slist>?
    ) -> Bool {
        let own = Unmanaged.passUnretained(self).toOpaque()
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
            (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)), (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            (CURLOPT_TIMEOUT_MS, milliseconds), (CURLOPT_CONNECTTIMEOUT_MS, milliseconds),
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_NETRC, 0), (CURLOPT_FORBID_REUSE, 1),
            (CURLOPT_MAXFILESIZE, Self.maximumSize),
            (CURLOPT_HTTPGET, 1), (CURLOPT_TRANSFER_ENCODING, 0), (CURLOPT_HTTP09_ALLOWED, 0),
        ]
        var results = numbers.map { curl_set_number(curl, $0.0, $0.1) }
        results += [
            curl_set_text(curl, CURLOPT_URL, url), curl_set_text(curl, CURLOPT_PROTOCOLS_STR, "https"),
            // An empty text also switches off the proxies in the environment.
            curl_set_text(curl, CURLOPT_PROXY, ""), curl_set_text(curl, CURLOPT_USERAGENT, "openurl-proofs"),
            curl_set_receiver(curl, CURLOPT_WRITEFUNCTION) { Transfer.of($3).receive($0, $1 * $2) },
            curl_set_pointer(curl, CURLOPT_WRITEDATA, own),
            curl_set_receiver(curl, CURLOPT_HEADERFUNCTION) { Transfer.of($3).receiveHeader($0, $1 * $2) },
            curl_set_pointer(curl, CURLOPT_HEADERDATA, own),
            curl_set_socket_maker(curl) { own, _, address in Transfer.of(own).makeSocket(address) },
            curl_set_pointer(curl, CURLOPT_OPENSOCKETDATA, own),
        ]
        if let authorities = options.authorities {
            results += [curl_set_text(curl, CURLOPT_CAINFO, authorities), curl_set_text(curl, CURLOPT_CAPATH, nil)]
        }
        if let connection = options.connection {
            list = curl_slist_append(list, "::\(connection)")
            results.append(curl_set_list(curl, CURLOPT_CONNECT_TO, list))
        } else if let addresses = options.addresses {
            list = curl_slist_append(list, "\(host):443:\(addresses)")
            results.append(curl_set_list(curl, CURLOPT_RESOLVE, list))
        }
        return results.allSatisfy { $0 == CURLE_OK }
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> Transfer {
        // `run` keeps the object until libcurl has returned, and has set no other pointer.
        Unmanaged<Transfer>.fromOpaque(pointer!).takeUnretainedValue()
    }

    /// Receives a part of the file. A result other than the part's size ends the transfer.
    private func receive(_ part: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        guard let part, bytes.count + count <= Self.maximumSize else {
            excess = "the file is larger than \(Self.maximumSize) bytes"
            return 0
        }
        part.withMemoryRebound(to: UInt8.self, capacity: count) {
            bytes += UnsafeBufferPointer(start: $0, count: count)
        }
        return count
    }

    private func receiveHeader(_ part: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        headers += count
        guard let part, headers <= Self.maximumHeaders else {
            excess = "the site's headers are larger than \(Self.maximumHeaders) bytes"
            return 0
        }
        let line = part.withMemoryRebound(to: UInt8.self, capacity: count) {
            String(decoding: UnsafeBufferPointer(start: $0, count: count), as: UTF8.self).lowercased()
        }
        if line.hasPrefix("content-type:") { types += 1 }
        if line.hasPrefix("content-encoding:")
            || line.hasPrefix("transfer-encoding:") && !line.hasSuffix(" chunked\r\n")
        {
            isCompressed = true
        }
        return count
    }

    /// Opens the socket for an address. The address is checked here, at the last moment, so the name service cannot give
    /// another one in between.
    private func makeSocket(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> curl_socket_t {
        guard let address, let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return -1 }
        let (family, type) = (address.pointee.family, address.pointee.socktype)
        let raw = UnsafeRawPointer(address) + offset
        let isPublic = PublicAddress.contains(raw, family: family, length: Int(address.pointee.addrlen))
        guard isPublic || options.allowsPrivateAddresses else {
            refusedAddress = true
            return -1
        }
        refusedAddress = false
        return socket(family, type | CInt(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
    }
}
