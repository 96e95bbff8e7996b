internal import Glibc
internal import Spelling
public import UserFiles

/// A check of a manifest, which also finds things that are ignored when the manifest is read.
public enum ManifestCheck {
    /// Maximum number of findings.
    private static let limit = 100

    /// Returns the findings about a manifest's contents, in the order of their lines.
    ///
    /// An error means that the handler cannot be registered. A warning means one of these: an ignored key resembles a
    /// known key, is in the wrong dictionary or begins with `OU`; a key or a background mode from the app programming
    /// guide has no effect here; a word needs a shell; a command has no place for the URL; the handler claims nothing.
    /// Other keys may be Apple's.
    ///
    /// - Parameter file: the path of the manifest, used only in the findings. This reads no file.
    public static func findings(in bytes: [UInt8], of file: String) -> [Diagnostic] {
        let list: PropertyListValue
        do throws(PropertyListError) {
            list = try PropertyListValue(bytes: bytes)
        } catch {
            return [Diagnostic(severity: .error, file: file, line: error.line(in: bytes), reason: "\(error)")]
        }
        let lines = PropertyListLines(bytes)
        let diagnostic = { (severity: Diagnostic.Severity, key: String?, reason: String) in
            Diagnostic(severity: severity, file: file, line: key.flatMap { lines[$0] }, key: key, reason: reason)
        }
        let (manifest, problems) = HandlerManifest.decode(list)
        var findings = problems.map { diagnostic(.error, $0.key, $0.reason) }
        findings += (ignoredKeys(of: list, as: .manifest) + ignoredWords(of: list)).map {
            diagnostic(.warning, $0.key, $0.reason)
        }
        if let manifest {
            findings += manifest.unknownContentTypes.map { key, type in
                diagnostic(.warning, key, HandlerManifest.reason(ofUnknown: type))
            }
            findings += manifest.shellSyntax.map { diagnostic(.warning, $0.key, $0.reason) }
            if let command = manifest.command, !command.passesURL {
                let reason = "has neither %u nor %f, so its program never gets the URL; add %u as a separate string"
                findings.append(diagnostic(.warning, "OUCommand", reason))
            }
            if manifest.urlTypes.isEmpty, manifest.documentTypes.isEmpty, manifest.associatedDomains.isEmpty {
                let reason =
                    "the handler claims nothing to open; unless it only has tasks, notifications or pushes, "
                    + "add CFBundleURLTypes or CFBundleDocumentTypes"
                findings.append(diagnostic(.warning, nil, reason))
            }
        }
        return findings.sorted { ($0.line ?? 0, $0.key ?? "") < ($1.line ?? 0, $1.key ?? "") }.prefix(limit).map(\.self)
    }

    /// Adds line numbers to diagnostics about manifests. This reads the manifests as they are now, and may wait for a
    /// file system.
    ///
    /// The registry does not store line numbers. If a manifest cannot be read, its diagnostics stay as they are.
    public static func locating(_ diagnostics: [Diagnostic]) -> [Diagnostic] {
        var files: [String: (lines: PropertyListLines, findings: [Diagnostic])] = [:]
        return diagnostics.map { diagnostic in
            var diagnostic = diagnostic
            guard diagnostic.line == nil else { return diagnostic }
            let file: (lines: PropertyListLines, findings: [Diagnostic])
            if let known = files[diagnostic.file] {
                file = known
            } else {
                let bytes = bytes(of: diagnostic.file)
                file = (PropertyListLines(bytes), bytes.isEmpty ? [] : findings(in: bytes, of: diagnostic.file))
                files[diagnostic.file] = file
            }
            diagnostic.line =
                if let key = diagnostic.key { file.lines[key] } else {
                    file.findings.first { $0.key == nil && $0.reason == diagnostic.reason }?.line
                }
            return diagnostic
        }
    }

    private static func bytes(of file: String) -> [UInt8] {
        do throws(FileError) {
            return try contents(ofFile: file, limit: ManifestFiles.sizeLimit, followingLinks: true)
        } catch {
            return []
        }
    }

    /// Returns warnings about a handler's program, which a launch would report. This may wait for a file system.
    ///
    /// - Parameter searchPath: the value of `PATH` for a launch; nil for the usual directories.
    public static func findings(onProgramOf handler: Handler, searchPath: String?) -> [Diagnostic] {
        let searchPath = handler.manifest.environment["PATH"] ?? searchPath
        guard let program = handler.program, let fault = fault(of: program, searchPath) else { return [] }
        let advice = fault.advice == nil ? "; \(advice(on: handler))" : ""
        return [
            Diagnostic(
                severity: .warning,
                file: handler.manifestFile,
                key: handler.manifest.programKey,
                reason: "\(fault)\(advice)"
            )
        ]
    }

    private static func fault(of program: Handler.Program, _ searchPath: String?) -> ProgramFault? {
        switch program {
        case .path(let path): return ProgramFault(ofProgram: path, searchPath: searchPath)
        // Desktop entries are not read here.
        case .desktopEntry: return nil
        case .nameOnPath(let name):
            guard let path = programPath(named: name, in: searchPath) else { return ProgramFault(nameNotOnPath: name) }
            return ProgramFault(ofProgram: path, searchPath: searchPath)
        }
    }

