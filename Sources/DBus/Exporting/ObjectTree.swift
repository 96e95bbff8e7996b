/// The objects that a connection exports, by path.
struct ObjectTree {
    private final class Object: Sendable {
        let own: [ExportedInterface]
        let properties: ExportedInterface

        init(_ own: [ExportedInterface]) {
            self.own = own
            properties = StandardInterfaces.properties(of: own)
        }

        func interface(_ name: InterfaceName) -> ExportedInterface? {
            own.first { $0.name == name } ?? (name == properties.name ? properties : nil)
        }
    }

    private var objects: [ObjectPath: Object] = [:]
    /// Objects that stand for all paths below their own.
    private var subtrees: [ObjectPath: Object] = [:]

    mutating func add(_ interfaces: [ExportedInterface], at path: ObjectPath) {
        var own = objects[path]?.own ?? []
        for interface in interfaces {
            own.removeAll { $0.name == interface.name }
            own.append(interface)
        }
        objects[path] = Object(own)
    }

    mutating func remove(_ path: ObjectPath) {
        objects[path] = nil
    }

    mutating func addSubtree(_ interfaces: [ExportedInterface], below path: ObjectPath) {
        subtrees[path] = Object(interfaces)
    }

    private func object(_ path: ObjectPath) -> Object? {
        if let object = objects[path] { return object }
        // The innermost of the subtrees that contain the path answers for it.
        var nearest: (root: ObjectPath, object: Object)?
        for (root, object) in subtrees where path != root && path.rawValue.hasPrefix(Self.prefix(below: root)) {
            if let nearest, nearest.root.rawValue.utf8.count > root.rawValue.utf8.count { continue }
            nearest = (root, object)
        }
        return nearest?.object
    }

    /// The beginning of all paths below a path.
    private static func prefix(below path: ObjectPath) -> String { path.rawValue == "/" ? "/" : path.rawValue + "/" }

    /// Returns the method that a call specifies. The call may leave out the interface.
    func method(
        _ path: ObjectPath,
        _ interface: InterfaceName?,
        _ member: MemberName
    ) -> Result<ExportedMethod, RemoteError> {
        let object = object(path)
        if let interface, let found = object?.interface(interface) {
            if let method = found.methods[member] { return .success(method) }
            return .failure(RemoteError(.unknownMethod, "\(interface) has no method \(member)"))
        }
        // If an object lies below a path, the path exists too, so that introspection can walk down to the object.
        let children = children(of: path)
        guard object != nil || !children.isEmpty || subtrees[path] != nil else {
            return .failure(RemoteError(.unknownObject, "there is no object \(path)"))
        }
        let introspectable = introspectable(object, children)
        switch interface {
        case introspectable.name?, nil:
            if interface == nil, let object {
                for candidate in object.own + [object.properties] {
                    if let method = candidate.methods[member] { return .success(method) }
                }
            }
            if let method = introspectable.methods[member] { return .success(method) }
            return .failure(RemoteError(.unknownMethod, "\(path) has no method \(member)"))
        case let interface?:
            return .failure(RemoteError(.unknownInterface, "\(path) has no interface \(interface)"))
        }
    }

    func property(_ path: ObjectPath, _ interface: InterfaceName, _ name: MemberName) -> ExportedProperty? {
        objects[path]?.interface(interface)?.properties[name]
    }

    private func introspectable(_ object: Object?, _ children: [String]) -> ExportedInterface {
        StandardInterfaces.introspectable {
            guard let object else { return Introspection.xml([], children: children) }
            // Nothing ever calls this closure: it only provides Introspectable's description, which does not depend on
            // the XML.
            let standard = [object.properties, StandardInterfaces.introspectable { "" }]
            return Introspection.xml(object.own + standard, children: children)
        }
    }

    private func children(of path: ObjectPath) -> [String] {
        let prefix = Self.prefix(below: path)
        let names = (Array(objects.keys) + subtrees.keys).compactMap { other -> String? in
            guard other != path, other.rawValue.hasPrefix(prefix) else { return nil }
            return other.rawValue.dropFirst(prefix.count).split(separator: "/").first.map(String.init)
        }
        return Set(names).sorted()
    }
}
