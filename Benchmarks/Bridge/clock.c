/* Shifts the system's clock for the programs of Benchmarks/bridge.py, which load it with LD_PRELOAD, by CLOCK_SHIFT seconds.

   All other clocks stay as they are, so that time limits work. A timer for a time on the system's clock is shifted back. */

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static time_t shift(void) {
    const char *text = getenv("CLOCK_SHIFT");
    return text ? atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *now, void *zone) {
    int result = (int)syscall(SYS_gettimeofday, now, zone);
    if (result == 0) now->tv_sec += shift();
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int timerfd_settime(int timer, int flags, const struct itimerspec *new, struct itimerspec *old) {
    struct itimerspec time = *new;
    /* Only timers for the system's clock can be cancelled when it is set. A time of zero unsets the timer. */
    if (flags & TFD_TIMER_CANCEL_ON_SET && time.it_value.tv_sec > shift()) time.it_value.tv_sec -= shift();
    return (int)syscall(SYS_timerfd_settime, timer, flags, &time, old);
}
