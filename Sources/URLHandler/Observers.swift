public import DBus

/// A step in a handler's life that parts other than the delegate can observe.
public enum LifecycleNotification: Sendable, Hashable, CaseIterable {
    /// The launch is done.
    case didFinishLaunching
    /// The handler is on its way to the foreground.
    case willEnterForeground
    /// The handler is in the foreground and receives events.
    case didBecomeActive
    /// The handler is interrupted, or is about to leave the foreground.
    case willResignActive
    /// The handler is in the background and may be suspended soon.
    case didEnterBackground
    /// The system is short of memory.
    case didReceiveMemoryWarning
    /// The process is about to end.
    case willTerminate

    init?(_ step: LifecycleStep) {
        switch step {
        case .didFinishLaunching: self = .didFinishLaunching
        case .willEnterForeground: self = .willEnterForeground
        case .didBecomeActive: self = .didBecomeActive
        case .willResignActive: self = .willResignActive
        case .didEnterBackground: self = .didEnterBackground
        case .didReceiveMemoryWarning: self = .didReceiveMemoryWarning
        case .willTerminate: self = .willTerminate
        default: return nil
        }
    }
}

/// The registration of one observer, which lasts until ``cancel()`` is called.
///
/// If you discard this value, the observation continues.
@MainActor
public struct Observation {
    fileprivate weak var observers: Observers?
    fileprivate let number: Int

    /// Ends the observation, so that the observer is no longer called. Further calls do nothing.
    public func cancel() {
        observers?.remove(number)
    }
}

extension Application {
    /// Calls `body` after each step of this kind, after the delegate's own method for the step.
    ///
    /// If a step has several observers, they are called in the order in which they were added.
    @discardableResult
    public func addObserver(
        for notification: LifecycleNotification,
        _ body: @escaping @MainActor () -> Void
    ) -> Observation {
        observers.add(.step(notification)) { _ in body() }
    }

    /// Calls `body` with the new value whenever the handler is notified of a change of this kind.
    ///
    /// Before that, the delegate's ``ApplicationDelegate/application(_:didReceiveNotification:value:)`` is called.
    @discardableResult
    public func addObserver(forKind kind: String, _ body: @escaping @MainActor (Value) -> Void) -> Observation {
        observers.add(.kind(kind)) { value in if let value { body(value) } }
    }
}

/// The observers of each subject, in the order in which they were added.
@MainActor final class Observers {
    enum Subject: Hashable {
        case step(LifecycleNotification)
        case kind(String)
    }

    private struct Observer {
        let number: Int
        let body: @MainActor (Value?) -> Void
    }

    private var observers: [Subject: [Observer]] = [:]
    private var lastNumber = 0

    func add(_ subject: Subject, _ body: @escaping @MainActor (Value?) -> Void) -> Observation {
        lastNumber += 1
        observers[subject, default: []].append(Observer(number: lastNumber, body: body))
        return Observation(observers: self, number: lastNumber)
    }

    func remove(_ number: Int) {
        for subject in observers.keys { observers[subject]?.removeAll { $0.number == number } }
    }

    func post(_ step: LifecycleStep) {
        guard !observers.isEmpty, let notification = LifecycleNotification(step) else { return }
        post(.step(notification), nil)
    }

    func post(_ kind: String, _ value: Value) {
        post(.kind(kind), value)
    }

    private func post(_ subject: Subject, _ value: Value?) {
        for observer in observers[subject] ?? [] {
            // An observer that ran earlier in this loop may have cancelled this observation.
            guard observers[subject]?.contains(where: { $0.number == observer.number }) == true else { continue }
            observer.body(value)
        }
    }
}
