package import DBus
package import OpenURLBus

/// The extent to which callers in one class may use a method.
package enum Right: String, Sendable, Hashable {
    /// Without restriction.
    case yes
    /// For the caller itself: its handler, its requests, its URLs in the queue, its background tasks.
    case own
    /// For the schemes that the calling handler's manifest declares (`LSApplicationQueriesSchemes`).
    case declared
    /// For the handlers that the caller can reach (`OUReach`, `OUAllowedSources`, the user's policy).
    case reachable
    /// Not at all. The answer is the same for every argument, so that it reveals nothing.
    case no
}

/// The rights of each class of callers to one method. If a method has no entry, it may not be called.
///
/// They are recorded only in this table: the check before each method uses it, and `Documentation/Rights.md` is made
/// from it.
package struct Rights: Sendable, Hashable {
    package let user: Right
    package let handler: Right
    /// The right of sandboxed and remote callers.
    package let confined: Right
    package let unknown: Right

    /// Returns a class's right.
    package subscript(callerClass: CallerClass) -> Right {
        switch callerClass {
        case .user: user
        case .handler: handler
        case .sandboxed, .remote: confined
        case .unknown: unknown
        }
    }

    /// Whether every caller may use the method to some extent. If so, there is no check before it. The method itself
    /// looks up the caller, after it has given the request its place in the order of arrival.
    var needNoCheck: Bool { ![user, handler, confined, unknown].contains(.no) }

    private static let opening = Rights(user: .yes, handler: .yes, confined: .reachable, unknown: .reachable)
    private static let asking = Rights(user: .yes, handler: .declared, confined: .declared, unknown: .no)
    private static let looking = Rights(user: .yes, handler: .own, confined: .own, unknown: .no)
    private static let changing = Rights(user: .yes, handler: .own, confined: .no, unknown: .no)
    private static let governing = Rights(user: .yes, handler: .no, confined: .no, unknown: .no)
    private static let working = Rights(user: .own, handler: .own, confined: .own, unknown: .no)
    private static let connected = Rights(user: .own, handler: .own, confined: .own, unknown: .own)
    private static let greeting = Rights(user: .yes, handler: .yes, confined: .yes, unknown: .yes)

    /// All rights, by interface and method.
    package static let table: [InterfaceName: [MemberName: Rights]] = [
        RouterInterface.name: [
            RouterInterface.openURL.name: opening,
            RouterInterface.call.name: opening,
            RouterInterface.open.name: opening,
            RouterInterface.openURLs.name: opening,
            RouterInterface.openFiles.name: opening,
            RouterInterface.canOpenURL.name: asking,
            RouterInterface.explain.name: asking,
            RouterInterface.subscribe.name: governing,
            RouterInterface.unsubscribe.name: governing,
        ],
        FreedesktopApplication.name: [
            FreedesktopApplication.open.name: opening,
            FreedesktopApplication.activate.name: greeting,
            FreedesktopApplication.activateAction.name: greeting,
        ],
        RegistryInterface.name: [
            RegistryInterface.register.name: changing,
            RegistryInterface.replace.name: changing,
            RegistryInterface.registerTemporarily.name: changing,
            RegistryInterface.claim.name: governing,
            RegistryInterface.check.name: governing,
            RegistryInterface.unregister.name: changing,
            RegistryInterface.setDefault.name: governing,
            RegistryInterface.reload.name: governing,
            RegistryInterface.listHandlers.name: looking,
            RegistryInterface.listSchemes.name: looking,
        ],
        LifecycleInterface.name: [
            LifecycleInterface.list.name: looking,
            LifecycleInterface.activate.name: changing,
            LifecycleInterface.wake.name: changing,
            LifecycleInterface.background.name: changing,
            LifecycleInterface.suspend.name: changing,
            LifecycleInterface.interrupt.name: governing,
            LifecycleInterface.resume.name: governing,
            LifecycleInterface.focusChanged.name: governing,
            LifecycleInterface.terminate.name: changing,
            LifecycleInterface.reset.name: changing,
            LifecycleInterface.output.name: governing,
            LifecycleInterface.notify.name: looking,
            LifecycleInterface.notifyWithOptions.name: looking,
            LifecycleInterface.relieveMemory.name: governing,
            LifecycleInterface.returnToSource.name: working,
            LifecycleInterface.beginBackgroundTask.name: working,
            LifecycleInterface.endBackgroundTask.name: working,
            LifecycleInterface.finishBackgroundMode.name: working,
            LifecycleInterface.backgroundTimeRemaining.name: working,
            // It is enough to know whether the connection has the request in hand. If the caller were looked up, the
            // answer could overtake the report.
            LifecycleInterface.reportProgress.name: connected,
        ],
        // The bus vouches for the connection to which a handle belongs, no matter which program has it. So a caller can
        // cancel even while it waits for its own look-up.
        RequestInterface.name: [
            RequestInterface.cancel.name: connected
        ],
        CallbackInterface.name: [
            CallbackInterface.request.name: looking
        ],
        CallbackHandleInterface.name: [
            CallbackHandleInterface.close.name: connected
        ],
        QueueInterface.name: [
            QueueInterface.list.name: looking,
            QueueInterface.retry.name: looking,
            QueueInterface.drop.name: looking,
            QueueInterface.wait.name: looking,
        ],
        PushInterface.name: [
            PushInterface.register.name: looking,
            PushInterface.unregister.name: looking,
            PushInterface.list.name: looking,
        ],
        NotificationsInterface.name: [
            NotificationsInterface.schedule.name: looking,
            NotificationsInterface.cancel.name: looking,
            NotificationsInterface.cancelAll.name: looking,
            NotificationsInterface.list.name: looking,
        ],
        TasksInterface.name: [
            TasksInterface.schedule.name: looking,
            TasksInterface.cancel.name: looking,
            TasksInterface.list.name: looking,
            TasksInterface.run.name: governing,
        ],
        HostsInterface.name: [
            HostsInterface.list.name: governing,
            HostsInterface.problems.name: governing,
            HostsInterface.add.name: governing,
            HostsInterface.remove.name: governing,
            HostsInterface.receive.name: governing,
            HostsInterface.appeared.name: governing,
        ],
        ProofsInterface.name: [
            ProofsInterface.list.name: governing,
            ProofsInterface.decide.name: governing,
            ProofsInterface.fetch.name: governing,
        ],
        MonitorInterface.name: [
            MonitorInterface.subscribe.name: governing,
            MonitorInterface.unsubscribe.name: governing,
            MonitorInterface.log.name: governing,
        ],
        RelayInterface.name: [
            RelayInterface.openURL.name: governing,
            RelayInterface.canOpenURL.name: governing,
            RelayInterface.requestCallback.name: governing,
        ],
        PolicyInterface.name: [
            PolicyInterface.rules.name: governing,
            PolicyInterface.set.name: governing,
            PolicyInterface.remove.name: governing,
            PolicyInterface.reset.name: governing,
            PolicyInterface.answers.name: governing,
            PolicyInterface.forget.name: governing,
            PolicyInterface.question.name: governing,
            PolicyInterface.remember.name: governing,
        ],
    ]
}
