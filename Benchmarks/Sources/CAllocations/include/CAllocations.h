/// Returns the number of allocations that this thread has made so far.
unsigned long allocations_so_far(void);
