internal import Desktop

/// Public type identifiers that a manifest may use without declaring them.
///
/// They conform to each other as described in “System-Declared Uniform Type Identifiers”. Their MIME types are those of
/// the desktop's shared database, which file managers look for in desktop entries: first the current name, then the one
/// in older versions. They have no extensions, because the shared database knows their files' names better.
let publicTypes: [TypeDeclaration] = publicTypeTable.split(separator: "\n").map { line in
    let columns = line.split(separator: " ")
    var type = TypeDeclaration(TypeIdentifier(checked: String(columns[0])))
    type.conformsTo = entries(columns[1]).map { TypeIdentifier(checked: String($0)) }
    type.mimeTypes = entries(columns[2]).compactMap { MimeType(String($0)) }
    return type
}

private func entries(_ column: Substring) -> [Substring] { column == "-" ? [] : column.split(separator: ",") }

/// Each line has a type, the types to which it conforms, and its files' MIME types. A type without MIME types stands
/// for the types that conform to it.
private let publicTypeTable = """
    public.item - -
    public.content - -
    public.data public.item application/octet-stream
    public.directory public.item inode/directory
    public.folder public.directory inode/directory
    public.volume public.folder inode/directory
    public.composite-content public.content -
    public.text public.data,public.content text/plain
    public.plain-text public.text text/plain
    public.utf8-plain-text public.plain-text text/plain
    public.utf16-plain-text public.plain-text text/plain
    public.utf16-external-plain-text public.plain-text text/plain
    public.delimited-values-text public.text -
    public.comma-separated-values-text public.delimited-values-text text/csv
    public.tab-separated-values-text public.delimited-values-text text/tab-separated-values
    public.utf8-tab-separated-values-text public.tab-separated-values-text text/tab-separated-values
    public.log public.plain-text text/x-log
    public.rtf public.text application/rtf
    com.apple.rtfd public.composite-content -
    public.html public.text text/html
    public.xhtml public.xml application/xhtml+xml
    public.xml public.text application/xml
    public.xml-dtd public.text application/xml-dtd
    public.json public.text application/json
    public.geojson public.json application/geo+json
    public.yaml public.text application/yaml,application/x-yaml
    public.toml public.text application/toml
    public.css public.text text/css
    net.daringfireball.markdown public.plain-text text/markdown
    public.source-code public.plain-text -
    public.c-source public.source-code text/x-csrc
    public.c-header public.source-code text/x-chdr
    public.c-plus-plus-source public.source-code text/x-c++src
    public.c-plus-plus-header public.source-code text/x-c++hdr
    public.objective-c-source public.source-code text/x-objcsrc
    public.objective-c-plus-plus-source public.source-code text/x-objc++src
    public.swift-source public.source-code text/x-swift
    public.assembly-source public.source-code text/x-asm
    public.fortran-source public.source-code text/x-fortran
    public.pascal-source public.source-code text/x-pascal
    public.ada-source public.source-code text/x-adasrc
    public.lex-source public.source-code text/x-lex
    public.yacc-source public.source-code text/x-yacc
    com.sun.java-source public.source-code text/x-java
    public.patch-file public.plain-text text/x-patch
    public.make-source public.script text/x-makefile
    public.script public.source-code -
    public.shell-script public.script application/x-shellscript
    public.bash-script public.shell-script application/x-shellscript
    public.ksh-script public.shell-script application/x-shellscript
    public.csh-script public.shell-script application/x-csh
    public.zsh-script public.shell-script application/x-shellscript
    public.perl-script public.script application/x-perl
    public.python-script public.script text/x-python,text/x-python3
    public.ruby-script public.script application/x-ruby
    public.php-script public.script application/x-php
    com.netscape.javascript-source public.script text/javascript,application/javascript
    public.image public.data,public.content -
    public.png public.image image/png
    public.jpeg public.image image/jpeg
    public.jpeg-2000 public.image image/jp2
    public.jpegxl public.image image/jxl
    public.tiff public.image image/tiff
    com.compuserve.gif public.image image/gif
    com.microsoft.bmp public.image image/bmp
    com.microsoft.ico public.image image/vnd.microsoft.icon
    com.apple.icns public.image image/x-icns
    com.apple.pict public.image image/x-pict
    com.adobe.photoshop-image public.image image/vnd.adobe.photoshop
    com.adobe.illustrator.ai-image public.image application/illustrator
    com.adobe.raw-image public.camera-raw-image image/x-adobe-dng
    com.truevision.tga-image public.image image/x-tga
    com.ilm.openexr-image public.image image/x-exr
    com.sgi.sgi-image public.image image/x-sgi
    public.svg-image public.image image/svg+xml
    public.xbitmap-image public.image image/x-xbitmap
    public.heic public.image image/heif
    public.heif public.image image/heif
    public.avif public.image image/avif
    org.webmproject.webp public.image image/webp
    public.pbm public.image image/x-portable-bitmap
    public.radiance public.image image/vnd.radiance
    public.camera-raw-image public.image image/x-dcraw
    com.canon.cr2-raw-image public.camera-raw-image image/x-canon-cr2
    com.nikon.raw-image public.camera-raw-image image/x-nikon-nef
    com.sony.raw-image public.camera-raw-image image/x-sony-arw
    public.fax public.image image/g3fax
    public.audiovisual-content public.data,public.content -
    public.movie public.audiovisual-content -
    public.video public.movie -
    public.audio public.audiovisual-content -
    com.apple.quicktime-movie public.movie video/quicktime
    public.mpeg public.movie video/mpeg
    public.mpeg-2-video public.video video/mpeg
    public.mpeg-2-transport-stream public.movie video/mp2t
    public.mpeg-4 public.movie video/mp4
    com.apple.m4v-video public.movie video/x-m4v
    public.3gpp public.movie video/3gpp
    public.3gpp2 public.movie video/3gpp2
    public.avi public.movie video/x-msvideo,video/vnd.avi
    com.microsoft.windows-media-wmv public.movie video/x-ms-wmv
    org.webmproject.webm public.movie video/webm
    org.matroska.mkv public.movie video/x-matroska
    public.mp3 public.audio audio/mpeg
    public.mpeg-4-audio public.audio audio/mp4
    com.apple.m4a-audio public.audio audio/mp4
    public.aac-audio public.audio audio/aac
    public.ac3-audio public.audio audio/ac3
    public.aiff-audio public.audio audio/x-aiff
    public.aifc-audio public.audio audio/x-aifc
    com.microsoft.waveform-audio public.audio audio/x-wav,audio/vnd.wave
    com.microsoft.windows-media-wma public.audio audio/x-ms-wma
    org.xiph.flac public.audio audio/flac
    org.xiph.ogg-audio public.audio audio/ogg
    org.xiph.opus public.audio audio/x-opus+ogg
    public.midi-audio public.audio audio/midi
    public.au-audio public.audio audio/basic
    public.ulaw-audio public.audio audio/basic
    public.m3u-playlist public.text audio/x-mpegurl
    public.pls-playlist public.text audio/x-scpls
    com.adobe.pdf public.data,public.composite-content application/pdf
    com.adobe.postscript public.data application/postscript
    com.adobe.encapsulated-postscript com.adobe.postscript image/x-eps
    public.epub public.data,public.composite-content application/epub+zip
    org.idpf.epub-container public.data,public.composite-content application/epub+zip
    com.microsoft.word.doc public.data application/msword
    com.microsoft.excel.xls public.data application/vnd.ms-excel
    com.microsoft.powerpoint.ppt public.data application/vnd.ms-powerpoint
    org.openxmlformats.wordprocessingml.document public.data application/vnd.openxmlformats-officedocument.wordprocessingml.document
    org.openxmlformats.spreadsheetml.sheet public.data application/vnd.openxmlformats-officedocument.spreadsheetml.sheet
    org.openxmlformats.presentationml.presentation public.data application/vnd.openxmlformats-officedocument.presentationml.presentation
    org.oasis-open.opendocument.text public.data application/vnd.oasis.opendocument.text
    org.oasis-open.opendocument.spreadsheet public.data application/vnd.oasis.opendocument.spreadsheet
    org.oasis-open.opendocument.presentation public.data application/vnd.oasis.opendocument.presentation
    org.oasis-open.opendocument.graphics public.data application/vnd.oasis.opendocument.graphics
    public.presentation public.composite-content -
    public.spreadsheet public.content -
    public.archive public.data -
    public.zip-archive public.archive application/zip
    com.pkware.zip-archive public.archive application/zip
    org.gnu.gnu-zip-archive public.archive application/gzip
    org.gnu.gnu-zip-tar-archive public.tar-archive application/x-compressed-tar
    public.tar-archive public.archive application/x-tar
    public.bzip2-archive public.archive application/x-bzip,application/x-bzip2
    public.cpio-archive public.archive application/x-cpio
    org.7-zip.7-zip-archive public.archive application/x-7z-compressed
    com.rarlab.rar-archive public.archive application/vnd.rar
    org.tukaani.xz-archive public.archive application/x-xz
    org.tukaani.tar-xz-archive public.tar-archive application/x-xz-compressed-tar
    com.facebook.zstandard-archive public.archive application/zstd
    com.sun.java-archive public.archive application/x-java-archive,application/java-archive
    public.disk-image public.archive -
    public.iso-image public.disk-image application/x-cd-image,application/vnd.efi.iso
    com.apple.disk-image-udif public.disk-image application/x-apple-diskimage
    public.executable public.item -
    public.unix-executable public.executable application/x-executable
    com.microsoft.windows-executable public.executable application/x-ms-dos-executable,application/vnd.microsoft.portable-executable
    com.sun.java-class public.executable application/x-java
    public.font public.data -
    public.truetype-font public.font font/ttf
    public.opentype-font public.font font/otf
    public.truetype-ttf-font public.font font/ttf
    public.truetype-collection-font public.font font/collection
    org.w3.woff public.font font/woff
    org.w3.woff2 public.font font/woff2
    public.contact public.content -
    public.vcard public.text text/vcard
    public.calendar-event public.content -
    com.apple.ical.ics public.text text/calendar
    public.message public.content -
    public.email-message public.message message/rfc822
    com.apple.mail.email public.email-message message/rfc822
    public.mbox public.text application/mbox
    public.url public.data -
    com.microsoft.internet-shortcut public.url application/x-mswinurl
    org.freedesktop.desktop-entry public.text application/x-desktop
    public.database public.data -
    org.sqlite.sqlite3 public.database application/vnd.sqlite3
    public.symlink public.item inode/symlink
    public.3d-content public.content -
    public.standard-tesselated-geometry-format public.3d-content model/stl
    public.geometry-definition-format public.3d-content model/obj
    public.x509-certificate public.data application/pkix-cert,application/x-x509-ca-cert
    com.rsa.pkcs-12 public.data application/x-pkcs12
    org.bittorrent.torrent public.data application/x-bittorrent
    public.gpx public.xml application/gpx+xml
    com.google.earth.kml public.xml application/vnd.google-earth.kml+xml
    """
