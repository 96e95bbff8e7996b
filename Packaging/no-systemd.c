// The functions of libsystemd that libdbus calls, for the release build, which has no libsystemd.
//
// A server at the address `systemd:` takes the sockets that systemd has opened for it. The programs never listen at such an
// address.

int sd_listen_fds(int unset_environment) {
    (void)unset_environment;
    return 0;
}

int sd_is_socket(int descriptor, int family, int type, int listening) {
    (void)descriptor;
    (void)family;
    (void)type;
    (void)listening;
    return 0;
}
