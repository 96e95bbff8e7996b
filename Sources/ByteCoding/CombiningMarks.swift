extension String {
    /// The most combining marks that may follow each other in a string from another program or from a file.
    ///
    /// Swift compares and hashes strings in their canonical form (UAX #15), for which it sorts each run of marks.
    /// Because the time grows with the square of the run, one comparison of a string of 1 MiB takes a minute. Without
    /// longer runs than this, a string takes no more than a few times as long as any other. The Stream-Safe Text Format
    /// of UAX #15 allows 30 marks in a row, and no language comes near that.
    package static let maximumMarks = 256

    /// Whether more than ``maximumMarks`` combining marks follow each other.
    package var hasTooManyMarks: Bool {
        // Each mark is two bytes or more. Most strings are too short to have so many, and need no counting.
        guard utf8.count > 2 * Self.maximumMarks else { return false }
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
        // Nothing below the first block of marks is one, and most scalars of most strings are below it.
        value >= 0x300 && properties.canonicalCombiningClass != .notReordered
    }
}
