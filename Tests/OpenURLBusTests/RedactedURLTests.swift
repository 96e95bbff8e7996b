import DBus
import Testing

@testable import OpenURLBus

/// URLs without the parts that may be secrets.
@Suite(.timeLimit(.minutes(1))) struct RedactedURLTests {
    @Test(arguments: [
        ("todolist://www.acme.com/a/b", "todolist://www.acme.com/a/b"),
        ("todolist://www.acme.com?token=abc#frag", "todolist://www.acme.com?…#…"),
        ("app:/a;jsessionid=1?x", "app:/a;…?…"),
        ("app:/a?#", "app:/a?#"),
        ("https://user:pw@host:8443/p", "https://…@host:8443/p"),
        ("https://a@b@host/p", "…"),
        ("https://user@host", "https://…@host"),
        ("mailto:a@b.c?body=hello", "mailto:a@b.c?…"),
        ("tel:+49123", "tel:+49123"),
        ("data:text/html;base64,c2VjcmV0", "data:text/html,…"),
        ("data:,secret", "data:,…"),
        ("DATA:image/png,secret", "DATA:image/png,…"),
        ("javascript:alert(1)", "javascript:…"),
        ("view-source:https://u:p@h/?q", "view-source:…"),
        ("openurl-reply://TOKEN/success?a=b", "openurl-reply:…"),
        ("OpenURL-Reply://TOKEN/success", "OpenURL-Reply:…"),
        ("otpauth://totp/a?secret=JBSW", "otpauth://totp/a?…"),
        ("not a url with secret", "…"),
        ("app:a b?secret", "…"),
        ("//host/path?secret", "…"),
        ("", "…"),
        // Parameters of an opaque URL, and in a path.
        ("x:a;p=secret", "x:a;…"),
        ("X:a;secret", "X:a;…"),
        ("sms:+49123&body=secret", "sms:+49123&…"),
        ("WIFI:S:net;T:WPA;P:secret;;", "WIFI:…"),
        ("wifi:P:secret;S:net;;", "wifi:…"),
        ("VBScript:MsgBox('secret')", "VBScript:…"),
        // Escapes of escapes without end.
        ("app:/open/a%2525252525253Fsecret", "app:…"),
        ("app:/login/token=secret", "app:/login/token=…"),
        ("app://token=secret/x", "app://token=…/x"),
        ("app:/open/a%3Fsecret", "app:/open/a%3F…"),
        ("app:/open/a%253Fsecret", "app:/open/a%253F…"),
        ("app:/open/a%23secret", "app:/open/a%23…"),
        ("app:/open/a%3bsecret", "app:/open/a%3b…"),
        // Content that is not a media type.
        ("data:secret", "data:…"),
        ("data:secret,x", "data:…"),
        ("data:;base64,secret", "data:,…"),
        ("data://secret/x,y", "data:…"),
        ("data:/secret", "data:…"),
        ("javascript://%0Aalert('secret')", "javascript:…"),
        ("JavaScript:/secret", "JavaScript:…"),
        // User information in places where it does not belong, and escaped.
        ("https:joe:secret@host/", "https:…@host/"),
        ("https:/joe:secret@host/", "https:…@host/"),
        ("foo:///joe:secret@h/", "foo://…@h/"),
        ("foo://h/joe:secret@h/", "foo://h…@h/"),
        ("https://joe%3Asecret%40host/", "https://…%40host/"),
        ("HTTPS://joe%3asecret%2540host/", "HTTPS://…%2540host/"),
        ("https:joe%3Asecret%40host/", "https:…%40host/"),
        ("https://secret@host", "https://…@host"),
        ("ftp://joe:secret@h:21/x", "ftp://…@h:21/x"),
        ("file://joe:secret@h/x", "file://…@h/x"),
        ("sip:joe:secret@h", "sip:…@h"),
        ("xmpp:joe@h", "xmpp:joe@h"),
        ("app:/open/https://joe:secret@h/", "app:…@h/"),
        ("feed:https:joe:secret@h/", "feed:…@h/"),
        ("x:https%3A%2F%2Fh%2Fsecret", "x:…"),
        // Answers of sign-ins.
        ("https://app.example/cb#access_token=secret", "https://app.example/cb#…"),
        ("APP:/cb#ACCESS_TOKEN=secret", "APP:/cb#…"),
        ("app://x-callback-url/do?x-success=b%3A%2F%2Fsecret", "app://x-callback-url/do?…"),
        ("mailto:?body=secret", "mailto:?…"),
        // The name of a file.
        ("file:///home/joe/a=b%3F%23.txt", "file:///home/joe/a=b%3F%23.txt"),
    ])
    func leavesSecretsOut(_ url: String, _ text: String) {
        #expect(RedactedURL(url).text == text)
    }

    @Test(arguments: [
        ("app:x;y?q#f", "app:x;y?q#f"), ("https://user:pw@host/p;a?q#f", "https://…@host/p;a?q#f"),
        ("openurl-reply://TOKEN/success?a=b", "openurl-reply:…"), ("data:,secret", "data:,…"),
    ])
    func showsQueriesOnly(_ url: String, _ text: String) {
        #expect(RedactedURL(url, showsQueries: true).text == text)
    }

    @Test(arguments: [
        ("app:x?token=s3cret", "the token s3cret of app:x?token=s3cret is wrong", "the token … of app:x?… is wrong"),
        ("app:x?token=a%20b%2Fc", "no 'a b/c', no 'a%20b%2Fc'", "no '…', no '…'"),
        ("app:x?name=Ann+Lee", "Ann Lee is unknown", "… is unknown"),
        ("app:x?a=1", "no 1; 10 of 21 are left", "no …; 10 of 21 are left"),
        ("https://user:hunter2@host/", "user has no hunter2", "… has no …"),
        ("app:x#fragment", "the fragment is new", "the … is new"),
        ("data:,hello", "hello is no type", "… is no type"),
        ("openurl-reply://TOKEN/success?a=b", "no call waits for TOKEN/success", "no call waits for …"),
        ("not a url", "'not a url' has spaces", "'…' has spaces"),
        ("app:x?token=ü", "ü", "…"),
        ("app:x", "all of it stays", "all of it stays"),
        // A `+` beside escapes.
        ("app:x?q=my+s3cret%2Fa", "no 'my s3cret/a'", "no '…'"),
        ("app:x?q=my+s3cret%2Fa", "no 'my+s3cret/a'", "no '…'"),
        ("app:x?q=my%20s3cret%2Ba", "no 'my s3cret+a'", "no '…'"),
        ("app:x?q=a%2520b%252Fc", "no 'a b/c', no 'a%20b%2Fc'", "no '…', no '…'"),
        ("app:x?q=a%c3%bc", "no 'a%C3%BC', no 'aü', no 'Aü'", "no '…', no '…', no '…'"),
        // Another case, other escapes, and the escapes of JSON.
        ("app:x?q=Secr3t", "SECR3T and secr3t and %53ecr3t", "… and … and …"),
        ("app:x?q=http:%2F%2Fs3cret", #"{"q":"http:\/\/s3cret"}"#, #"{"q":"…"}"#),
        // A part of a secret.
        ("app:x?token=0123456789abcdef", "in 23456789a…", "in ……"),
        ("app:x?token=0123456789abcdef", "in token=01…", "in ……"),
        ("app:x?token=0123456789abcdef", "in app:x?token=012...", "in app:x?…..."),
        ("app:x?token=01%2F3456789abcdef", "in app:x?token=01%2…", "in app:x?……"),
        ("app:x?token=01%2F3456789abcdef", "in app:x?token=01%…", "in app:x?……"),
        ("app:x?token=0123456789abcdef", "…def is wrong", "…… is wrong"),
        ("app:x?token=0123456789abcdef", "0123 4567 89ab", "0123 4567 89ab"),
        // URLs within URLs.
        ("app:x?next=b%3A%2F%2Fx%3Ftoken%3Ds3cret", "no s3cret", "no …"),
        ("app:x?next=b%3Fnext%3Dc%253Fpin%253D1234", "no 1234", "no …"),
        ("app:x?next=https%3A%2F%2Fjoe%3Ahunter2%40h%2F", "joe has no hunter2", "… has no …"),
        ("app:/open/https://joe:hunter2@h/", "joe has no hunter2", "… has no …"),
        ("https:joe:hunter2@host/", "joe has no hunter2", "… has no …"),
        ("https://joe%3Apw%40host/", "joe has no pw", "… has no …"),
        ("x:a;p=pw", "no pw", "no …"),
        ("javascript://%0Aalert(1)", "alert(1) is not defined", "… is not defined"),
        ("data:s3cret", "s3cret is wrong", "… is wrong"),
        ("app:x?token=a%FFb", "a%ffb is not UTF-8", "… is not UTF-8"),
    ])
    func leavesSecretsOutOfMessages(_ url: String, _ message: String, _ text: String) {
        #expect(RedactedURL(url).redacting(message) == text)
    }

    @Test func leavesAMessageOutWithoutLookingForThousandsOfSecrets() {
        let url = "app:x?" + (0..<1000).map { "name\($0)=value\($0)" }.joined(separator: "&")
        #expect(RedactedURL(url).redacting("the value999 is wrong") == "…")
    }

    @Test func cutsALongURL() {
        let text = RedactedURL("app:/" + String(repeating: "a", count: 60_000)).text
        #expect(text.utf8.count < 3000)
        #expect(text.hasSuffix("…"))
    }

    // MARK: Messages with quotations

    /// The words of a message stay, whatever the URL holds.
    @Test(arguments: [
        "x?1", "x?e", "x?seconds", "x?open", "x?did%20not%20return", "x:?a=within&b=of", "x?com.acme.app",
    ])
    func wordsOfAMessageStay(_ url: String) throws {
        let limit: QuotingText = "\(1) second" + "s"
        let id: BusName = "com.acme.app"
        let text: QuotingText = "open of \(id) did not return within \(limit)" + " of the launch"
        #expect(RedactedURL(url).redacting(text).description == text.description)
        #expect(text.description == "open of com.acme.app did not return within 1 seconds of the launch")
    }

    @Test func quotationsAreRedacted() throws {
        let url = RedactedURL("x://h/p?token=s3cret-value")
        for quoted in ["s3cret-value", "x://h/p?token=s3cret-value", "S3CRET%2Dvalue is no token", "a s3cre…"] {
            let text: QuotingText = "token \(id) wrote: \(quoted); token in \(7) s3cret-value"
            let shown = url.redacting(text).description
            #expect(shown.hasPrefix("token com.acme.app wrote: "), "\(shown)")
            #expect(shown.hasSuffix("; token in 7 s3cret-value"), "\(shown)")
            #expect(!shown.dropLast("s3cret-value".count).lowercased().contains("s3cre"), "\(shown)")
        }
        // The message of another program is a quotation as a whole, also within another error.
        let foreign = OpenURLError(.declined, "no s3cret-value".lowercased())
        #expect(url.redacting(foreign.text).description == "no …")
        let wrapped = OpenURLError(.declined, "value: \(foreign)")
        #expect(url.redacting(wrapped.text).description == "value: no …")
        #expect(RedactedURL("x?value").redacting(wrapped.text).description == "value: no s3cret-…")
        #expect(
            RedactedURL("x?no").redacting(OpenURLError(.declined, "no " + "\(foreign)").text).description.hasPrefix(
                "no …"
            )
        )
        #expect(wrapped == OpenURLError(.declined, "value: no s3cret-value"))
    }

    private let id: BusName = "com.acme.app"

    @Test(arguments: [3, 8, 10, 14, 20, 21, 30]) func cutTextKeepsItsQuotations(_ limit: Int) {
        let text: QuotingText = "words \("s3cret-value") and ü \("s3cret-value") end"
        let cut = text.cut(toBytes: limit)
        #expect(cut.description == text.description.cut(toBytes: limit))
        let shown = RedactedURL("x?s3cret-value").redacting(cut).description
        #expect(!shown.contains("s3"), "\(shown)")
    }
}
