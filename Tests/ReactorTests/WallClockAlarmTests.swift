import Glibc
import Reactor
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(10))) struct WallClockAlarmTests {
    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    @Test func alarmGoesOffAtItsTimeAndOnlyOnce() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let time = Self.now + 50
        let (event, first, count): (WallClockAlarm.Event, Int64, Int) = await onLoop(loop) { done in
            var events: [(WallClockAlarm.Event, Int64)] = []
            let alarm = try? WallClockAlarm(on: loop) { event in
                events.append((event, Self.now))
                if events.count > 1 { return }
                // A second event would come before this timer.
                loop.schedule(at: .now + .milliseconds(50)) { done((events[0].0, events[0].1, events.count)) }
            }
            alarm?.set(time)
        }
        #expect(event == .timeHasCome)
        #expect(first >= time)
        #expect(count == 1)
    }

    @Test(arguments: [Int64.min, -1, 0, 1, 1000]) func timeThatHasPassedIsReportedAtOnce(time: Int64) async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let event: WallClockAlarm.Event = await onLoop(loop) { done in
            let alarm = try? WallClockAlarm(on: loop) { done($0) }
            alarm?.set(time)
        }
        #expect(event == .timeHasCome)
    }

    @Test func alarmIsMovedUnsetAndCancelled() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let events: [String] = await onLoop(loop) { done in
            var events: [String] = []
            var alarms: [WallClockAlarm] = []
            for name in ["moved", "unset", "cancelled", "set after the end", "far"] {
                guard let alarm = try? WallClockAlarm(on: loop, onEvent: { _ in events.append(name) }) else { continue }
                alarm.set(Self.now + (name == "moved" || name == "far" ? 3_600_000 : 20))
                alarms.append(alarm)
            }
            // The kernel counts nanoseconds in 64 bits, and the calendar is longer.
            alarms[4].set(253_402_300_799_999)
            alarms[0].set(Self.now + 20)
            alarms[1].set(nil)
            alarms[2].cancel()
            alarms[2].cancel()
            alarms[3].cancel()
            alarms[3].set(Self.now)
            loop.schedule(at: .now + .milliseconds(100)) { done(events) }
        }
        #expect(events == ["moved"])
    }

    @Test func alarmWithoutADescriptorIsAnError() async {
        // The limit applies to the whole process, so the test runs in a child process.
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            let isRefused: Bool = await onLoop(loop) { done in
                var limit = rlimit(rlim_cur: 0, rlim_max: 1024)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                do throws(Errno) {
                    _ = try WallClockAlarm(on: loop) { _ in }
                    done(false)
                } catch {
                    done(error == .tooManyOpenFiles)
                }
            }
            // A sanitizer may open descriptors when the process ends.
            var limit = rlimit(rlim_cur: 1024, rlim_max: 1024)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            exit(isRefused ? 0 : 1)
        }
    }
}
