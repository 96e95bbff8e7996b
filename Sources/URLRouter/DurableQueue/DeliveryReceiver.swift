internal import OpenURLBus

/// A part of the router that makes deliveries from the queue.
protocol DeliveryReceiver {
    /// Whether this part makes the delivery. The first part that does so gets it.
    func takes(_ delivery: Delivery) -> Bool
    /// Tries once to make a delivery.
    ///
    /// - Parameters:
    ///   - id: the delivery's number in the queue.
    ///   - number: the number of the attempt, from 1.
    func attempt(_ delivery: Delivery, _ id: Int64, _ number: Int) async -> DeliveryAttempts.Result
    /// Withdraws the attempt at a delivery that has been removed from the queue, if there is one. If a handler has the
    /// delivery already, nothing changes.
    func withdraw(_ id: Int64)
}
