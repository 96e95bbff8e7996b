/// The bus, as the router uses it. Each part of the router sees only what it needs.
typealias RouterBus = BusNames & HandlerCalls & RouterSignals
