import RFC1808
import Testing

@Suite struct Properties {
    /// Every property of a URL that needs no decoding.
    private struct Components: Equatable {
        var values: [Substring?]
        var scheme: String?
        var port: UInt16?

        init(_ url: GenericURL) {
            values = [
                url.networkLocation, url.user, url.password, url.host, url.path, url.parameters, url.query,
                url.fragment,
                url.opaquePart, url.resourceSpecifier,
            ]
            scheme = url.scheme
            port = url.port
        }
    }

    @Test func parsingAgreesWithTheSlowImplementationAndPrintingKeepsTheBytes() {
        var random = RandomURLs("parsing")
        var accepted = 0
        for index in 0..<RandomURLs.count {
            let string = index.isMultiple(of: 2) ? random.string() : random.url()
            let slow = SlowURL(string)
            let url = parse(string)
            guard (url == nil) == (slow == nil) else {
                Issue.record("\(string): \(slow == nil ? "must be refused" : "is refused")")
                return
            }
            guard let url, let slow else { continue }
            accepted += 1
            var fast = slow
            fast.scheme = url.scheme
            fast.networkLocation = url.networkLocation.map(String.init)
            fast.user = url.user.map(String.init)
            fast.password = url.password.map(String.init)
            fast.host = url.host.map(String.init)
            fast.port = url.port.map(Int.init)
            fast.path = String(url.path)
            fast.parameters = url.parameters.map(String.init)
            fast.query = url.query.map(String.init)
            fast.fragment = url.fragment.map(String.init)
            fast.opaquePart = url.opaquePart.map(String.init)
            guard fast == slow, url.description == string, parse(bytes: string) == url else {
                Issue.record("\(string): \(fast) is not \(slow)")
                return
            }
        }
        #expect(accepted > RandomURLs.count / 3)
    }

    @Test(arguments: [
        "", "foo", "foo://", "foo://u@", "foo://h:", "foo://[", "foo:", "foo:/", "foo:/;", "foo:/?", "foo:/#",
    ])
    func everyASCIIByteInEveryPlaceAgreesWithTheSlowImplementation(prefix: String) {
        for padding in stride(from: 0, through: 18, by: 3) {
            let filler = String(repeating: "1", count: padding)
            for byte in UInt8.min..<0x80 {
                for tail in ["", "/", filler, filler + ":x"] {
                    let string = prefix + filler + String(Unicode.Scalar(byte)) + tail
                    guard (parse(string) == nil) == (SlowURL(string) == nil) else {
                        Issue.record("\(string.debugDescription): \(String(describing: parse(string)))")
                        return
                    }
                }
            }
        }
    }

    @Test func resolvingAgreesWithTheSlowImplementationAndPrintingKeepsTheComponents() {
        var random = RandomURLs("resolving")
        var resolved = 0
        for _ in 0..<RandomURLs.count {
            let (base, reference) = (random.url(), random.url())
            guard let slowBase = SlowURL(base), let slowReference = SlowURL(reference) else { continue }
            guard let fastBase = parse(base), let fastReference = parse(reference) else { continue }
            for mode in GenericURL.ResolutionMode.allCases {
                let result = fastReference.resolved(against: fastBase, mode: mode)
                let expected =
                    mode == .rfc1808
                    ? slowReference.resolved1808(against: slowBase) : slowReference.resolved3986(against: slowBase)
                guard result.description == expected else {
                    Issue.record("\(reference) against \(base), \(mode): \(result) is not \(expected)")
                    return
                }
                guard let again = parse(expected), Components(again) == Components(result) else {
                    Issue.record("\(reference) against \(base), \(mode): \(result) is not what it reads as")
                    return
                }
                resolved += 1
            }
        }
        #expect(resolved > RandomURLs.count)
    }

    @Test func decodingFollowsTheEscapesAndRebuildingKeepsTheParts() throws {
        var random = RandomURLs("rebuilding")
        var rebuilt = 0
        for _ in 0..<RandomURLs.count {
            let string = random.url()
            guard let url = parse(string), let builder = builder(url) else { continue }
            for component in GenericURL.Component.allCases {
                guard let bytes = url.decodedBytes(component) else { continue }
                #expect(try url.decoded(component).map { Array($0.utf8) } == bytes)
            }
            let again = try builder.build()
            guard try GenericURL.Builder(again) == builder else {
                Issue.record("\(string) was rebuilt as \(again)")
                return
            }
            rebuilt += 1
        }
        #expect(rebuilt > RandomURLs.count / 3)
    }

