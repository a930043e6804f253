/* The C functions as the Perl module Work_Queue::C, which Work_Queue.pm and Work_Queue/Task.pm call. Programs do not
 * use it. What has no use in Perl is left out, since every function costs time to compile and to load. */
%module "Work_Queue::C"

%{
#include <limits.h>
#include <poll.h>
#include <time.h>
#define CCTOOLS_NO_SHORT_NAMES  /* warn() and others are also names of Perl */
#include "cctools.h"
#include "debug.h"
#include "work_queue_factory.h"
%}

%immutable;
%nodefaultctor;
%nodefaultdtor;
%ignore rmsummary::snapshots;
%ignore work_queue_cancel_all_tasks;
%ignore work_queue_create;
%ignore work_queue_gather;
%ignore work_queue_generate_disk_alloc_full_filename;
%ignore work_queue_get_worker_summary;
%ignore work_queue_specify_debug_path;
%ignore work_queue_specify_tlq_port;
%ignore work_queue_task::env_list;
%ignore work_queue_task::features;
%ignore work_queue_task::input_files;
%ignore work_queue_task::output;
%ignore work_queue_task::output_files;
%ignore work_queue_task_output_size;
%ignore work_queue_task_specify_enviroment_variable;
%ignore work_queue_task_specify_input_buf;
%ignore work_queue_task_specify_input_file;
%ignore work_queue_task_specify_input_file_do_not_cache;
%ignore work_queue_task_specify_output_file;
%ignore work_queue_task_specify_output_file_do_not_cache;
%ignore work_queue_wait;
%ignore work_queue_wait_at_most;
%ignore work_queue_wait_for_tag;
%ignore work_queue_workers_summary;
%ignore wq_option_scheduler;
%rename("$ignore", regextarget=1) "^rmsummary_(?!(create|delete|set)$)";
%newobject work_queue_status;

/* Bytes, with NULs. */
%typemap(in) (const char* data, int length) {
    STRLEN length;
    $1 = SvPVbyte($input, length);
    if (length > INT_MAX) SWIG_croak("a buffer has less than 2 GiB: write it to a file, and give that as an input");
    $2 = (int)length;
}

%include "work_queue.h"
%include "work_queue_factory.h"

const char* cctools_version_string(void);
int cctools_debug_flags_set(const char* name);
void cctools_debug_config_file(const char* path);
void cctools_debug_config_file_size(off_t size);

%{
/* Perl runs its signal handlers between calls, so no call may take longer than a user who presses Ctrl-C notices. */
static const int longest_ms = 50;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void store_amount(HV* in, const char* name, double amount) {
    dTHX;
    (void)hv_store(in, name, (I32)strlen(name), newSVnv(amount), 0);
}
%}

%inline %{
/* The next ended task with this tag (NULL: any) after at most so many milliseconds; below 0: no limit, but NULL if there
 * is no such task. NULL as soon as a signal has come for which the program has a handler. */
static struct work_queue_task* wait_for_task(struct work_queue* q, const char* tag, int64_t milliseconds) {
    dTHX;
    const int64_t end = now_ms() + milliseconds;
    while (!tag && (milliseconds < 0 || now_ms() < end) && !PL_sig_pending && !work_queue_gather(q, longest_ms)) continue;
    for (;;) {
        const int64_t began = now_ms();
        const int64_t left = milliseconds < 0 ? longest_ms : end - began;
        const int slice = left < longest_ms ? (int)left : longest_ms;
        struct work_queue_task* ended = work_queue_wait_at_most(q, tag, slice);
        if (ended || PL_sig_pending || slice <= 0) return ended;
        const int64_t rest = slice - (now_ms() - began);
        if (rest > slice / 2 && milliseconds < 0) return NULL; /* at once: there is no such task */
        if (rest > 1) poll(NULL, 0, (int)rest);
    }
}

/* A task's output as bytes, with NULs. */
static SV* task_output(const struct work_queue_task* t) {
    dTHX;
    return sv_2mortal(t->output ? newSVpvn(t->output, work_queue_task_output_size(t)) : newSV(0));
}

static struct rmsummary* snapshot_of(const struct rmsummary* s, int n) {
    return s->snapshots[n];
}

static struct work_queue_stats* new_stats(void) {
    return calloc(1, sizeof(struct work_queue_stats));
}
static void delete_stats(struct work_queue_stats* stats) {
    free(stats);
}
static struct work_queue_factory_report* new_report(void) {
    return calloc(1, sizeof(struct work_queue_factory_report));
}
static void delete_report(struct work_queue_factory_report* report) {
    free(report);
}

/* An array of hashes: workers by their resources. */
static SV* summaries_of(struct work_queue* q) {
    dTHX;
    AV* const all = newAV();
    struct rmsummary** const groups = work_queue_workers_summary(q);
    for (int n = 0; groups && groups[n]; ++n) {
        HV* const group = newHV();
        store_amount(group, "workers", groups[n]->workers);
        store_amount(group, "cores", groups[n]->cores);
        store_amount(group, "memory", groups[n]->memory);
        store_amount(group, "disk", groups[n]->disk);
        store_amount(group, "gpus", groups[n]->gpus);
        av_push(all, newRV_noinc((SV*)group));
        rmsummary_delete(groups[n]);
    }
    free(groups);
    return sv_2mortal(newRV_noinc((SV*)all));
}
%}
