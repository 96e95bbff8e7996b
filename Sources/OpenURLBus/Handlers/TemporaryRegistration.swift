/// The reason for which a handler is there only temporarily.
public enum TemporaryRegistration: String, Sendable, Hashable, CaseIterable {
    /// A caller has registered the handler until the router ends (``RegistryInterface/registerTemporarily``).
    case registration
    /// A caller runs the program of the handler, and has claimed schemes for it (``RegistryInterface/claim``).
    case claim
}
