internal import DBus
internal import OpenURLBus

/// Calls from the router to UnifiedPush distributors.
struct Distributors: Sendable {
    let connection: Connection

    /// How long a distributor may take. It may have to ask its server.
    private static let timeout = Duration.seconds(20)

    /// Registers a connector with a distributor.
    ///
    /// - Returns: why the distributor refuses; nil if it has accepted.
    func register(
        _ registration: StoredRegistration,
        for service: BusName,
        with distributor: BusName
    ) async throws(CallError) -> String? {
        let object = RemoteObject(distributor, UnifiedPush.distributorPath)
        var arguments: [String: Value] = [
            "service": .string(service.rawValue), "token": .string(registration.token),
            "description": .string(registration.description),
        ]
        arguments["vapid"] = registration.vapid.map(Value.string)
        do throws(CallError) {
            let answer = try await connection.call(
                UnifiedPush.register,
                on: object,
                arguments,
                timeout: Self.timeout
            )
            if answer["success"]?.string == UnifiedPush.success { return nil }
            return answer["reason"]?.string ?? "it gives no reason"
        } catch .remote(let error) where error.isFromMissingMethod {
            let input = Arguments(service.rawValue, registration.token, registration.description)
            let (result, reason) = try await connection.call(
                UnifiedPush.register1,
                on: object,
                input,
                timeout: Self.timeout
            ).values
            // KUnifiedPush answers with the word of the later version.
            return [UnifiedPush.success1, UnifiedPush.success].contains(result)
                ? nil : reason.isEmpty ? "it gives no reason" : reason
        }
    }

    /// Ends a registration.
    func unregister(_ token: String, with distributor: BusName) async throws(CallError) {
        let object = RemoteObject(distributor, UnifiedPush.distributorPath)
        do throws(CallError) {
            let arguments: [String: Value] = ["token": .string(token)]
            _ = try await connection.call(UnifiedPush.unregister, on: object, arguments, timeout: Self.timeout)
        } catch .unexpectedReply {
            // According to the specification's text, the answer is empty.
        } catch .remote(let error) where error.isFromMissingMethod {
            _ = try await connection.call(UnifiedPush.unregister1, on: object, token, timeout: Self.timeout)
        }
    }
}
