internal import DBus
internal import OpenURLBus
internal import Reactor

/// The router on the bus, as long as there is one: nobody starts it for this, as without it nobody suspends a handler either.
struct RouterTimekeeper: BackgroundTimekeeper {
    private static let router = RemoteObject(RouterService.name, RouterService.path, startsService: false)

    let connection: Connection

    func begin(_ name: String) async -> UInt32? {
        do throws(CallError) {
            let answer = try await connection.call(LifecycleInterface.beginBackgroundTask, on: Self.router, name)
            return answer.values.0
        } catch {
            // There is no router, or it does not take this process for a handler that it would suspend.
            return nil
        }
    }

    func end(_ number: UInt32) {
        let connection = connection
        // In the order of the calls, and without waiting for it.
        connection.loop.execute {
            connection.assumeIsolated { connection in
                do throws(CallError) {
                    try connection.send(LifecycleInterface.endBackgroundTask, on: Self.router, number)
                } catch {
                    // The connection has ended, and with it what the router knew of this process.
                }
            }
        }
    }

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
