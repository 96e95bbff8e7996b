internal import DBus
internal import Desktop
internal import Glibc
internal import OpenURLBus
internal import Translations
internal import UserFiles

/// A change that fixes a problem. It affects only the user, and can safely be repeated.
enum Repair: Sendable, Hashable {
    /// Rebuilds the cache of a directory of entries, as `update-desktop-database` does.
    case cache(directory: String)
    /// Rebuilds the cache of intents of a directory of entries.
    case intentCache(directory: String)
    /// Passes this process's variables to the programs that the bus and systemd start. If the bus started a router
    /// without them, that router is ended.
    case environment([String], router: UInt32?)
    /// Ends the router, so that the bus starts the installed version.
    case restart(pid: UInt32)
    /// Makes the router read its files again, and publish the handlers.
    case reload
    /// Lifts a handler's quarantine.
    case quarantine(id: String)
    /// Removes a registration's link that leads nowhere.
    case link(path: String)
    /// Links a service file into the user's directory, where the bus looks.
    case service(link: String, target: String)

    /// Performs the repair.
    ///
    /// - Parameter environment: the variables of this process.
    /// - Returns: a sentence that says what was done.
    func perform(_ bus: SessionBus?, environment: [String: String]) throws(RepairFailure) -> String {
        switch self {
        case .cache(let directory):
            do throws(FileWriteError) {
                var cache = MimeInfoCache(directory: directory)
                try cache.rebuild()
            } catch {
                throw RepairFailure(reason: error.description)
            }
            return translated("rebuilt \(directory)/mimeinfo.cache")
        case .intentCache(let directory):
            do throws(FileWriteError) {
                try IntentCache.rebuild(in: directory)
            } catch {
                throw RepairFailure(reason: error.description)
            }
            return translated("rebuilt \(directory)/intent.cache")
        case .environment(let names, let router):
            let values = environment.filter { names.contains($0.key) }
            try call(bus) { bus throws(CallError) in
                let manager = bus.owner(of: SystemdManager.name) == nil ? nil : SystemdManager.object
                try bus.setEnvironment(values, andOf: manager)
            }
            let done = translated("gave \(names.joined(separator: ", ")) to the programs that the bus starts")
            guard let router else { return done }
            try end(router, bus)
            return translated("\(done), and ended the router that did not have them")
        case .restart(let pid):
            try end(pid, bus)
            return translated("ended the router that had the other version; the bus starts the new one")
        case .reload:
            _ = try call(bus) { bus throws(CallError) in
                try bus.call(RegistryInterface.reload, on: RouterService.object, Empty())
            }
            return translated("made the router read its files again")
        case .quarantine(let id):
            try call(bus) { bus throws(CallError) in
                _ = try bus.call(LifecycleInterface.reset, on: RouterService.object, id)
            }
            return translated("lifted the quarantine of \(id)")
        case .link(let path):
            guard isLink(path) else { throw RepairFailure(reason: translated("\(path) is not a link")) }
            // A medium may have been mounted since the link was found.
            guard access(path, F_OK) != 0, errno == ENOENT else {
                throw RepairFailure(reason: translated("the link \(path) no longer leads nowhere"))
            }
            do throws(FileWriteError) {
                try removeFile(path)
            } catch {
                throw RepairFailure(reason: error.description)
            }
            return translated("removed the link \(path), which led nowhere")
        case .service(let link, let target):
            do throws(DirectoryError) {
                try makePrivateDirectories(parentDirectory(of: link))
            } catch {
                throw RepairFailure(reason: "\(error.path): \(error.error)")
            }
            guard symlink(target, link) == 0 else {
                throw RepairFailure(reason: translated("cannot create \(link): \(systemErrorText(errno))"))
            }
            try call(bus) { bus throws(CallError) in try bus.reloadServices() }
            return translated("created the link \(link) to \(target)")
        }
    }

    /// Asks the router to exit, and returns when it has released its name.
    private func end(_ pid: UInt32, _ bus: SessionBus?) throws(RepairFailure) {
        guard let bus else { throw .noBus }
        guard kill(pid_t(pid), SIGTERM) == 0 else {
            throw RepairFailure(reason: translated("cannot end the router: \(systemErrorText(errno))"))
        }
        do throws(CallError) {
            _ = try bus.connection.wait(
                forSignalsOf: RouterService.name,
                timeout: .seconds(20),
                watching: { [] },
                until: { false }
            )
        } catch {
            // This error means that the name no longer has an owner.
            return
        }
        guard bus.pid(of: RouterService.name.rawValue) != pid else {
            throw RepairFailure(reason: translated("the router did not exit within 20 seconds"))
        }
    }

    private func call<Result>(
        _ bus: SessionBus?,
        _ body: (SessionBus) throws(CallError) -> Result
    ) throws(RepairFailure) -> Result {
        guard let bus else { throw .noBus }
        do throws(CallError) {
            return try body(bus)
        } catch {
            throw RepairFailure(reason: "\(error)")
        }
    }
}

/// Why a repair was not made.
struct RepairFailure: Error, Hashable {
    let reason: String

    static let noBus = RepairFailure(reason: translated("there is no session bus"))
}
