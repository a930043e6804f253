/* Values beside queues: summaries of resources, lists, times, the debug log. */
#include <category.h>
#include <cctools.h>
#include <errno.h>
#include <int_sizes.h>
#include <list.h>
#include <rmsummary.h>
#include <timestamp.h>
#define CCTOOLS_NO_SHORT_NAMES
#include <debug.h>

#include "support.h"

static void summaries(void) {
    struct rmsummary* r = rmsummary_create(-1);
    CHECK(r && r->cores == -1 && r->memory == -1 && r->category == NULL && r->limits_exceeded == NULL);
    CHECK(rmsummary_set(r, "cores", 2) == 1 && r->cores == 2 && rmsummary_get(r, "cores") == 2);
    CHECK_REFUSED(rmsummary_set(r, "teeth", 2), 0, "rmsummary_set: unknown resource 'teeth'");
    CHECK_REFUSED(rmsummary_get(r, "teeth"), -1, "rmsummary_get: unknown resource 'teeth'");
    CHECK_REFUSED(rmsummary_get(NULL, "cores"), -1, "rmsummary_get: the summary is NULL");
    CHECK_REFUSED(rmsummary_set(NULL, "cores", 1), 0, "rmsummary_set: the summary is NULL");

    r->category = strdup("alike");
    r->limits_exceeded = rmsummary_create(-1);
    r->limits_exceeded->memory = 100;
    r->snapshots = calloc(1, sizeof *r->snapshots);
    r->snapshots[0] = rmsummary_create(5);
    r->snapshots_count = 1;
    struct rmsummary* shallow = rmsummary_copy(r, 0);
    struct rmsummary* deep = rmsummary_copy(r, 1);
    rmsummary_delete(r);
    CHECK_TEXT(shallow->category, "alike");
    CHECK(shallow->cores == 2 && shallow->limits_exceeded == NULL && shallow->snapshots_count == 0);
    CHECK(deep->limits_exceeded && deep->limits_exceeded->memory == 100);
    CHECK(deep->snapshots_count == 1 && deep->snapshots[0]->disk == 5);

    struct rmsummary* other = rmsummary_create(-1);
    other->cores = 1;
    other->memory = 50;
    rmsummary_merge_max(shallow, other);
    CHECK(shallow->cores == 2 && shallow->memory == 50 && shallow->disk == -1);
    other->disk = 7;
    rmsummary_merge_min(shallow, other);
    CHECK(shallow->cores == 1 && shallow->memory == 50 && shallow->disk == 7);
    other->memory = -1;
    other->cores = 9;
    rmsummary_merge_override(shallow, other);
    CHECK(shallow->cores == 9 && shallow->memory == 50);
    rmsummary_add(shallow, other);
    CHECK(shallow->cores == 18 && shallow->memory == 50 && shallow->gpus == -1);
    CHECK_REFUSED((rmsummary_add(NULL, other), 0), 0, "rmsummary_add: the summary is NULL");
    rmsummary_delete(shallow);
    rmsummary_delete(deep);
    rmsummary_delete(other);
    rmsummary_delete(NULL);
    CHECK(rmsummary_copy(NULL, 1) == NULL);

    const char** names = rmsummary_list_resources();
    int has_memory = 0;
    for (size_t i = 0; i < rmsummary_num_resources(); ++i) {
        has_memory += strcmp(names[i], "memory") == 0;
        CHECK(rmsummary_resource_units(names[i]) != NULL);
    }
    CHECK(has_memory == 1);
    CHECK_TEXT(rmsummary_resource_units("wall_time"), "s");
    CHECK_REFUSED(rmsummary_resource_units("teeth"), NULL, "rmsummary_resource_units: ");
}

static void lists(void) {
    int one = 1, two = 2, three = 3;
    struct list* all = list_create();
    CHECK(list_size(all) == 0 && list_pop_head(all) == NULL && list_peek_tail(all) == NULL);
    CHECK(list_push_tail(all, &two) == 1 && list_push_tail(all, &three) == 1 &&
          list_push_head(all, &one) == 1);
    CHECK(list_size(all) == 3 && list_peek_head(all) == &one && list_peek_tail(all) == &three);
    list_first_item(all);
    CHECK(list_next_item(all) == &one && list_next_item(all) == &two && list_next_item(all) == &three);
    CHECK(list_next_item(all) == NULL);
    CHECK(list_pop_head(all) == &one && list_pop_tail(all) == &three && list_pop_tail(all) == &two);
    list_delete(all);
    list_delete(NULL);
    list_first_item(NULL);
    CHECK(list_size(NULL) == 0 && list_push_head(NULL, &one) == 0 && list_push_tail(NULL, &one) == 0);
    CHECK(list_pop_head(NULL) == NULL && list_pop_tail(NULL) == NULL && list_next_item(NULL) == NULL);
}

