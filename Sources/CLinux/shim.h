// Linux interfaces that Swift's Glibc module leaves out.
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
