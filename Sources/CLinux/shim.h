// Linux interfaces that Swift's Glibc module leaves out.
#include <pthread.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>

// <pthread.h>, <spawn.h> and <unistd.h> declare these functions for _GNU_SOURCE only, which the Glibc module does not
// define.
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
extern int pthread_setname_np(pthread_t thread, const char *name);
extern int pipe2(int ends[2], int flags);
enum { SPAWN_SETSID = 0x80 };  // POSIX_SPAWN_SETSID

// prctl takes a variable number of arguments, so Swift cannot call it.
static inline int set_parent_death_signal(int signal) { return prctl(PR_SET_PDEATHSIG, (unsigned long)signal); }
