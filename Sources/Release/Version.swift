/// The version of the programs and libraries that are built from this package.
package enum Version {
    /// The semantic version that `openurl` and `openurld` print, which is also the value of the router's `Version`
    /// property.
    package static let current = "0.1.0"
}