    /// Returns advice for the case that there is no program with the name that a manifest gives.
    private static func advice(on handler: Handler) -> String {
        let text = handler.manifest.executable?.description ?? ""
        if ShellSyntax(in: text) != nil { return "no shell reads this text, so write the whole path" }
        let first = text.prefix { $0 != " " }
        if first.utf8.count < text.utf8.count, !first.contains("/") || isRegularFile(String(first)) {
            return handler.manifest.command == nil
                ? "the spaces count as part of the name, so write the arguments as OUArguments"
                : "the spaces count as part of the name, so write each word as a separate string"
        }
        let folder = handler.isBundle ? handler.path : parentDirectory(of: handler.path)
        if let name = names(onPath: text).last, isRegularFile("\(folder)/\(name)") {
            return "the manifest's folder has it, so write ./\(printable(name))"
        }
        // Any other program already has an absolute path, which the finding shows.
        if case .nameOnPath? = handler.program { return "give an absolute path" }
        return "build it, or correct the path"
    }

    // MARK: Keys

    private static func ignoredKeys(
        of value: PropertyListValue,
        as keys: ManifestKeys,
        path: String = ""
    ) -> [ManifestProblem] {
        guard case .dictionary(let members) = value else { return [] }
        let known = keys.known
        let problems = members.keys.sorted().compactMap { key -> ManifestProblem? in
            guard !known.contains(key), !keys.foreign.contains(key), let reason = reason(ofIgnored: key, in: keys)
            else { return nil }
            return ManifestProblem(key: path + printable(key), reason: reason)
        }
        return problems
            + keys.inner.flatMap { inner -> [ManifestProblem] in
                let name = inner.rawValue
                switch members[name] {
                case .array(let elements)?:
                    return elements.enumerated().flatMap {
                        ignoredKeys(of: $0.element, as: inner, path: "\(path)\(name)[\($0.offset)].")
                    }
                case .dictionary?: return ignoredKeys(of: members[name] ?? value, as: inner, path: "\(path)\(name).")
                default: return []
                }
            }
    }

    /// Returns the reason to warn about a key that has no meaning in a dictionary; nil if the key may be Apple's.
    private static func reason(ofIgnored key: String, in keys: ManifestKeys) -> String? {
        if let advice = keys.withoutEffect[key] { return "has no effect here; \(advice)" }
        if let place = ManifestKeys.place(of: key) {
            let destination = place == .manifest ? "the manifest itself" : "an entry of \(place.rawValue)"
            return "is ignored here; it belongs in \(place == .tags ? place.rawValue : destination)"
        }
        let reason = "is not a known key and is ignored"
        if let near = key.nearest(in: keys.known) { return "\(reason); did you mean \(near)?" }
        guard (4...64).contains(key.utf8.count) else { return key.hasPrefix("OU") ? reason : nil }
        let end = asciiLowercased(key.hasPrefix("OU") ? String(key.dropFirst(2)) : key)
        let meant = keys.known.filter { asciiLowercased($0).hasSuffix(end) }
        if !meant.isEmpty { return "\(reason); did you mean \(meant.joined(separator: " or "))?" }
        // Apple's keys begin with two capital letters.
        return key.hasPrefix("OU") || key.prefix(2).contains { !$0.isUppercase } ? reason : nil
    }

    // MARK: Words

    /// Finds the words of a list that have no effect. Long strings, and elements that are not strings, are already
    /// reported when the manifest is read.
    private static func ignoredWords(
        of value: PropertyListValue,
        in key: String,
        _ reason: (String) -> String?
    ) -> [ManifestProblem] {
        guard case .dictionary(let members) = value, case .array(let words)? = members[key] else { return [] }
        return words.enumerated().compactMap { index, word in
            guard case .string(let text) = word, text.utf8.count <= 1024, let reason = reason(text) else { return nil }
            return ManifestProblem(key: "\(key)[\(index)]", reason: reason)
        }
    }

    private static func ignoredWords(of value: PropertyListValue) -> [ManifestProblem] {
        ignoredWords(of: value, in: "UIBackgroundModes", reason(ofIgnoredMode:))
            + ignoredWords(of: value, in: "OUObservedChanges", reason(ofIgnoredChange:))
    }

    /// Returns the reason to warn about a kind of change; nil if it is known.
    private static func reason(ofIgnoredChange text: String) -> String? {
        if ObservedChange(rawValue: text) != nil { return nil }
        let reason = "is '\(printable(text))', which is not a kind of change and is ignored"
        return text.nearest(in: ObservedChange.allCases.map(\.rawValue)).map { "\(reason); did you mean \($0)?" }
            ?? reason
    }

    /// Returns the reason to warn about a background mode; nil if it has an effect.
    private static func reason(ofIgnoredMode text: String) -> String? {
        if let mode = BackgroundMode(rawValue: text) {
            return mode.hasEffect
                ? nil : "is \(mode.rawValue), which has no effect here: the handler will be suspended anyway"
        }
        let reason = "is '\(printable(text))', which is not a mode and is ignored"
        return text.nearest(in: BackgroundMode.allCases.map(\.rawValue)).map { "\(reason); did you mean \($0)?" }
            ?? reason
    }
}

extension HandlerManifest {
    /// The key that gives the program.
    var programKey: String {
        command != nil ? "OUCommand" : desktopEntry != nil ? "OUDesktopEntry" : "CFBundleExecutable"
    }

    /// Returns the reason to warn about a type identifier that leads to no file.
    static func reason(ofUnknown type: TypeIdentifier) -> String {
        "is \(type), which is not known here; declare it in UTImportedTypeDeclarations, or name its MIME type"
    }
}
