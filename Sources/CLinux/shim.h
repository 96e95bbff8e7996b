// Linux interfaces that Swift's Glibc module leaves out.
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <unistd.h>

// <pthread.h>, <spawn.h> and <unistd.h> declare these functions for _GNU_SOURCE only, which the Glibc module does not
// define.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pipe2(int ends[2], int flags);
enum { SPAWN_SETSID = 0x80 };  // POSIX_SPAWN_SETSID

// <sys/resource.h> declares prlimit for _GNU_SOURCE only.
extern int prlimit(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *before);
static inline int set_descriptor_limit(pid_t pid, const struct rlimit *limit) {
    return prlimit(pid, RLIMIT_NOFILE, limit, 0);
}

// fcntl takes a variable number of arguments, so Swift cannot call it with these. <fcntl.h> declares F_SETSIG for _GNU_SOURCE
// only.
//
// Makes the kernel send a signal to this process whenever the descriptor becomes readable, or its other end is closed.
static inline int signal_this_process(int signal, int descriptor) {
    enum { SET_SIGNAL = 10 };  // F_SETSIG
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETOWN, getpid()) || fcntl(descriptor, SET_SIGNAL, signal)) return -1;
    return fcntl(descriptor, F_SETFL, flags | O_ASYNC);
}

// <fcntl.h> declares O_PATH for _GNU_SOURCE only. The value is that of all machines for which Swift is built.
enum { OPEN_PATH = 010000000 };

// <unistd.h> declares copy_file_range for _GNU_SOURCE only. An off_t has 64 bits on all machines for which Swift is built.
extern ssize_t copy_file_range(int from, off_t *start, int to, off_t *position, size_t count, unsigned int flags);

// <fcntl.h> declares O_TMPFILE for _GNU_SOURCE only. A file that is opened with it has no name.
enum { OPEN_UNNAMED = 020000000 | O_DIRECTORY };

// Swift does not let concurrent code use the variable stdout.
static inline void buffer_standard_output_by_line(void) { setvbuf(stdout, NULL, _IOLBF, 0); }