static void debug_lines(void) {
    cctools_debug_config("the program");
    CHECK(cctools_debug_flags_set("user") == 1);
    CHECK_REFUSED(cctools_debug_flags_set("nonsense"), 0,
                  "cctools_debug_flags_set: unknown subsystem 'nonsense'");
    begin_stderr();
    cctools_debug(D_USER, "number %d", 1);
    cctools_debug(D_TCP, "number %d", 2);
    const char* said = end_stderr();
    CHECK(strstr(said, "the program[") && strstr(said, "user: number 1\n") && !strstr(said, "number 2"));

    cctools_debug_config_file("log");
    cctools_debug_config_file_size(1 << 20);
    CHECK_REFUSED((cctools_debug_config_file("no-such-folder/log"), 0), 0, "cctools_debug_config_file: ");
    const int64_t were = cctools_debug_flags_clear();
    CHECK(were == D_USER);
    cctools_debug(D_USER, "off");
    begin_stderr();
    cctools_notice(D_NOTICE, "noticed");
    cctools_warn(D_ERROR, "warned");
    said = end_stderr();
    CHECK(strstr(said, "noticed\n") && strstr(said, "warned\n"));
    cctools_debug_flags_restore(were);
    cctools_debug(D_USER, "on again");
    CHECK(!strstr(read_file("log"), "off") && strstr(read_file("log"), "on again\n"));
    CHECK(cctools_debug_flags_set("clear") == 1 && cctools_debug_flags_clear() == 0);

    FILE* names = fopen("names", "w");
    cctools_debug_flags_print(names);
    fclose(names);
    CHECK(strstr(read_file("names"), "wq ") && strstr(read_file("names"), "all "));

    const pid_t child = fork();
    if (child == 0) {
        CHECK(freopen("fatal.txt", "w", stderr) != NULL);
        cctools_fatal("the %s", "end");
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1 && strstr(read_file("fatal.txt"), "the end\n"));
}

static void versions(void) {
    const char* version = cctools_version_string();
    CHECK(cctools_version_cmp(version, version) == 0);
    CHECK(cctools_version_cmp("0.9.1", "0.10") < 0 && cctools_version_cmp("1.2", "1.1.9") > 0);
    CHECK(cctools_version_cmp("1.2", "1.2.0") == 0 && cctools_version_cmp(NULL, "0.0.1") < 0);

    char line[100];
    snprintf(line, sizeof line, "me version %s (Work Queue)\n", version);
    FILE* file = fopen("version", "w");
    cctools_version_print(file, "me");
    fclose(file);
    CHECK_TEXT(read_file("version"), line);
    cctools_version_print(NULL, "me");

    cctools_debug_config_file(NULL);
    CHECK(cctools_debug_flags_set("user") == 1);
    begin_stderr();
    cctools_version_debug(D_TCP, "you");
    cctools_version_debug(D_USER, "me");
    const char* said = end_stderr();
    CHECK(strstr(said, line) != NULL && strstr(said, "you") == NULL);
    cctools_debug_flags_clear();
}

static void sizes(void) {
    char text[200];
    snprintf(text, sizeof text, INT8_FORMAT " " INT16_FORMAT " " INT32_FORMAT " " INT64_FORMAT " " PTR_FORMAT,
             (INT8_T)-8, (INT16_T)-16, (INT32_T)-32, (INT64_T)-64, (PTRINT_T)0xab);
    CHECK_TEXT(text, "-8 -16 -32 -64 ab");
    snprintf(text, sizeof text,
             UINT8_FORMAT " " UINT16_FORMAT " " UINT32_FORMAT " " UINT64_FORMAT " " UPTR_FORMAT
                          " " TIMESTAMP_FORMAT,
             (UINT8_T)8, (UINT16_T)16, (UINT32_T)32, (UINT64_T)64, (UPTRINT_T)0xcd, (timestamp_t)1);
    CHECK_TEXT(text, "8 16 32 64 cd 1");
}

int main(void) {
    enter_folder();
    sizes();
    summaries();
    lists();
    debug_lines();
    versions();
    const timestamp_t now = timestamp_get();
    CHECK(now > 1700000000000000 && timestamp_get() >= now);
    leave_folder();
    return verdict("values");
}
