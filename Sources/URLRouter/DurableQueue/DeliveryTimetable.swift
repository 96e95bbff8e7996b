internal import Logging
internal import Reactor
internal import SystemPackage

/// Notices when the times of deliveries have come, and when they may have changed.
///
/// It has one alarm, for the earliest time. While no delivery waits for its time, it watches nothing.
///
/// It belongs to the router's actor.
final class DeliveryTimetable {
    private let loop: EventLoop
    private let log: Logger
    /// Takes the deliveries whose times have come.
    private let timeHasCome: ([DeliveryStore.Waiting]) -> Void
    /// Called when the clock or the time zone has changed, so that the times have to be looked up again.
    private let clockHasChanged: () -> Void

    private var deliveries = TimedDeliveries()
    private var isRunning = false
    private var alarm: WallClockAlarm?
    private var zone: PathWatch?
    /// The time for which the alarm is set.
    private var alarmTime: Int64?

    /// The file that says in which zone the machine is (localtime(5)).
    private static let zonePath = "/etc/localtime"

    init(
        on loop: EventLoop,
        log: Logger,
        timeHasCome: @escaping ([DeliveryStore.Waiting]) -> Void,
        clockHasChanged: @escaping () -> Void
    ) {
        self.loop = loop
        self.log = log
        self.timeHasCome = timeHasCome
        self.clockHasChanged = clockHasChanged
    }

    /// Makes a delivery wait for its time, in place of an earlier time.
    func add(_ delivery: DeliveryStore.Waiting) {
        deliveries.add(delivery)
        watchEarliest()
    }

    /// Forgets a delivery, if it waits for its time.
    func remove(_ id: Int64) {
        deliveries.remove(id)
        watchEarliest()
    }

    /// Begins to watch the clock. A second call does nothing.
    func start() {
        isRunning = true
        watchEarliest()
    }

    /// Ends the watch.
    func stop() {
        isRunning = false
        watchEarliest()
    }

    private func watchEarliest() {
        guard isRunning, let earliest = deliveries.earliest() else {
            alarm?.cancel()
            zone?.cancel()
            (alarm, zone, alarmTime) = (nil, nil, nil)
            return
        }
        if alarm == nil { watchClock() }
        // Without an alarm, the next delivery with a time tries again.
        guard let alarm, earliest != alarmTime else { return }
        alarm.set(earliest)
        alarmTime = earliest
    }

    private func watchClock() {
        do throws(Errno) {
            alarm = try WallClockAlarm(on: loop) { [weak self] in self?.ring($0) }
        } catch {
            log.error("the URLs in the queue that have a time are not delivered: no alarm can be set: \(error)")
        }
        guard zone == nil else { return }
        do throws(Errno) {
            let watch = try PathWatch(on: loop) { [weak self] in self?.clockHasChanged() }
            watch.paths = [Self.zonePath]
            for failure in watch.failures { log.warning("the time zone cannot be watched: \(failure)") }
            zone = watch
        } catch {
            log.warning("the time zone cannot be watched: \(error)")
        }
    }

    private func ring(_ event: WallClockAlarm.Event) {
        alarmTime = nil
        let due = deliveries.removeDue(at: WallClock.milliseconds)
        watchEarliest()
        if !due.isEmpty { timeHasCome(due) }
        if event == .clockWasSet { clockHasChanged() }
    }
}
