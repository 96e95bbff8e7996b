// Linux interfaces that Swift's Glibc module leaves out.
#include <fcntl.h>
#include <libintl.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

// <pthread.h>, <spawn.h> and <unistd.h> declare these functions only for _GNU_SOURCE, which the Glibc module does not
// define.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pipe2(int ends[2], int flags);

// <sys/mman.h> declares memfd_create only for _GNU_SOURCE.
extern int memfd_create(const char *name, unsigned int flags);
static inline int make_memory_file(const char *name) {
    return memfd_create(name, 1);  // MFD_CLOEXEC
}
enum { SPAWN_SETSID = 0x80 };  // POSIX_SPAWN_SETSID

// <sys/resource.h> declares prlimit only for _GNU_SOURCE.
extern int prlimit(pid_t pid, int resource, const struct rlimit *limit, struct rlimit *before);
static inline int set_descriptor_limit(pid_t pid, const struct rlimit *limit) {
    return prlimit(pid, RLIMIT_NOFILE, limit, 0);
}

// fcntl takes a variable number of arguments, so Swift cannot call it with these. <fcntl.h> declares F_SETSIG only for
// _GNU_SOURCE.
//
// Makes the kernel send a signal to a process whenever the descriptor becomes readable or its other end is closed. This
// state belongs to the open file, which several processes may share.
static inline int signal_process(pid_t process, int signal, int descriptor) {
    enum { SET_SIGNAL = 10 };  // F_SETSIG
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETOWN, process) || fcntl(descriptor, SET_SIGNAL, signal)) return -1;
    return fcntl(descriptor, F_SETFL, flags | O_ASYNC);
}

// Returns 1 if the descriptor is in the state that the function above sets.
static inline int signals_process(pid_t process, int signal, int descriptor) {
    enum { GET_SIGNAL = 11 };  // F_GETSIG
    int flags = fcntl(descriptor, F_GETFL);
    return flags >= 0 && flags & O_ASYNC && fcntl(descriptor, F_GETOWN) == process
        && fcntl(descriptor, GET_SIGNAL) == signal;
}

// Ends the descriptor's signals.
static inline int signal_no_process(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags & ~O_ASYNC);
}

// prctl takes a variable number of arguments, so Swift cannot call it.
//
// From now on, no program that this process executes gets more privileges than it has itself.
static inline int refuse_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

// <fcntl.h> declares O_PATH only for _GNU_SOURCE. Its value is the same on all machines for which Swift is built.
enum { OPEN_PATH = 010000000 };

// <unistd.h> declares copy_file_range only for _GNU_SOURCE. An off_t has 64 bits on all machines for which Swift is built.
extern ssize_t copy_file_range(int from, off_t *start, int to, off_t *position, size_t count, unsigned int flags);

// <unistd.h> declares SEEK_DATA and SEEK_HOLE only for _GNU_SOURCE.
enum { SEEK_TO_DATA = 3, SEEK_TO_HOLE = 4 };

// <fcntl.h> declares O_TMPFILE only for _GNU_SOURCE. If you open a file with it, the file has no name.
enum { OPEN_UNNAMED = 020000000 | O_DIRECTORY };

// Swift does not let concurrent code use the variable stdout.
static inline void buffer_standard_output_by_line(void) { setvbuf(stdout, NULL, _IOLBF, 0); }

