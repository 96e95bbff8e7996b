internal import DBus
internal import OpenURLBus
internal import Reactor

/// The router on the bus, as the source of the background time.
///
/// Its calls do not start the router. Without a router, nothing suspends the handler, so the time needs no limit.
struct RouterTimekeeper: BackgroundTimekeeper {
    private static let router = RemoteObject(RouterService.name, RouterService.path, startsService: false)

    let connection: Connection

    func begin(_ name: String) async -> BackgroundTaskGrant {
        do throws(CallError) {
            let answer = try await connection.call(LifecycleInterface.beginBackgroundTask, on: Self.router, name)
            return .begun(answer.values.0)
        } catch .remote(let error) where OpenURLError(error)?.code == .limitsExceeded {
            return .refused
        } catch {
            // There is no router, or it does not regard this process as a handler that it could suspend.
            return .unlimited
        }
    }

    func end(_ number: UInt32) {
        let connection = connection
        // The loop keeps the calls in order, and the caller does not wait until the message is sent.
        connection.loop.execute {
            connection.assumeIsolated { connection in
                do throws(CallError) {
                    try connection.send(LifecycleInterface.endBackgroundTask, on: Self.router, number)
                } catch {
                    // The connection has ended, so the router has already forgotten this process.
                }
            }
        }
    }

    func finishMode() {
        let connection = connection
        connection.loop.execute {
            connection.assumeIsolated { connection in
                do throws(CallError) {
                    try connection.send(LifecycleInterface.finishBackgroundMode, on: Self.router, Empty())
                } catch {
                    // The connection has ended, and with it the handler.
                }
            }
        }
    }

    func endEarlierTasks() { end(LifecycleInterface.earlierTasks) }

    func remaining() async -> Duration? {
        do throws(CallError) {
            let milliseconds = try await connection.call(
                LifecycleInterface.backgroundTimeRemaining,
                on: Self.router,
                Empty()
            )
            return milliseconds == LifecycleInterface.unlimited ? nil : .milliseconds(milliseconds)
        } catch {
            return nil
        }
    }
}
