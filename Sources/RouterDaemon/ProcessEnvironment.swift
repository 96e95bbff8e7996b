/// A process's environment variables.
enum ProcessEnvironment {
    /// Returns the variables in a list of `NAME=value` that ends with a null pointer, such as `environ`.
    ///
    /// An entry that is not UTF-8 is left out, because a `String` cannot carry such bytes unchanged.
    static func variables(_ entries: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> [String: String] {
        var variables: [String: String] = [:]
        var entry = entries
        while let pointer = entry.pointee {
            if let text = String(validatingCString: pointer), let equals = text.firstIndex(of: "=") {
                variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            entry += 1
        }
        return variables
    }
}
