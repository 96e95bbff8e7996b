/// The server's static answers.
enum LoopbackResponse: String, Hashable, CaseIterable {
    case done = "200 OK"
    case badRequest = "400 Bad Request"
    case wrongState = "403 Forbidden"
    case notFound = "404 Not Found"
    case wrongMethod = "405 Method Not Allowed"
    case misdirected = "421 Misdirected Request"
    case tooLarge = "431 Request Header Fields Too Large"

    private var text: String {
        switch self {
        case .done: "You can close this tab and go back to the program."
        case .wrongState: "This address does not belong to the current sign-in."
        case .badRequest, .notFound, .wrongMethod, .misdirected, .tooLarge:
            "This is not the expected address."
        }
    }

    /// The answer as bytes.
    ///
    /// The page has no script. Because the page's address contains the code from the sign-in, no other site may embed
    /// the page or see the address.
    var bytes: [UInt8] {
        let page = "<!DOCTYPE html><meta charset=\"utf-8\"><title>openurl</title><p>\(text)</p>\n"
        let lines = [
            "HTTP/1.1 \(rawValue)", "Content-Type: text/html; charset=utf-8", "Content-Length: \(page.utf8.count)",
            "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'", "Referrer-Policy: no-referrer",
            "X-Content-Type-Options: nosniff", "Cache-Control: no-store", "Connection: close",
        ]
        return Array((lines + ["", page]).joined(separator: "\r\n").utf8)
    }
}