    @Test func replacingAComponentKeepsTheOthers() throws {
        var random = RandomURLs("replacing")
        var (replaced, refused) = (0, 0)
        for _ in 0..<RandomURLs.count {
            guard let url = parse(random.url()), let other = parse(random.url()) else { continue }
            let before = raw(url)
            for (component, own) in before {
                #expect(try url.replacing(component, with: own.map(String.init)) == url)
                for new in [raw(other)[component] ?? nil, nil, random.url()[...], random.string()[...]] {
                    guard let result = try? url.replacing(component, with: new.map(String.init)) else {
                        refused += 1
                        continue
                    }
                    replaced += 1
                    var expected = before
                    expected[component] = .some(component == .path ? new ?? "" : new)
                    guard raw(result) == expected, result.scheme == url.scheme, result.port == url.port,
                        parse(result.description).map(Components.init) == Components(result)
                    else {
                        Issue.record("\(url) became \(result) with \(component) \(new ?? "nil")")
                        return
                    }
                }
            }
        }
        #expect(replaced > RandomURLs.count)
        #expect(refused > RandomURLs.count)
    }

    @Test func appendingAnItemKeepsTheRest() throws {
        var random = RandomURLs("appending")
        for _ in 0..<RandomURLs.count {
            guard let url = parse(random.url()) else { continue }
            let (name, value) = (random.string(), Bool.random() ? random.string() : nil)
            let result = url.appending(queryItem: .init(name: name, value: value))
            let items = url.query == "" ? [] : Array(url.queryItems)
            guard Array(result.queryItems.dropLast()) == items,
                let item = result.queryItems.last,
                item.name.decodedBytes() == Array(name.utf8),
                item.value?.decodedBytes() == value.map({ Array($0.utf8) }),
                try result.replacing(.query, with: url.query.map(String.init)) == url,
                parse(result.description).map(Components.init) == Components(result)
            else {
                Issue.record("\(url) became \(result) with \(name) and \(value ?? "nil")")
                return
            }
        }
    }

    /// The components that can be replaced.
    private func raw(_ url: GenericURL) -> [GenericURL.Component: Substring?] {
        [
            .user: url.user, .password: url.password, .host: url.host, .path: url.path, .parameters: url.parameters,
            .query: url.query, .fragment: url.fragment, .opaquePart: url.opaquePart,
        ]
    }

    @Test func urlWithOtherCaseIsEquivalentIfTheCaseIsInsignificant() throws {
        var random = RandomURLs("equivalence")
        for _ in 0..<RandomURLs.count {
            let string = random.url()
            guard let url = parse(string) else { continue }
            #expect(url.isEquivalent(to: url))
            let upper = try GenericURL(string.uppercased())
            let differsElsewhere =
                escapesUppercased(
                    String(url.path + (url.user ?? "") + ":" + (url.password ?? "") + (url.parameters ?? ""))
                )
                + escapesUppercased(String((url.query ?? "") + (url.fragment ?? "") + (url.opaquePart ?? "")))
            #expect(
                url.isEquivalent(to: upper) == (differsElsewhere == differsElsewhere.uppercased()),
                "\(url) and \(upper)"
            )
        }
    }

    private func escapesUppercased(_ string: String) -> String {
        var pieces = string.split(separator: "%", omittingEmptySubsequences: false).map(String.init)
        for index in pieces.indices.dropFirst() {
            pieces[index] = pieces[index].prefix(2).uppercased() + pieces[index].dropFirst(2)
        }
        return pieces.joined(separator: "%")
    }

    private func parse(_ string: String) -> GenericURL? { try? GenericURL(string) }

    private func parse(bytes string: String) -> GenericURL? { try? GenericURL(utf8: string.utf8.span) }

    private func builder(_ url: GenericURL) -> GenericURL.Builder? { try? GenericURL.Builder(url) }
}
