/// Why a handler is there only temporarily.
public enum TemporaryRegistration: String, Sendable, Hashable, CaseIterable {
    /// A caller registered the handler until the router exits (``RegistryInterface/registerTemporarily``).
    case registration
    /// A caller runs the handler's program, and has claimed schemes for it (``RegistryInterface/claim``).
    case claim
}
