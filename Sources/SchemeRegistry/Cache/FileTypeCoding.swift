internal import ByteCoding
internal import Desktop

/// A manifest's document types, as bytes. See ``ManifestReading``.
extension DocumentType {
    func write(to writer: inout ByteWriter) {
        writer.write(name) { $0.write($1) }
        writer.write(role.rawValue)
        writer.write(rank.rawValue)
        writer.write(contentTypes) { $0.write($1.rawValue) }
        writer.write(filenameExtensions) { $0.write($1.rawValue) }
        writer.write(mimeTypes) { $0.write($1.rawValue) }
    }

    init(from reader: inout ByteReader) throws(ByteReader.Mismatch) {
        self.init(name: try reader.optional(string))
        role = try checked(try reader.string(), DocumentRole.init(_:))
        rank = try checked(try reader.string(), HandlerRank.init(_:))
        contentTypes = try reader.list(typeIdentifier)
        filenameExtensions = try reader.list(filenameExtension)
        mimeTypes = try reader.list(mimeType)
    }
}

extension TypeDeclaration {
    func write(to writer: inout ByteWriter) {
        writer.write(identifier.rawValue)
        writer.write(conformsTo) { $0.write($1.rawValue) }
        writer.write(mimeTypes) { $0.write($1.rawValue) }
        writer.write(filenameExtensions) { $0.write($1.rawValue) }
    }

    init(from reader: inout ByteReader) throws(ByteReader.Mismatch) {
        self.init(try typeIdentifier(&reader))
        conformsTo = try reader.list(typeIdentifier)
        mimeTypes = try reader.list(mimeType)
        filenameExtensions = try reader.list(filenameExtension)
    }
}

extension FileClaim {
    func write(to writer: inout ByteWriter) {
        switch key {
        case .type(let type):
            writer.write(true)
            writer.write(type.rawValue)
        case .filenameExtension(let end):
            writer.write(false)
            writer.write(end.rawValue)
        }
        writer.write(rank.rawValue)
    }

    init(from reader: inout ByteReader) throws(ByteReader.Mismatch) {
        let key: FileKey =
            try reader.flag() ? .type(try mimeType(&reader)) : .filenameExtension(try filenameExtension(&reader))
        self.init(key, try checked(try reader.string(), HandlerRank.init(_:)))
    }
}

private func typeIdentifier(_ reader: inout ByteReader) throws(ByteReader.Mismatch) -> TypeIdentifier {
    try checked(try reader.string(), TypeIdentifier.init(_:))
}

private func filenameExtension(_ reader: inout ByteReader) throws(ByteReader.Mismatch) -> FilenameExtension {
    try checked(try reader.string(), FilenameExtension.init(_:))
}

private func mimeType(_ reader: inout ByteReader) throws(ByteReader.Mismatch) -> MimeType {
    guard let type = MimeType(try reader.string()) else { throw ByteReader.Mismatch() }
    return type
}
