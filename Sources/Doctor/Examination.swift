/// One run of all checks.
struct Examination {
    let evidence: Evidence
    private(set) var findings = Findings()

    /// The checks, in the order of the report.
    static var checks: [any Check.Type] {
        [
            BusCheck.self, InstallationCheck.self, RouterCheck.self, PathCheck.self, EnvironmentCheck.self,
            ManifestFileCheck.self, ProgramCheck.self, StateCheck.self, BusNameCheck.self, KnownHandlersCheck.self,
            PublicationCheck.self, IdentifierCheck.self, HandlerSoundness.self,
            CacheCheck.self, IntentCacheCheck.self, EntryCheck.self, BrowserCheck.self, EntrySoundness.self,
            OpenersCheck.self,
            LinkCheck.self, AssociationFileCheck.self,
            QueueCheck.self, LogCheck.self, CallbackCheck.self, PolicyCheck.self, ProofCheck.self,
        ]
    }

    /// Runs all checks.
    ///
    /// - Parameter probes: whether to send a URL in each way.
    init(of evidence: Evidence, probing probes: Bool) {
        self.evidence = evidence
        for check in Self.checks { check.init(evidence: evidence).perform(&findings) }
        if probes { ProbeCheck(evidence: evidence).perform(&findings) }
    }
}
