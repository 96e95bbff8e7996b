// The parser of Node.js: https://github.com/ada-url/ada
#include "peer.h"
#include <ada.h>
#include <string_view>

static size_t after_separator(std::string_view text) { return text.empty() ? 0 : text.size() - 1; }

const char *peer_name(void) { return "ada " ADA_VERSION; }

size_t peer_parse(const char *text, size_t length) {
    return ada::parse<ada::url_aggregator>(std::string_view(text, length)).has_value();
}

size_t peer_parse_components(const char *text, size_t length) {
    auto url = ada::parse<ada::url_aggregator>(std::string_view(text, length));
    if (!url) return 0;
    return after_separator(url->get_protocol()) + url->get_username().size() + url->get_password().size() +
           url->get_hostname().size() + !url->get_port().empty() + url->get_pathname().size() +
           after_separator(url->get_search()) + after_separator(url->get_hash());
}
