/// A part of the doctor that judges the evidence.
protocol Examiner {
    var evidence: Evidence { get }

    init(evidence: Evidence)
}

extension Examiner {
    var files: ExaminedFiles { evidence.files }
    var topic: Topic? { evidence.topic }
    var environment: [String: String] { evidence.files.environment }
    var bus: SessionBus? { evidence.bus }
    var router: ProcessFacts? { evidence.router }
}
