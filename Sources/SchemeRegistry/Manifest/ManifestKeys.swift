/// The keys that a manifest may have, by the dictionary that contains them.
package enum ManifestKeys: String, CaseIterable, Sendable {
    /// The manifest itself.
    case manifest = ""
    /// An entry of `CFBundleURLTypes`.
    case urlType = "CFBundleURLTypes"
    /// An entry of `CFBundleDocumentTypes`.
    case documentType = "CFBundleDocumentTypes"
    /// An entry of `UTExportedTypeDeclarations`.
    case exportedType = "UTExportedTypeDeclarations"
    /// An entry of `UTImportedTypeDeclarations`.
    case importedType = "UTImportedTypeDeclarations"
    /// The dictionary `UTTypeTagSpecification` of a declaration.
    case tags = "UTTypeTagSpecification"

    /// All keys that have a meaning here.
    package var known: [String] {
        switch self {
        case .manifest:
            [
                "CFBundleIdentifier", "CFBundleExecutable", "CFBundleName", "CFBundleDisplayName", "CFBundleVersion",
                "CFBundleIconFile", "CFBundleIconFiles", "CFBundleIcons", "CFBundleURLTypes", "CFBundleDocumentTypes",
                "OUAssociatedDomains",
                "UTExportedTypeDeclarations",
                "UTImportedTypeDeclarations", "UILaunchImageFile", "UIBackgroundModes", "UIApplicationExitsOnSuspend",
                "LSApplicationQueriesSchemes", "OUArguments", "OUCommand", "OUDesktopEntry", "OULaunchTimeout",
                "OUOpenTimeout",
                "OUSuspendDelay",
                "OUTransitionTimeout", "OUBackgroundTime", "OUPushURL", "OUEnvironment", "OUAllowedSources", "OUReach",
                "OUAsk", "OUAnswersCallbacks", "OUKeepOldProgram", "OUFixed", "OUObservedChanges",
            ]
        case .urlType: ["CFBundleURLName", "CFBundleURLSchemes", "OUHosts"]
        case .documentType:
            [
                "CFBundleTypeName", "CFBundleTypeRole", "LSHandlerRank", "LSItemContentTypes", "CFBundleTypeExtensions",
                "CFBundleTypeMIMETypes",
            ]
        case .exportedType, .importedType: ["UTTypeIdentifier", "UTTypeConformsTo", "UTTypeTagSpecification"]
        case .tags: ["public.mime-type", "public.filename-extension"]
        }
    }

    /// Apple's keys that have no meaning here but resemble keys that do.
    var foreign: Set<String> {
        switch self {
        case .urlType: ["CFBundleTypeRole", "CFBundleURLIconFile"]
        case .documentType: ["CFBundleTypeOSTypes"]
        case .manifest, .exportedType, .importedType, .tags: []
        }
    }

    /// Keys from the app programming guide that have no effect here, each with the reason, or with the key to use.
    var withoutEffect: [String: String] {
        switch self {
        case .manifest:
            [
                "LSSupportsOpeningDocumentsInPlace": "a handler opens every file where it is",
                "UIRequiredDeviceCapabilities": "a handler runs on every machine that it is installed on",
            ]
        case .documentType: ["CFBundleTypeIconFiles": "the desktop's theme provides the icons for files"]
        case .urlType, .exportedType, .importedType, .tags: [:]
        }
    }

    /// Dictionaries within this one whose keys are known.
    var inner: [ManifestKeys] {
        switch self {
        case .manifest: [.urlType, .documentType, .exportedType, .importedType]
        case .exportedType, .importedType: [.tags]
        case .urlType, .documentType, .tags: []
        }
    }

    /// Returns the dictionary to which a key belongs; nil if it belongs to none.
    static func place(of key: String) -> ManifestKeys? {
        allCases.first { $0.known.contains(key) }
    }
}
