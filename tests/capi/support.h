/* What the C programs of these tests share: checks that name their line, a folder of their own, workers,
 * files. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed = 0;
static int checked = 0;

#define CHECK(what)                                                  \
    do {                                                             \
        ++checked;                                                   \
        if (!(what)) {                                               \
            ++failed;                                                \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #what); \
        }                                                            \
    } while (0)

#define CHECK_TEXT(text, wanted)                                                                          \
    do {                                                                                                  \
        const char* is = (text);                                                                          \
        ++checked;                                                                                        \
        if (!is || strcmp(is, (wanted)) != 0) {                                                           \
            ++failed;                                                                                     \
            printf("FAILED %s:%d: %s is '%s', not '%s'\n", __FILE__, __LINE__, #text, is ? is : "(NULL)", \
                   wanted);                                                                               \
        }                                                                                                 \
    } while (0)

static inline int under_valgrind(void) {
    const char* preloaded = getenv("LD_PRELOAD");
    return preloaded && strstr(preloaded, "vgpreload") != NULL;
}

/* What main() returns. */
static inline int verdict(const char* name) {
    printf("%s: %d checks, %d failed\n", name, checked, failed);
    return failed ? 1 : 0;
}

/* A folder of its own, in which the program is from now on. */
static inline void enter_folder(void) {
    const char* root = getenv("TMPDIR");
    static char folder[4096];
    snprintf(folder, sizeof folder, "%s/capi-XXXXXX", root ? root : "/tmp");
    if (!mkdtemp(folder) || chdir(folder) != 0) {
        perror(folder);
        exit(70);
    }
}
static inline void leave_folder(void) {
    char command[5000], here[4096];
    if (!getcwd(here, sizeof here) || chdir("/") != 0) return;
    snprintf(command, sizeof command, "rm -rf '%s'", here);
    CHECK(system(command) == 0);
}

static inline void write_file(const char* name, const char* text) {
    FILE* file = fopen(name, "w");
    CHECK(file != NULL);
    if (!file) return;
    fputs(text, file);
    fclose(file);
}
/* Up to 4095 bytes; "" where there is none. */
static inline const char* read_file(const char* name) {
    static char text[4096];
    FILE* file = fopen(name, "r");
    const size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[bytes] = '\0';
    if (file) fclose(file);
    return text;
}
static inline int is_there(const char* name) {
    struct stat found;
    return stat(name, &found) == 0;
}

/* $WORKER with these words, ended by NULL. */
static inline pid_t start_worker(const char* const* words) {
    const char* all[32] = {getenv("WORKER"), "--cores", "2", "-s", ".", "-t", "60", "-b", "2"};
    int count = 9;
    while (words[count - 9] && count < 31) all[count] = words[count - 9], ++count;
    all[count] = NULL;
    const pid_t worker = fork();
    if (worker == 0) {
        const int nothing = open("worker.log", O_WRONLY | O_CREAT | O_APPEND, 0666);
        dup2(nothing, STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        execv(all[0], (char* const*)all);
        _exit(127);
    }
    return worker;
}
static inline pid_t start_worker_at(int port) {
    char number[16];
    snprintf(number, sizeof number, "%d", port);
    const char* words[] = {"localhost", number, NULL};
    return start_worker(words);
}
static inline void end_worker(pid_t worker) {
    int status = 0;
    kill(worker, SIGTERM);
    waitpid(worker, &status, 0);
}

/* What the calls between these two say on stderr. */
static int stderr_was = -1;
static inline void begin_stderr(void) {
    fflush(stderr);
    stderr_was = dup(STDERR_FILENO);
    const int file = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(file, STDERR_FILENO);
    close(file);
}
static inline const char* end_stderr(void) {
    fflush(stderr);
    dup2(stderr_was, STDERR_FILENO);
    close(stderr_was);
    return read_file("stderr.txt");
}

/* The call is a misuse: its value is `value`, and it says one line that begins with `line`. */
#define CHECK_REFUSED(call, value, line)                                             \
    do {                                                                             \
        begin_stderr();                                                              \
        const int as_wanted = (call) == (value);                                     \
        const char* refusal = end_stderr();                                          \
        CHECK(as_wanted);                                                            \
        CHECK(refusal[0] && strchr(refusal, '\n') == refusal + strlen(refusal) - 1); \
        if (strncmp(refusal, (line), strlen(line)) != 0) CHECK_TEXT(refusal, line);  \
    } while (0)

#endif
