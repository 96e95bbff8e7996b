// libcurl, with its functions of a variable number of arguments in the forms that Swift can call.
#include <curl/curl.h>

static inline CURLcode curl_set_number(CURL *curl, CURLoption option, long value) {
    return curl_easy_setopt(curl, option, value);
}

static inline CURLcode curl_set_pointer(CURL *curl, CURLoption option, void *value) {
    return curl_easy_setopt(curl, option, value);
}

static inline CURLcode curl_set_text(CURL *curl, CURLoption option, const char *value) {
    return curl_easy_setopt(curl, option, value);
}

static inline CURLcode curl_set_list(CURL *curl, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(curl, option, value);
}

static inline CURLcode curl_set_receiver(CURL *curl, CURLoption option,
                                         size_t (*receiver)(char *, size_t, size_t, void *)) {
    return curl_easy_setopt(curl, option, receiver);
}

static inline CURLcode curl_set_socket_maker(
    CURL *curl, curl_socket_t (*maker)(void *, curlsocktype, struct curl_sockaddr *)) {
    return curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, maker);
}

static inline long curl_status(CURL *curl) {
    long status = 0;
    return curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

static inline const char *curl_content_type(CURL *curl) {
    const char *type = 0;
    return curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK ? type : 0;
}