// <sys/socket.h> declares accept4 only for _GNU_SOURCE. The kernel's own flags are those of open(2).
extern int accept4(int socket, struct sockaddr *address, socklen_t *size, int flags);
static inline int accept_nonblocking(int socket) { return accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

// gettext returns its own argument if there is no translation, and Swift passes a copy of a string that ends with the call. So
// these functions return NULL instead. A locale is set only for the duration of a call, and only for its thread: otherwise,
// the texts of the system's errors would be translated everywhere.
static inline locale_t user_message_locale(void) { return newlocale(LC_MESSAGES_MASK, "", (locale_t)0); }
static inline const char *translation_of(locale_t locale, const char *domain, const char *text) {
    locale_t before = uselocale(locale);
    const char *found = dgettext(domain, text);
    uselocale(before);
    return found == text ? NULL : found;
}
static inline const char *plural_translation_of(locale_t locale, const char *domain, const char *one, const char *other,
                                                unsigned long count) {
    locale_t before = uselocale(locale);
    const char *found = dngettext(domain, one, other, count);
    uselocale(before);
    return found == one || found == other ? NULL : found;
}

// Swift's concurrency runtime lets a program replace the executor of the main actor, but no header declares the functions
// for it. The runtime's own functions have Swift's calling convention.
#define SWIFT_CALL __attribute__((swiftcall))
struct swift_executor {
    const void *identity;
    const void *implementation;
};
typedef SWIFT_CALL struct swift_executor (*swift_main_executor)(void);
typedef SWIFT_CALL _Bool (*swift_is_main_executor)(struct swift_executor executor);
typedef SWIFT_CALL void (*swift_drain_main)(void);
extern SWIFT_CALL struct swift_executor (*swift_task_getMainExecutor_hook)(swift_main_executor original);
extern SWIFT_CALL _Bool (*swift_task_isMainExecutor_hook)(struct swift_executor executor, swift_is_main_executor original);
extern SWIFT_CALL void (*swift_task_asyncMainDrainQueue_hook)(swift_drain_main original, const void *compatibility);

// The executor that replaces that of the main actor, and the function that runs its jobs on the main thread. Only the
// functions below use this variable, because each object file with these functions has its own copy.
struct main_thread {
    struct swift_executor executor;
    void (*run)(const void *identity);
};
static inline struct main_thread *main_thread(void) {
    static struct main_thread value;
    return &value;
}
static inline SWIFT_CALL struct swift_executor replaced_main_executor(swift_main_executor original) {
    return main_thread()->executor;
}
static inline SWIFT_CALL _Bool is_any_main_executor(struct swift_executor executor, swift_is_main_executor original) {
    return executor.identity == main_thread()->executor.identity || original(executor);
}
static inline SWIFT_CALL void take_main_thread(swift_drain_main original, const void *compatibility) {
    // Other threads may be reading the hooks, which is safe because a pointer is read and written as a whole.
    __atomic_store_n(&swift_task_isMainExecutor_hook, is_any_main_executor, __ATOMIC_RELEASE);
    __atomic_store_n(&swift_task_getMainExecutor_hook, replaced_main_executor, __ATOMIC_RELEASE);
    main_thread()->run(main_thread()->executor.identity);
}

// Makes the main thread of a program with an async `main` call `run`, which does not return, as soon as `main` waits for
// the first time. From then on the main actor has this executor. Does nothing if `main` has waited already, or is not
// async.
static inline void replace_main_executor(struct swift_executor executor, void (*run)(const void *identity)) {
    *main_thread() = (struct main_thread){executor, run};
    __atomic_store_n(&swift_task_asyncMainDrainQueue_hook, take_main_thread, __ATOMIC_RELEASE);
}

// The runtime also lets a program choose where jobs run that belong to no executor. Normally they run on libdispatch's threads.
typedef SWIFT_CALL void (*swift_enqueue_global)(void *job);
extern SWIFT_CALL void (*swift_task_enqueueGlobal_hook)(void *job, swift_enqueue_global original);
struct global_jobs {
    void (*enqueue)(void *job, const void *context);
    const void *context;
};
static inline struct global_jobs *global_jobs(void) {
    static struct global_jobs value;
    return &value;
}
static inline SWIFT_CALL void pass_global_job(void *job, swift_enqueue_global original) {
    global_jobs()->enqueue(job, global_jobs()->context);
}

// From now on, `enqueue` gets these jobs.
static inline void replace_global_executor(void (*enqueue)(void *job, const void *context), const void *context) {
    *global_jobs() = (struct global_jobs){enqueue, context};
    __atomic_store_n(&swift_task_enqueueGlobal_hook, pass_global_job, __ATOMIC_RELEASE);
}

// libdispatch has these functions for run loops that own the main thread, but no installed header declares them. The
// descriptor is readable when the main queue has blocks to run; the function runs them, on the main thread.
extern int _dispatch_get_main_queue_handle_4CF(void);
extern void _dispatch_main_queue_callback_4CF(void *message);

// ioctl takes a variable number of arguments. Returns the user who made a user namespace, or -1 (ioctl_nsfs(2)).
#include <linux/nsfs.h>
#include <sys/ioctl.h>
static inline long long owner_of_user_namespace(int descriptor) {
    uid_t user;
    return ioctl(descriptor, NS_GET_OWNER_UID, &user) ? -1 : (long long)user;
}
