// Runs a program, and adds the names of the functions that it has called to a file when it ends.
//
// Usage: record-calls FUNCTIONS FILE PROGRAM [ARGUMENT ...], where FUNCTIONS is the output of `nm --defined-only --no-sort PROGRAM`.
//
// Each function begins with a breakpoint, which its first call removes. The program therefore soon runs at its usual speed.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

struct function {
    uint64_t address;
    char *name;
    uint8_t byte;
    char isCalled;
};
static struct function *functions;
static size_t count;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int byAddress(const void *a, const void *b) {
    uint64_t left = ((const struct function *)a)->address, right = ((const struct function *)b)->address;
    return left < right ? -1 : left > right;
}

static void readFunctions(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0) {
        struct function function = {0};
        char type;
        // The names of other symbols may contain spaces.
        if (sscanf(line, "%lx %c %ms", &function.address, &type, &function.name) != 3 || !strchr("tTwW", type)) continue;
        functions = realloc(functions, (count + 1) * sizeof *functions);
        if (!functions) fail("memory");
        functions[count++] = function;
    }
    free(line);
    fclose(file);
    qsort(functions, count, sizeof *functions, byAddress);
}

static uint64_t programBase(pid_t child) {
    char path[64];
    uint64_t base;
    snprintf(path, sizeof path, "/proc/%d/maps", child);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%lx", &base) != 1) fail(path);
    fclose(file);
    return base;
}

static struct function *functionAt(uint64_t address) {
    struct function key = {.address = address};
    return bsearch(&key, functions, count, sizeof *functions, byAddress);
}

int main(int argumentCount, char **arguments) {
    if (argumentCount < 4) return 64;
    readFunctions(arguments[1]);
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(arguments[3], arguments + 3);
        fail(arguments[3]);
    }
    int status;
    if (waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status)) fail("waitpid");
    ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    uint64_t base = programBase(child);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", child);
    FILE *memory = fopen(path, "r+");
    if (!memory) fail(path);
    setvbuf(memory, NULL, _IONBF, 0);
    int file = fileno(memory);
    const uint8_t trap = 0xcc;
    for (size_t index = 0; index < count; index++) {
        struct function *function = &functions[index];
        off_t place = (off_t)(base + function->address);
        // Functions with the same code share their address.
        if (index && function[-1].address == function->address) function->byte = function[-1].byte;
        else if (pread(file, &function->byte, 1, place) != 1 || pwrite(file, &trap, 1, place) != 1) fail(function->name);
    }
    ptrace(PTRACE_CONT, child, NULL, NULL);

    int end = 1;
    for (;;) {
        pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) break;
        if (!WIFSTOPPED(status)) {
            if (thread == child) end = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
            continue;
        }
        int signal = WSTOPSIG(status);
        struct user_regs_struct registers;
        if (signal == SIGSTOP || status >> 16) {
            // A thread begins.
            signal = 0;
        } else if (signal == SIGTRAP && ptrace(PTRACE_GETREGS, thread, NULL, &registers) == 0) {
            struct function *function = functionAt(registers.rip - 1 - base);
            if (function) {
                uint64_t address = function->address;
                if (pwrite(file, &function->byte, 1, (off_t)(base + address)) != 1) fail(function->name);
                while (function > functions && function[-1].address == address) function--;
                for (; function < functions + count && function->address == address; function++) function->isCalled = 1;
                registers.rip--;
                ptrace(PTRACE_SETREGS, thread, NULL, &registers);
                signal = 0;
            }
        }
        ptrace(PTRACE_CONT, thread, NULL, signal);
    }
    FILE *output = fopen(arguments[2], "a");
    if (!output) fail(arguments[2]);
    for (size_t index = 0; index < count; index++)
        if (functions[index].isCalled) fprintf(output, "%s\n", functions[index].name);
    return fclose(output) || end;
}
