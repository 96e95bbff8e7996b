// A release builds all targets, and its toolchain has no static Testing.
#if canImport(Testing)
    public import Testing

    /// Reads a value again and again until it satisfies a condition, and returns it.
    ///
    /// This is for a state of another process or thread that announces no change. If there is an event, such as a signal,
    /// the end of a process or a line of output, wait for the event.
    ///
    /// If the condition does not hold within the bound, the test ends with an issue that shows the last value.
    @discardableResult
    public func eventually<Value>(
        within bound: Duration = .seconds(240),
        _ value: @autoclosure () async throws -> Value,
        sourceLocation: SourceLocation = #_sourceLocation,
        satisfies condition: (Value) throws -> Bool
    ) async throws -> Value {
        let end = ContinuousClock.now + bound
        while true {
            let isLast = ContinuousClock.now >= end
            let last = try await value()
            if try condition(last) { return last }
            try #require(!isLast, "after \(bound) the value is \(last)", sourceLocation: sourceLocation)
            // The pause leaves the processor to the program that changes the value.
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    extension AsyncSequence where Self: Sendable, Element: Sendable {
        /// Returns the next element that satisfies a condition.
        ///
        /// If none comes within the bound, or the sequence ends, the test ends with an issue that shows the last element.
        @discardableResult
        public func next(
            within bound: Duration = .seconds(240),
            sourceLocation: SourceLocation = #_sourceLocation,
            where condition: @escaping @Sendable (Element) throws -> Bool
        ) async throws -> Element {
            try await withThrowingTaskGroup(of: Search<Element>.self) { group in
                group.addTask {
                    var last: Element?
                    for try await element in self {
                        if try condition(element) { return .found(element) }
                        last = element
                    }
                    return .ended(last)
                }
                group.addTask {
                    try await Task.sleep(for: bound)
                    return .timedOut
                }
                defer { group.cancelAll() }
                while let search = try await group.next() {
                    switch search {
                    case .found(let element):
                        return element
                    case .timedOut:
                        // The search ends now, with the last element.
                        group.cancelAll()
                    case .ended(let last):
                        let shown = last.map { "\($0)" } ?? "missing"
                        try #require(Bool(false), "the last element is \(shown)", sourceLocation: sourceLocation)
                    }
                }
                throw CancellationError()
            }
        }
    }

    /// The result of one of the two tasks that look for an element.
    private enum Search<Element: Sendable>: Sendable {
        case found(Element)
        case ended(Element?)
        case timedOut
    }
#endif
