/* The floor under all task runners: posix_spawn and wait of one command, WIDTH at once, nothing recorded.
 * floor cores WIDTH COUNT COMMAND...   WIDTH processes with one at once each; output to /dev/null, waitpid
 * floor null WIDTH COUNT COMMAND...    the same in one process
 * floor pipes WIDTH COUNT COMMAND...   both outputs read to their end through pipes, wait4 for the usage
 * Exit code 1 when a task failed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

struct task {
    pid_t pid;
    int out[2]; /* ends that we read: stdout, stderr; -1 once at their end */
};

static void die(const char* what, int error) {
    fprintf(stderr, "floor: %s: %s\n", what, strerror(error));
    exit(70);
}

static pid_t spawn(char** command, const int* outputs) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (outputs) {
        posix_spawn_file_actions_adddup2(&actions, outputs[0], 1);
        posix_spawn_file_actions_adddup2(&actions, outputs[1], 2);
    } else {
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, 1, 2);
    }
    pid_t pid = 0;
    const int error = posix_spawn(&pid, command[0], &actions, NULL, command, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) die(command[0], error);
    return pid;
}

static int run_null(int width, long count, char** command) {
    int failed = 0, running = 0;
    for (long begun = 0; begun < count || running > 0;) {
        if (begun < count && running < width) {
            spawn(command, NULL);
            ++begun, ++running;
            continue;
        }
        int status = 0;
        if (waitpid(-1, &status, 0) < 0) die("waitpid", errno);
        failed |= status != 0;
        --running;
    }
    return failed;
}

/* A process that waits for its child to execute starts nothing meanwhile: so one for each core. */
static int run_cores(int width, long count, char** command) {
    int failed = 0;
    for (int i = 0; i < width; ++i) {
        const pid_t pid = fork();
        if (pid < 0) die("fork", errno);
        if (pid == 0) _exit(run_null(1, count / width + (i < count % width), command));
    }
    for (int i = 0; i < width; ++i) {
        int status = 0;
        if (wait(&status) < 0) die("wait", errno);
        failed |= status != 0;
    }
    return failed;
}

static void begin(struct task* task, char** command) {
    int ends[2];
    for (int i = 0; i < 2; ++i) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) < 0) die("pipe", errno);
        task->out[i] = pair[0];
        ends[i] = pair[1];
    }
    task->pid = spawn(command, ends);
    close(ends[0]);
    close(ends[1]);
}

/* Reads what is there; at the end of both outputs reaps the task. Returns 1 when it has ended. */
static int advance(struct task* task, const struct pollfd* polled, int* failed) {
    static char buffer[65536];
    for (int i = 0; i < 2; ++i) {
        if (!polled[i].revents || task->out[i] < 0) continue;
        if (read(task->out[i], buffer, sizeof buffer) > 0) continue;
        close(task->out[i]);
        task->out[i] = -1;
    }
    if (task->out[0] >= 0 || task->out[1] >= 0) return 0;
    int status = 0;
    struct rusage usage;
    if (wait4(task->pid, &status, 0, &usage) < 0) die("wait4", errno);
    *failed |= status != 0;
    return 1;
}

static int run_pipes(int width, long count, char** command) {
    struct task* tasks = calloc((size_t)width, sizeof *tasks);
    struct pollfd* polled = calloc((size_t)width * 2, sizeof *polled);
    int failed = 0, running = 0;
    for (long begun = 0; begun < count || running > 0;) {
        while (begun < count && running < width) {
            begin(&tasks[running++], command);
            ++begun;
        }
        for (int i = 0; i < running * 2; ++i)
            polled[i] = (struct pollfd){.fd = tasks[i / 2].out[i % 2], .events = POLLIN};
        if (poll(polled, (nfds_t)running * 2, -1) < 0) die("poll", errno);
        for (int i = running - 1; i >= 0; --i)
            if (advance(&tasks[i], &polled[i * 2], &failed)) tasks[i] = tasks[--running];
    }
    free(tasks);
    free(polled);
    return failed;
}

int main(int argc, char** argv) {
    if (argc < 5) return 64;
    const int width = atoi(argv[2]);
    const long count = atol(argv[3]);
    if (width < 1 || count < 0) return 64;
    if (strcmp(argv[1], "cores") == 0) return run_cores(width, count, argv + 4);
    return strcmp(argv[1], "pipes") == 0 ? run_pipes(width, count, argv + 4)
                                         : run_null(width, count, argv + 4);
}
