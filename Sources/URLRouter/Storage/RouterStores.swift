public import Logging
public import Reactor

/// Everything that the router keeps in files, and the files that people write for it. A store that is nil keeps nothing.
public struct RouterStores: Sendable {
    /// The queue.
    var deliveries: DeliveryStore?
    /// The registrations for pushes.
    var pushes: PushStore?
    /// The handlers' tasks.
    var tasks: TaskStore?
    /// The other hosts.
    var hosts: HostStore?
    /// The proofs for links.
    var proofs: ProofStore?
    /// The rules of the policy, and the remembered answers.
    var policy: PolicyStore?
    /// The rules for links.
    var links: LinkStore?
    /// The log of requests.
    var requests: RequestLog?

    /// Creates no stores.
    init() {}

    /// Finds this user's files.
    ///
    /// - Parameters:
    ///   - files: a loop whose thread reads and writes small files.
    ///   - queue: a loop whose thread is only for the queue.
    public init(environment: [String: String], on files: EventLoop, queue: EventLoop, log: Logger) {
        deliveries = DeliveryStore(environment: environment, on: queue, log: log)
        pushes = PushStore(environment: environment, on: files, log: log)
        tasks = TaskStore(environment: environment, on: files, log: log)
        hosts = HostStore(environment: environment, on: files, log: log)
        proofs = ProofStore(environment: environment, on: files, log: log)
        policy = PolicyStore(environment: environment, on: files, log: log)
        links = LinkStore(environment: environment, on: files, log: log)
        requests = RequestLog(environment: environment, on: files, log: log)
    }
}
