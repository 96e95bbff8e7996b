internal import DBus
internal import Logging
internal import OpenURLBus

/// The schemes about which xdg-desktop-portal asks its backend each time.
///
/// Without this, the portal only asks if there is a choice, and stops asking when the choice was the same three times. It
/// keeps the wish in its permission store, where each of these schemes also gets the router's mark. If a user's program has
/// set it already, it stays when the router no longer needs it.
///
/// This belongs to the router's actor.
final class PortalSchemes {
    private let connection: Connection
    private let log: Logger
    /// The types in the store that have the router's mark; nil before they were read.
    private var marked: Set<String>?
    /// The types that should have it.
    private var wanted: Set<String> = []
    private var isWriting = false

    private static let prefix = "x-scheme-handler/"
    private static let ask = "always-ask"
    private static let mark = "org.openurl.Router1"

    init(_ connection: Connection, log: Logger) {
        self.connection = connection
        self.log = log
    }

    /// Makes the portal ask about exactly these schemes. Calls that come while this is writing only say what to write next.
    func use(_ schemes: Set<String>) async {
        wanted = Set(schemes.map { Self.prefix + $0 })
        guard !isWriting else { return }
        isWriting = true
        defer { isWriting = false }
        do throws(CallError) {
            var known = if let marked { marked } else { try await stored() }
            marked = known
            while known != wanted {
                for type in wanted.subtracting(known).sorted() {
                    if try await isAsked(type) == nil { try await set(type, true) }
                    known.insert(type)
                }
                for type in known.subtracting(wanted).sorted() {
                    if try await isAsked(type) == true { try await set(type, false) }
                    known.remove(type)
                }
                marked = known
            }
        } catch {
            log.warning(
                "the portal's permission store cannot be changed, so the portal may not say who opens links: \(error)"
            )
        }
    }

    /// Returns the types that have the mark in the store.
    private func stored() async throws(CallError) -> Set<String> {
        let types: [String]
        do throws(CallError) {
            types = try await connection.call(
                AppChooserPortal.list,
                on: AppChooserPortal.permissionStore,
                AppChooserPortal.table
            )
        } catch .remote {
            // There is no table before the first choice.
            return []
        }
        var found: Set<String> = []
        for type in types where type.hasPrefix(Self.prefix) {
            if try await isAsked(type) == true { found.insert(type) }
        }
        return found
    }

    /// Returns whether the portal asks about a type: true because of the router, false because of another program, nil if it
    /// does not.
    private func isAsked(_ type: String) async throws(CallError) -> Bool? {
        do throws(CallError) {
            let data = try await connection.call(
                AppChooserPortal.lookup,
                on: AppChooserPortal.permissionStore,
                Arguments(AppChooserPortal.table, type)
            ).values.1
            guard case .dictionary(let entries, _, _) = data, entries[.string(Self.ask)]?.content == true else {
                return nil
            }
            return entries[.string(Self.mark)]?.content == true
        } catch .remote {
            return nil
        }
    }

    private func set(_ type: String, _ isAsked: Bool) async throws(CallError) {
        let data: [String: Value] = isAsked ? [Self.ask: true, Self.mark: true] : [:]
        _ = try await connection.call(
            AppChooserPortal.setValue,
            on: AppChooserPortal.permissionStore,
            Arguments(AppChooserPortal.table, true, type, Value.options(data))
        )
    }
}

extension Value {
    /// The value in a variant, or the value itself.
    fileprivate var content: Value { if case .variant(let value) = self { value } else { self } }
}
