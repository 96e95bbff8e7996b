import Desktop
import FoundationEssentials
import Glibc
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

@Suite(.timeLimit(.minutes(10))) struct ManifestRegistrationTests {
    private let root: TemporaryDirectory
    private let directories: RegistryDirectories

    init() throws {
        root = try TemporaryDirectory()
        directories = RegistryDirectories(
            user: "\(root.path)/home/share/openurl/handlers",
            system: ["\(root.path)/system"]
        )
    }

    private let handlers = "home/share/openurl/handlers"

    private func load() -> Registry { Registry(loading: directories) }

    private func register(_ name: String) throws -> Registration {
        try directories.register("\(root.path)/\(name)", in: load())
    }

    private func replace(_ name: String) throws -> Registration {
        try directories.register("\(root.path)/\(name)", in: load(), isReplacing: true)
    }

    private func unregister(_ id: String) throws {
        try directories.unregister(BundleIdentifier(id), from: load())
    }

    /// Writes a bare manifest to `opt/NAME.plist`.
    private func install(_ name: String, _ list: PropertyListValue) throws {
        try root.write(try list.encoded(), to: "opt/\(name).plist")
    }

    @Test func manifestIsLinkedUnderItsID() throws {
        try install("todo", manifest("com.acme.todolist"))
        let registration = try register("opt/todo.plist")
        #expect(registration.change == .added)
        #expect(registration.conflicts.isEmpty)
        #expect(registration.warnings.isEmpty)
        #expect(try root.names(in: handlers) == ["com.acme.todolist.plist"])
        #expect(root.target(of: "\(handlers)/com.acme.todolist.plist") == "\(root.path)/opt/todo.plist")
        let registry = load()
        #expect(registry.diagnostics.isEmpty)
        #expect(registry.handlers == [registration.handler])
    }

    @Test func bundleIsLinked() throws {
        try root.write(try manifest("com.acme.todolist").encoded(.binary), to: "opt/Todo.app/Info.plist")
        let registration = try register("opt/Todo.app/")
        #expect(registration.handler.path == "\(root.path)/opt/Todo.app")
        #expect(root.target(of: "\(handlers)/com.acme.todolist.app") == "\(root.path)/opt/Todo.app")
        #expect(load().handlers == [registration.handler])
    }

    @Test func directoryIsCreatedForTheUserOnly() throws {
        try install("todo", manifest("com.acme.todolist"))
        _ = try register("opt/todo.plist")
        for directory in ["home", "home/share", "home/share/openurl", handlers] {
            let mode = try status(of: "\(root.path)/\(directory)", followingLinks: false).st_mode
            #expect(mode & 0o777 == 0o700)
        }
    }

    @Test func repeatedRegistrationChangesNothing() throws {
        try install("todo", manifest("com.acme.todolist"))
        _ = try register("opt/todo.plist")
        try root.setDate("\(handlers)/com.acme.todolist.plist", seconds: 7)
        let again = try register("opt/todo.plist")
        #expect(again.change == .unchanged)
        #expect(again.handler.registrationDate.nanoseconds == 7_000_000_000)
    }

    @Test func newPathReplacesTheLink() throws {
        try install("old", manifest("com.acme.todolist", schemes: ["old"]))
        try install("new", manifest("com.acme.todolist", schemes: ["new"]))
        _ = try register("opt/old.plist")
        #expect(try replace("opt/new.plist").change == .replaced(path: "\(root.path)/opt/old.plist"))
        #expect(load().schemes.map(\.rawValue) == ["new"])
        #expect(try root.names(in: handlers) == ["com.acme.todolist.plist"])
    }

    @Test func otherHandlerIsReplacedOnDemandOnly() throws {
        try install("old", manifest("com.acme.todolist", schemes: ["old"]))
        try install("it's new", manifest("com.acme.todolist", schemes: ["new"]))
        _ = try register("opt/old.plist")
        let error = #expect(throws: RegistrationError.self) { try register("opt/it's new.plist") }
        let command = #"openurl register --replace '\#(root.path)/opt/it'\''s new.plist'"#
        let other = "\(root.path)/opt/old.plist"
        let message = "com.acme.todolist is registered already, as \(other); run `\(command)` to replace it"
        #expect(error?.description == message)
        #expect(load().schemes.map(\.rawValue) == ["old"])
    }

    /// A project that was moved is registered again like a new one.
    @Test func registrationThatLeadsNowhereIsReplaced() throws {
        try install("old", manifest("com.acme.todolist", schemes: ["old"]))
        _ = try register("opt/old.plist")
        try FileManager.default.moveItem(atPath: "\(root.path)/opt/old.plist", toPath: "\(root.path)/opt/moved.plist")
        let link = "\(root.path)/\(handlers)/com.acme.todolist.plist"
        let reason =
            "leads to \(root.path)/opt/old.plist, which was moved or removed; register it where it is now, or unregister it"
        #expect(load().diagnostics.map(\.description) == ["\(link): \(reason)"])
        #expect(try register("opt/moved.plist").change == .replaced(path: "\(root.path)/opt/old.plist"))
        #expect(load().schemes.map(\.rawValue) == ["old"])
        #expect(load().diagnostics.isEmpty)
    }

    /// Programs that manage dotfiles, such as stow, make relative links.
    @Test func relativeRegistrationIsReplacedOnDemandOnly() throws {
        try install("old", manifest("com.acme.todolist", schemes: ["old"]))
        try install("new", manifest("com.acme.todolist", schemes: ["new"]))
        let target = "../../../../opt/old.plist"
        try root.link("\(handlers)/com.acme.todolist.plist", to: target)
        #expect(throws: RegistrationError.self) { try register("opt/new.plist") }
        #expect(load().schemes.map(\.rawValue) == ["old"])
        #expect(try replace("opt/new.plist").change == .replaced(path: "\(root.path)/\(handlers)/\(target)"))
        #expect(load().schemes.map(\.rawValue) == ["new"])
    }

    /// The name is too long for any file system. Only a registration that certainly leads nowhere is replaced.
    @Test func unclearRegistrationIsReplacedOnDemandOnly() throws {
        try install("new", manifest("com.acme.todolist"))
        let target = "/" + String(repeating: "x", count: 300)
        try root.link("\(handlers)/com.acme.todolist.plist", to: target)
        #expect(throws: RegistrationError.self) { try register("opt/new.plist") }
        #expect(try replace("opt/new.plist").change == .replaced(path: target))
    }

    @Test func directoryNamesTheHandlersInIt() throws {
        try root.write(try manifest("com.acme.todolist").encoded(), to: "opt/com.acme.todolist.plist")
        try root.write("", to: "opt/README.md")
        let file = "\(root.path)/opt/com.acme.todolist.plist"
        let error = #expect(throws: RegistrationError.self) { try register("opt") }
        let fact = "\(root.path)/opt is neither a bundle (Name.app) nor a manifest (Name.plist)"
        #expect(error?.description == "\(fact); register \(file)")
    }

    @Test(arguments: [
        ("Todo.app/README", "this is where a bundle's manifest belongs"),
        ("Todo.app/Contents/Info.plist", "move the files of the folder Contents here"),
    ])
    func bundleWithoutAManifestSaysWhereItBelongs(file: String, advice: String) throws {
        try root.write(try manifest("com.acme.todolist").encoded(), to: "opt/\(file)")
        let error = #expect(throws: RegistrationError.self) { try register("opt/Todo.app") }
        #expect(error?.description == "\(root.path)/opt/Todo.app/Info.plist: does not exist; \(advice)")
    }

    @Test func handlerOfTheSystemIsShadowedOnDemandOnly() throws {
        try root.write(try manifest("com.acme.todolist").encoded(), to: "system/com.acme.todolist.plist")
        try install("new", manifest("com.acme.todolist", schemes: ["new"]))
        #expect(throws: RegistrationError.self) { try register("opt/new.plist") }
        #expect(load().schemes.map(\.rawValue) == ["todolist"])
    }

    @Test func sameFileByAnotherPathIsNoOtherHandler() throws {
        try install("todo", manifest("com.acme.todolist"))
        try root.link("alias", to: "\(root.path)/opt")
        _ = try register("opt/todo.plist")
        _ = try register("alias/todo.plist")
        #expect(root.target(of: "\(handlers)/com.acme.todolist.plist") == "\(root.path)/alias/todo.plist")
    }

    @Test func replacementKeepsTheDate() throws {
        try install("old", manifest("com.acme.todolist", schemes: ["a"]))
        try install("new", manifest("com.acme.todolist", schemes: ["a"]))
        try install("other", manifest("com.acme.other", schemes: ["a"]))
        _ = try register("opt/old.plist")
        try root.setDate("\(handlers)/com.acme.todolist.plist", seconds: 7, nanoseconds: 9)
        _ = try register("opt/other.plist")
        #expect(try replace("opt/new.plist").handler.registrationDate.nanoseconds == 7_000_000_009)
        #expect(try load().handler(for: Scheme("a"), host: nil)?.id.rawValue == "com.acme.todolist")
    }

    /// A caller checks who may register a handler. The handler that is then registered has to be the same.
    @Test(arguments: ["opt/mine.plist", "opt/Mine.app", "home/share/openurl/handlers/Mine.app"])
    func manifestThatChangesAfterTheCheckIsRefused(_ name: String) throws {
        let file = name.hasSuffix(".app") ? "\(name)/Info.plist" : name
        let path = "\(root.path)/\(name)"
        try root.write(try manifest("com.acme.mine").encoded(), to: file)
        let registry = load()
        let checked = try directories.inspect(path, in: registry, services: DBusServiceNames()).handler
        try root.write(try manifest("com.acme.victim").encoded(), to: file)
        #expect(throws: RegistrationError.changed(path)) {
            try directories.register(path, in: registry, expecting: checked, isReplacing: true)
        }
        for form in ["app", "plist"] {
            #expect(access("\(root.path)/\(handlers)/com.acme.victim.\(form)", F_OK) != 0)
        }
        try root.write(try manifest("com.acme.mine").encoded(), to: file)
        let again = try directories.inspect(path, in: registry, services: DBusServiceNames()).handler
        #expect(try directories.register(path, in: registry, expecting: again).handler.id.rawValue == "com.acme.mine")
    }

    @Test(arguments: ["org.openurl.mine", "org.freedesktop.portal.Desktop"])
    func nameOfTheSystemIsRefused(_ id: String) throws {
        try install("thief", manifest(id))
        let error = #expect(throws: RegistrationError.self) { try register("opt/thief.plist") }
        #expect(error?.description.contains("CFBundleIdentifier: is \(id), but org.") == true)
        try root.write(try manifest(id).encoded(), to: "\(handlers)/\(id).plist")
        #expect(load().handlers == [])
        try root.write(try manifest(id).encoded(), to: "system/\(id).plist")
        #expect(load().handlers.map(\.id.rawValue) == [id])
    }

    @Test func nameOfAServiceIsRefused() throws {
        let other = try root.write(
            Array("[D-BUS Service]\nName=com.acme.player\nExec=/usr/bin/player --service\n".utf8),
            to: "data/dbus-1/services/anything.service"
        )
        let directory = "\(root.path)/data/dbus-1/services"
        var services = DBusServiceNames(in: ["\(root.path)/home/dbus-1/services", directory])
        let isFound = services.update()
        #expect(isFound)
        try install("thief", manifest("com.acme.player"))
        let path = "\(root.path)/opt/thief.plist"
        let error = #expect(throws: RegistrationError.self) {
            try directories.register(path, in: load(), services: services)
        }
        let reason = "is com.acme.player, another program's bus name: \(other) declares it"
        #expect(error?.description.contains(reason) == true)

        // The loader leaves out what stands in a directory, and takes it when the service has gone.
        try root.write(try manifest("com.acme.player").encoded(), to: "\(handlers)/com.acme.player.plist")
        var loader = RegistryLoader(directories, services: DBusServiceNames(in: ["\(root.path)/none", directory]))
        _ = loader.update()
        #expect(loader.registry.handlers.count == 1)
        loader.readServices(isQuick: true)
        _ = loader.update()
        #expect(loader.registry.handlers.isEmpty)
        #expect(loader.registry.diagnostics.map(\.key) == ["CFBundleIdentifier"])
        try #require(unlink(other) == 0)
        loader.readServices(isQuick: false)
        _ = loader.update()
        #expect(loader.registry.handlers.count == 1)
    }

    @Test func serviceOfAnotherProgramCountsBeforeTheFirstUpdate() throws {
        let user = try #require(directories.user)
        for id in ["com.acme.one", "com.acme.two"] {
            try root.write(try manifest(id).encoded(), to: "home/share/openurl/handlers/\(id).plist")
        }
        #expect(user == "\(root.path)/home/share/openurl/handlers")
        let service = "[D-BUS Service]\nExec=/usr/bin/other\nName="
        try root.write("\(service)com.acme.one\n", to: "services/other.service")
        // A file that is named after a handler is read only later.
        try root.write("\(service)com.acme.two\n", to: "services/com.acme.two.service")
        var loader = RegistryLoader(directories, services: DBusServiceNames(in: ["\(root.path)/services"]))
        loader.readServicesAtStart()
        _ = loader.update()
        #expect(loader.registry.handlers.map(\.id.rawValue) == ["com.acme.two"])
        loader.readServices(isQuick: false)
        _ = loader.update()
        #expect(loader.registry.handlers.isEmpty)
    }

    @Test(arguments: ["Exec=/opt/acme/todolist --service", "Exec=/usr/bin/openurl activate com.acme.todolist"])
    func serviceOfTheHandlerIsAllowed(_ exec: String) throws {
        let file = "[D-BUS Service]\nName=com.acme.todolist\n\(exec)\n"
        try root.write(Array(file.utf8), to: "data/dbus-1/services/com.acme.todolist.service")
        var services = DBusServiceNames(in: ["\(root.path)/none", "\(root.path)/data/dbus-1/services"])
        let isFound = services.update()
        #expect(isFound)
        try install("todo", manifest("com.acme.todolist", executable: "/opt/acme/todolist"))
        let path = "\(root.path)/opt/todo.plist"
        #expect(try directories.register(path, in: load(), services: services).change == .added)
    }

    @Test func fileThatOthersCanChangeIsRefused() throws {
        try install("todo", manifest("com.acme.todolist"))
        let path = "\(root.path)/opt/todo.plist"
        try #require(chmod(path, 0o666) == 0)
        let error = #expect(throws: RegistrationError.self) { try register("opt/todo.plist") }
        #expect(error?.description == "\(path): can be changed by every user; run `chmod o-w \(path)`")
        try #require(chmod(path, 0o644) == 0 && chmod("\(root.path)/opt", 0o757) == 0)
        #expect(throws: RegistrationError.self) { try register("opt/todo.plist") }
    }

    @Test func programThatOthersCanChangeIsRefused() throws {
        let program = try root.write([], to: "opt/Todo.app/bin/todo")
        let list = manifest("com.acme.todolist", executable: "bin/todo")
        try root.write(try list.encoded(), to: "opt/Todo.app/Info.plist")
        try #require(chmod(program, 0o757) == 0)
        let error = #expect(throws: RegistrationError.self) { try register("opt/Todo.app") }
        let reason = "\(program) can be changed by every user; run `chmod o-w \(program)`"
        #expect(error?.description == "\(root.path)/opt/Todo.app/Info.plist:5: CFBundleExecutable: \(reason)")
        try #require(chmod(program, 0o755) == 0)
        #expect(try register("opt/Todo.app").change == .added)
    }

    @Test func directoryThatOthersCanChangeGetsNoLink() throws {
        try install("todo", manifest("com.acme.todolist"))
        try root.makeDirectory(handlers)
        try #require(chmod("\(root.path)/home", 0o757) == 0)
        let error = #expect(throws: RegistrationError.self) { try register("opt/todo.plist") }
        #expect(error?.description.hasSuffix("run `chmod o-w \(root.path)/home`") == true)
        #expect(try root.names(in: handlers) == [])
    }

    @Test func manifestThatOthersCanChangeIsLeftOut() throws {
        let file = try root.write(try manifest("com.acme.a").encoded(), to: "\(handlers)/com.acme.a.plist")
        try root.write(try manifest("com.acme.b").encoded(), to: "\(handlers)/b.app/Info.plist")
        try #require(chmod(file, 0o666) == 0)
        var registry = load()
        #expect(registry.handlers.map(\.id.rawValue) == ["com.acme.b"])
        #expect(registry.diagnostics.map(\.reason) == ["can be changed by every user; run `chmod o-w \(file)`"])
        try #require(chmod("\(root.path)/\(handlers)/b.app", 0o757) == 0)
        #expect(load().handlers == [])
        try #require(chmod("\(root.path)/\(handlers)", 0o757) == 0)
        registry = load()
        #expect(registry.handlers == [])
        #expect(registry.diagnostics.map(\.file) == ["\(root.path)/\(handlers)"])
    }

    @Test func bundleReplacesAManifest() throws {
        try install("old", manifest("com.acme.todolist"))
        try root.write(try manifest("com.acme.todolist").encoded(), to: "opt/Todo.app/Info.plist")
        _ = try register("opt/old.plist")
        #expect(try replace("opt/Todo.app").change == .replaced(path: "\(root.path)/opt/old.plist"))
        #expect(try root.names(in: handlers) == ["com.acme.todolist.app"])
        #expect(load().diagnostics.isEmpty)
    }

    @Test func handMadeLinkIsReplaced() throws {
        try root.write(try manifest("com.acme.todolist").encoded(), to: "opt/Old.app/Info.plist")
        try install("new", manifest("com.acme.todolist"))
        try root.link("\(handlers)/Mine.app", to: "\(root.path)/opt/Old.app")
        #expect(try replace("opt/new.plist").change == .replaced(path: "\(root.path)/opt/Old.app"))
        #expect(try root.names(in: handlers) == ["com.acme.todolist.plist"])
    }

    @Test func danglingLinkIsReplaced() throws {
        try install("new", manifest("com.acme.todolist"))
        try root.link("\(handlers)/com.acme.todolist.plist", to: "/no/such/file")
        #expect(try replace("opt/new.plist").change == .replaced(path: "/no/such/file"))
        #expect(load().diagnostics.isEmpty)
    }

    @Test func systemHandlerIsShadowed() throws {
        try root.write(try manifest("com.acme.todolist").encoded(), to: "system/com.acme.todolist.plist")
        try install("new", manifest("com.acme.todolist", schemes: ["new"]))
        #expect(try replace("opt/new.plist").change == .replaced(path: "\(root.path)/system/com.acme.todolist.plist"))
        #expect(load().schemes.map(\.rawValue) == ["new"])
        try unregister("com.acme.todolist")
        #expect(load().schemes.map(\.rawValue) == ["todolist"])
    }

    @Test(arguments: ["com.acme.todolist.plist", "Mine.app/Info.plist"])
    func realFileIsKept(_ file: String) throws {
        try root.write(try manifest("com.acme.todolist").encoded(), to: "\(handlers)/\(file)")
        try install("new", manifest("com.acme.todolist"))
        let entry = "\(root.path)/\(handlers)/\(file.split(separator: "/")[0])"
        #expect(throws: RegistrationError.occupied(entry: entry)) { try replace("opt/new.plist") }
        #expect(throws: UnregistrationError.notALink(entry: entry)) { try unregister("com.acme.todolist") }
        #expect(load().handlers.count == 1)
    }

    /// The loader ignores hidden names, so a bundle with a hidden name in the directory is not registered yet.
    @Test func hiddenBundleInTheDirectoryIsLinked() throws {
        try root.write(try manifest("com.acme.todolist").encoded(), to: "\(handlers)/.Mine.app/Info.plist")
        #expect(load().handlers == [])
        #expect(try register("\(handlers)/.Mine.app").change == .added)
        #expect(load().handlers.map(\.id.rawValue) == ["com.acme.todolist"])
    }

    @Test func bundleInTheDirectoryIsAlreadyRegistered() throws {
        try root.write(try manifest("com.acme.todolist").encoded(), to: "\(handlers)/Mine.app/Info.plist")
        try root.link("alias", to: handlers)
        #expect(try register("\(handlers)/Mine.app").change == .unchanged)
        #expect(try register("alias/Mine.app").change == .unchanged)
        #expect(try root.names(in: handlers) == ["Mine.app"])

        try root.write(try manifest("com.acme.other").encoded(), to: "\(handlers)/misnamed.plist")
        #expect(throws: RegistrationError.self) { try register("\(handlers)/misnamed.plist") }
    }

    @Test func registrationOfALinkByItsOwnPathKeepsTheLink() throws {
        try install("todo", manifest("com.acme.todolist"))
        _ = try register("opt/todo.plist")
        #expect(try register("\(handlers)/com.acme.todolist.plist").change == .unchanged)
        #expect(root.target(of: "\(handlers)/com.acme.todolist.plist") == "\(root.path)/opt/todo.plist")
    }

    @Test func secondClaimIsReported() throws {
        try install("first", manifest("com.acme.first", schemes: ["a", "b"]))
        try install("second", manifest("com.acme.second", schemes: ["b", "c"]))
        _ = try register("opt/first.plist")
        try root.setDate("\(handlers)/com.acme.first.plist", seconds: 1)
        let registration = try register("opt/second.plist")
        #expect(registration.conflicts.map(\.scheme.rawValue) == ["b"])
        #expect(registration.conflicts.map { $0.handlers.map(\.rawValue) } == [["com.acme.first", "com.acme.second"]])
        #expect(try load().handler(for: Scheme("b"), host: nil)?.id.rawValue == "com.acme.first")
    }

    @Test func fixedSchemeIsAWarning() throws {
        let system = manifest("org.openurl.system.mail", schemes: ["mailto"], isFixed: true)
        try root.write(try system.encoded(), to: "system/org.openurl.system.mail.plist")
        try install("mail", manifest("com.acme.mail", schemes: ["mailto", "acme"], isFixed: true))
        let registration = try register("opt/mail.plist")
        #expect(registration.handler.schemes.map(\.rawValue) == ["acme"])
        #expect(registration.warnings.map(\.key) == ["OUFixed", "CFBundleURLTypes[0].CFBundleURLSchemes[0]"])
        #expect(registration.conflicts.isEmpty)

        try root.write(try manifest("com.acme.fixed", isFixed: true).encoded(), to: "system/com.acme.fixed.plist")
        try install("thief", manifest("com.acme.fixed"))
        let id = try BundleIdentifier("com.acme.fixed")
        #expect(throws: RegistrationError.fixedHandler(id)) { try register("opt/thief.plist") }
    }

    @Test func pathsWithoutAHandlerAreRefused() throws {
        let registry = load()
        #expect(throws: RegistrationError.relativePath("a.plist")) { try directories.register("a.plist", in: registry) }
        #expect(throws: RegistrationError.pathHoldsNUL) { try directories.register("/a\0.plist", in: registry) }
        #expect(throws: RegistrationError.notAHandler("/bin/sh", containing: [])) {
            try directories.register("/bin/sh", in: registry)
        }
        #expect(throws: RegistrationError.notAHandler("/", containing: [])) {
            try directories.register("//", in: registry)
        }
        #expect(
            throws: RegistrationError.missing("/no.app")
        ) {
            try directories.register("/no.app", in: registry)
        }
        let homeless = RegistryDirectories(user: nil, system: [])
        #expect(throws: RegistrationError.noUserDirectory) { try homeless.register("/a.plist", in: registry) }
    }

    @Test func invalidManifestChangesNothing() throws {
        try install("bad", ["CFBundleIdentifier": "com.acme.bad", "CFBundleExecutable": 3])
        #expect {
            try register("opt/bad.plist")
        } throws: { error in
            "\(error)" == "\(root.path)/opt/bad.plist:5: CFBundleExecutable: is an integer, not a string"
        }
        #expect(throws: FileError(code: ENOENT)) { try status(of: "\(root.path)/home", followingLinks: false) }
    }

    @Test func refusalNamesTheKeyThatIsMeant() throws {
        try install("bad", ["CFBundleIdentifier": "com.acme.bad", "CFBundleExecutible": "/bin/true"])
        let error = #expect(throws: RegistrationError.self) { try register("opt/bad.plist") }
        let file = "\(root.path)/opt/bad.plist"
        let hint = "CFBundleExecutible: is not a known key and is ignored; did you mean CFBundleExecutable?"
        let lines = error?.description.split(separator: "\n") ?? []
        #expect(lines.count == 2 && lines.first?.contains("CFBundleExecutable: is missing") == true, "\(lines)")
        #expect(lines.last?.hasPrefix("\(file):") == true && lines.last?.hasSuffix(hint) == true, "\(lines)")
        // The check says each thing once.
        let (findings, handler) = try directories.check(
            file,
            in: load(),
            services: DBusServiceNames(),
            searchPath: nil
        )
        #expect(handler == nil && findings.filter { $0.key == "CFBundleExecutible" }.count == 1, "\(findings)")
    }

    @Test func brokenPropertyListIsReportedWithItsLine() throws {
        let text = "<plist>\n<dict>\n<key>a</key>\n<string>b</sting>\n</dict>\n</plist>\n"
        try root.write(Array(text.utf8), to: "opt/bad.plist")
        let error = #expect(throws: RegistrationError.self) { try register("opt/bad.plist") }
        let reason = "is not a property list: Close tag does not match open tag string"
        let advice = "correct the XML, or start from the manifest that 'openurl new' writes"
        #expect(error?.description == "\(root.path)/opt/bad.plist:4: \(reason); \(advice)")
    }

    @Test func failedDirectoryCreationIsReported() throws {
        try install("todo", manifest("com.acme.todolist"))
        try root.write([], to: "home")
        let error = #expect(throws: RegistrationError.self) { try register("opt/todo.plist") }
        #expect(error == .fileSystem(path: directories.user ?? "", reason: "Not a directory"))
    }

    @Test func tooLongIDForAFileNameIsReported() throws {
        let id = "com." + String(repeating: "a", count: 250)
        try install("long", manifest(id))
        let error = #expect(throws: RegistrationError.self) { try register("opt/long.plist") }
        #expect(error == .fileSystem(path: "\(directories.user ?? "")/\(id).plist", reason: "File name too long"))
        #expect(try root.names(in: handlers) == [])
    }

    @Test func simultaneousRegistrationsLeaveOneLink() async throws {
        let paths = try (0..<8).map { number in
            try root.write(try manifest("com.acme.todolist").encoded(), to: "opt/\(number).plist")
        }
        let (directories, registry) = (directories, load())
        try await withThrowingTaskGroup { group in
            for path in paths { group.addTask { _ = try directories.register(path, in: registry, isReplacing: true) } }
            try await group.waitForAll()
        }
        #expect(try root.names(in: handlers) == ["com.acme.todolist.plist"])
        #expect(load().handlers.count == 1)
    }

    @Test func unregistrationRemovesOnlyTheLink() throws {
        try install("a", manifest("com.acme.a"))
        try install("b", manifest("com.acme.b"))
        _ = try register("opt/a.plist")
        _ = try register("opt/b.plist")
        try unregister("com.acme.a")
        #expect(try root.names(in: handlers) == ["com.acme.b.plist"])
        #expect(try root.names(in: "opt") == ["a.plist", "b.plist"])
    }

    @Test func danglingLinkIsUnregistered() throws {
        try root.link("\(handlers)/com.acme.gone.app", to: "/no/such/bundle.app")
        try unregister("com.acme.gone")
        #expect(try root.names(in: handlers) == [])
    }

    @Test func handMadeLinkIsUnregistered() throws {
        try root.write(try manifest("com.acme.todolist").encoded(), to: "opt/Todo.app/Info.plist")
        try root.link("\(handlers)/Mine.app", to: "\(root.path)/opt/Todo.app")
        try unregister("com.acme.todolist")
        #expect(try root.names(in: handlers) == [])
    }

    @Test func unregistrationAffectsOnlyHandlersOfTheUser() throws {
        let id = try BundleIdentifier("com.acme.todolist")
        #expect(throws: UnregistrationError.unknown(id)) { try unregister("com.acme.todolist") }
        try root.write(try manifest("com.acme.todolist").encoded(), to: "system/com.acme.todolist.plist")
        let entry = "\(root.path)/system/com.acme.todolist.plist"
        #expect(throws: UnregistrationError.systemHandler(id, entry: entry)) { try unregister("com.acme.todolist") }
        let homeless = RegistryDirectories(user: nil, system: [])
        #expect(throws: UnregistrationError.unknown(id)) { try homeless.unregister(id, from: Registry(handlers: [])) }
    }
}
