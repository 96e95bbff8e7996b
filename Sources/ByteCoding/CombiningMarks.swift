extension String {
    /// The maximum number of consecutive combining marks in a string from another program or from a file.
    ///
    /// Swift compares and hashes strings in their canonical form (UAX #15), which requires each run of marks to be
    /// sorted. Because the time grows with the square of the run's length, a single comparison of a 1 MiB string can
    /// take a minute. If no run is longer than this, a string takes at most a few times as long as any other of the
    /// same size. This is the limit in UAX #15's Stream-Safe Text Format, and no language comes near it.
    package static let maximumMarks = 30

    /// Whether more than ``maximumMarks`` combining marks follow each other.
    package var hasTooManyMarks: Bool {
        // Each mark is two bytes or more, and none begins with a smaller byte. Most strings need no counting.
        guard utf8.count > 2 * Self.maximumMarks, utf8.contains(where: { $0 >= 0xCC }) else { return false }
        var marks = 0
        for scalar in unicodeScalars {
            guard scalar.isMark else {
                marks = 0
                continue
            }
            marks += 1
            if marks > Self.maximumMarks { return true }
        }
        return false
    }
}

extension Unicode.Scalar {
    /// Whether the canonical form may move the scalar.
    package var isMark: Bool {
        // Nothing below the first block of marks is a mark, and most scalars in most strings are below it.
        value >= 0x300 && properties.canonicalCombiningClass != .notReordered
    }
}
