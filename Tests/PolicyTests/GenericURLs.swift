import Policy
import RFC1808
import SchemeRegistry

enum GenericURLs {
    /// Returns the parts of a URL that a policy looks at.
    static func policyURL(_ text: String) throws -> PolicyURL? {
        let url = try GenericURL(text)
        return Scheme(of: url).map { PolicyURL(url, scheme: $0) }
    }
}
