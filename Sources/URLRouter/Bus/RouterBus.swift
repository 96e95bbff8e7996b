/// The names and the handlers on the bus, as the router uses them. Each part of the router sees only what it needs.
typealias RouterBus = BusNames & HandlerCalls
