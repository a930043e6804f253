// Preloaded: kills its process by SIGKILL right before its KILL_AT_STEP-th step. A step creates, writes,
// renames or syncs a file below the folder KILL_BELOW, or, once a file there was opened, sends to another
// process. Child processes are not affected.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static pid_t victim;
static long last_step;
static long steps;
static int opened;
static char below[PATH_MAX];

// Ours is the last preloaded library.
static void hide(void) {
    char* const all = getenv("LD_PRELOAD");
    char* const last = all == NULL ? NULL : strrchr(all, ':');
    if (last != NULL)
        *last = '\0';
    else
        unsetenv("LD_PRELOAD");
}

__attribute__((constructor)) static void begin(void) {
    const char* const at = getenv("KILL_AT_STEP");
    const char* const folder = getenv("KILL_BELOW");
    if (at == NULL || folder == NULL) return;
    last_step = atol(at);
    snprintf(below, sizeof below, "%s", folder);
    victim = getpid();
    hide();
}

static void step(void) {
    if (__atomic_add_fetch(&steps, 1, __ATOMIC_SEQ_CST) == last_step) kill(victim, SIGKILL);
}

static int is_below(int folder, const char* name) {
    char path[PATH_MAX] = "";
    if (victim == 0 || getpid() != victim) return 0;
    if (name == NULL || name[0] != '/') {
        char link[64];
        snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
        const ssize_t length = readlink(link, path, sizeof path - 1);
        path[length < 0 ? 0 : length] = '\0';
        name = path;
    }
    return strncmp(name, below, strlen(below)) == 0;
}

static void file_step(int folder, const char* name) {
    if (is_below(folder, name)) step();
}

static void send_step(void) {
    if (getpid() == victim && __atomic_load_n(&opened, __ATOMIC_SEQ_CST)) step();
}

static void open_step(int folder, const char* name, int flags) {
    if (!is_below(folder, name)) return;
    __atomic_store_n(&opened, 1, __ATOMIC_SEQ_CST);
    if ((flags & O_ACCMODE) != O_RDONLY) step();
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    open_step(AT_FDCWD, path, flags);
    return REAL(int, open, const char*, int, ...)(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    open_step(folder, path, flags);
    return REAL(int, openat, int, const char*, int, ...)(folder, path, flags, mode);
}
int mkdir(const char* path, mode_t mode) {
    file_step(AT_FDCWD, path);
    return REAL(int, mkdir, const char*, mode_t)(path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) {
    file_step(folder, path);
    return REAL(int, mkdirat, int, const char*, mode_t)(folder, path, mode);
}
int linkat(int from, const char* path, int folder, const char* name, int flags) {
    file_step(folder, name);
    return REAL(int, linkat, int, const char*, int, const char*, int)(from, path, folder, name, flags);
}
int symlinkat(const char* target, int folder, const char* name) {
    file_step(folder, name);
    return REAL(int, symlinkat, const char*, int, const char*)(target, folder, name);
}
int rename(const char* from, const char* to) {
    file_step(AT_FDCWD, to);
    return REAL(int, rename, const char*, const char*)(from, to);
}
int renameat(int from, const char* path, int folder, const char* name) {
    file_step(folder, name);
    return REAL(int, renameat, int, const char*, int, const char*)(from, path, folder, name);
}
int renameat2(int from, const char* path, int folder, const char* name, unsigned flags) {
    file_step(folder, name);
    return REAL(int, renameat2, int, const char*, int, const char*, unsigned)(from, path, folder, name,
                                                                              flags);
}
int fchmod(int file, mode_t mode) {
    file_step(file, NULL);
    return REAL(int, fchmod, int, mode_t)(file, mode);
}
int fsync(int file) {
    file_step(file, NULL);
    return REAL(int, fsync, int)(file);
}
int syncfs(int file) {
    file_step(file, NULL);
    return REAL(int, syncfs, int)(file);
}
ssize_t write(int file, const void* bytes, size_t size) {
    file_step(file, NULL);
    return REAL(ssize_t, write, int, const void*, size_t)(file, bytes, size);
}
ssize_t copy_file_range(int from, off64_t* at, int file, off64_t* to, size_t size, unsigned flags) {
    file_step(file, NULL);
    return REAL(ssize_t, copy_file_range, int, off64_t*, int, off64_t*, size_t, unsigned)(from, at, file, to,
                                                                                          size, flags);
}
ssize_t send(int socket, const void* bytes, size_t size, int flags) {
    send_step();
    return REAL(ssize_t, send, int, const void*, size_t, int)(socket, bytes, size, flags);
}
ssize_t sendmsg(int socket, const struct msghdr* message, int flags) {
    send_step();
    return REAL(ssize_t, sendmsg, int, const struct msghdr*, int)(socket, message, flags);
}
