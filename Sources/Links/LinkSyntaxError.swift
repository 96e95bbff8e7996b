/// Why a line is not a rule, worded for whoever wrote it.
package struct LinkSyntaxError: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}
