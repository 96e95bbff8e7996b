/// What a connection exports: objects by path, their interfaces by name.
struct ObjectTree {
    private struct Object {
        let own: [ExportedInterface]
        let all: [InterfaceName: ExportedInterface]
    }

    private var objects: [ObjectPath: Object] = [:]

    mutating func add(_ interfaces: [ExportedInterface], at path: ObjectPath) {
        let own = (objects[path]?.own ?? []) + interfaces
        var all: [InterfaceName: ExportedInterface] = [:]
        let properties = StandardInterfaces.properties(of: own)
        // The description of Introspectable is the same whatever it answers.
        let described = own + [properties, StandardInterfaces.introspectable { "" }]
        let children = children(of: path)
        let xml = Introspection.xml(described, children: children)
        for interface in own + [properties, StandardInterfaces.introspectable { xml }] {
            all[interface.name] = interface
        }
        objects[path] = Object(own: own, all: all)
    }

    /// The method that a call names; an interface may be left out of a call.
    func method(
        _ path: ObjectPath,
        _ interface: InterfaceName?,
        _ member: MemberName
    ) -> Result<ExportedMethod, RemoteError> {
        guard let object = objects[path] else {
            return parentMethod(path, member)
                ?? .failure(RemoteError(.unknownObject, "there is no object \(path)"))
        }
        guard let interface else {
            for candidate in object.own + object.all.values {
                if let method = candidate.methods[member] { return .success(method) }
            }
            return .failure(RemoteError(.unknownMethod, "\(path) has no method \(member)"))
        }
        guard let found = object.all[interface] else {
            return .failure(RemoteError(.unknownInterface, "\(path) has no interface \(interface)"))
        }
        guard let method = found.methods[member] else {
            return .failure(RemoteError(.unknownMethod, "\(interface) has no method \(member)"))
        }
        return .success(method)
    }

    /// Paths above an object exist for those who walk down to it by introspection.
    private func parentMethod(_ path: ObjectPath, _ member: MemberName) -> Result<ExportedMethod, RemoteError>? {
        let children = children(of: path)
        guard !children.isEmpty else { return nil }
        let xml = Introspection.xml([], children: children)
        guard let method = StandardInterfaces.introspectable(xml: { xml }).methods[member] else { return nil }
        return .success(method)
    }

    private func children(of path: ObjectPath) -> [String] {
        let prefix = path.rawValue == "/" ? "/" : path.rawValue + "/"
        let names = objects.keys.compactMap { other -> String? in
            guard other != path, other.rawValue.hasPrefix(prefix) else { return nil }
            return other.rawValue.dropFirst(prefix.count).split(separator: "/").first.map(String.init)
        }
        return Set(names).sorted()
    }
}
