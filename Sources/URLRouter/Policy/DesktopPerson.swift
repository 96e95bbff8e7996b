internal import Logging
internal import OpenURLBus
internal import Reactor

/// Asks the user at the session's desktop: with the desktop's own dialog, with a program that shows a dialog, or with a
/// notification.
///
/// It uses the first of these that works. If there is no display, it uses only a notification service that is already
/// running.
struct DesktopPerson: PersonAsking {
    let services: ServiceOwners
    let launcher: HandlerLauncher
    let log: Logger

    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply? {
        await launcher.session.startUpdate()?.value
        let environment = launcher.environment
        let end = ContinuousClock.now + time
        let hasDisplay = launcher.hasDisplay
        var ways: [any PersonAsking] = [NotifiedPerson(services: services, mayStart: hasDisplay)]
        if hasDisplay {
            ways.insert(ProgramPerson(launcher: launcher, environment: environment), at: 0)
            ways.insert(PortalPerson(services: services, environment: environment), at: 0)
        }
        for way in ways {
            let left = end - .now
            guard left > .zero, !Task.isCancelled else { return .late }
            if let reply = await way.ask(dialog, within: left) {
                let url = RedactedURL(dialog.url).text
                log.info("a question was answered", metadata: ["url": "\(url)", "reply": "\(reply)"])
                return reply
            }
        }
        return nil
    }
}
