internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// Announces launches to the programs that get the router's signals, with the image to show until the handler is ready
/// (guide, "Providing Launch Images for Custom URL Schemes").
///
/// A launch without an image, and one that is over before its image is found, are not announced. This belongs to the
/// router's actor.
final class LaunchAnnouncer {
    private let signals: any RouterSignals
    private let tasks: RouterTasks
    private let resources: Explainer.ResourceFinder?
    /// Launches that have begun, and whether they have been announced.
    private var launches: [BusName: Bool] = [:]

    /// - Parameter resources: finds the images; nil if there are none.
    init(_ signals: any RouterSignals, _ tasks: RouterTasks, _ resources: Explainer.ResourceFinder?) {
        self.signals = signals
        self.tasks = tasks
        self.resources = resources
    }

    /// Announces that a handler's process has been started for a URL with the given scheme.
    func began(_ id: BusName, _ scheme: Scheme?) {
        guard let resources, signals.hasSubscribers else { return }
        launches[id] = false
        tasks.start { [self] in
            let path = await resources(id.rawValue)?.launchImage(for: scheme)
            guard launches[id] == false else { return }
            guard let path else { return launches[id] = nil }
            launches[id] = true
            signals.announceLaunch(of: id, scheme?.rawValue ?? "", image: path)
        }
    }

    /// Announces that a launch is over, because the handler is ready or because the launch has failed. Does nothing if
    /// its beginning was not announced.
    func ended(_ id: BusName) {
        if !launches.isEmpty, launches.removeValue(forKey: id) == true { signals.announceEndOfLaunch(of: id) }
    }
}
