// uriparser, which Debian has as liburiparser-dev: https://uriparser.github.io
#include "peer.h"
#include <string.h>
#include <uriparser/Uri.h>

static size_t size(const UriTextRangeA *range) { return range->first ? (size_t)(range->afterLast - range->first) : 0; }

const char *peer_name(void) { return "uriparser " URI_VER_ANSI; }

size_t peer_parse(const char *text, size_t length) {
    UriUriA uri;
    if (uriParseSingleUriExA(&uri, text, text + length, NULL) != URI_SUCCESS) return 0;
    uriFreeUriMembersA(&uri);
    return 1;
}

size_t peer_parse_components(const char *text, size_t length) {
    UriUriA uri;
    if (uriParseSingleUriExA(&uri, text, text + length, NULL) != URI_SUCCESS) return 0;
    // The user and the password are one component here.
    size_t user = size(&uri.userInfo);
    size_t sum = size(&uri.scheme) + size(&uri.hostText) + (size(&uri.portText) > 0) + size(&uri.query) + size(&uri.fragment) +
                 user - (user > 0 && memchr(uri.userInfo.first, ':', user));
    for (const UriPathSegmentA *segment = uri.pathHead; segment; segment = segment->next) sum += 1 + size(&segment->text);
    uriFreeUriMembersA(&uri);
    return sum;
}
