/// The version of what is built from this package, in one place.
public enum Version {
    /// Semantic, as the command prints it and the router's `Version` property says it.
    public static let current = "0.1.0"
}
