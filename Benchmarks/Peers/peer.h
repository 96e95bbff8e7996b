// The functions of a peer of compare-url: a shared object that parses URLs with the library of another project.
#ifndef PEER_H
#define PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// The name and the version of the library.
const char *peer_name(void);

// Parses one URL, and returns 1, or 0 for text that is not a URL to this library.
size_t peer_parse(const char *text, size_t length);

// Parses one URL, reads all its components, and returns the number of their bytes.
//
// The components are the scheme, the user, the password, the host, the path with its parameters, the query and the fragment,
// without the separators between them. A port counts as one byte.
size_t peer_parse_components(const char *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
