// What programs use of CCTools beside its Work Queue: versions, lists, the time.
#define CCTOOLS_NO_SHORT_NAMES
#include "cctools/cctools.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>

#include "base/time.h"
#include "bindings/c/guard.h"
#include "cctools/debug.h"
#include "cctools/list.h"
#include "cctools/timestamp.h"

namespace {

// "prog version 0.1.0 (Work Queue)"
std::string version_line(const char* program) {
    const std::string name = program == nullptr ? "" : program;
    return name + (name.empty() ? "" : " ") + "version " + cctools_version_string() + " (Work Queue)";
}

// Major, minor and micro of "1.2.3"; missing numbers are 0.
std::array<long, 3> numbers_of(const char* version) {
    std::array<long, 3> numbers{};
    for (long& number : numbers) {
        if (version == nullptr) break;
        char* end = nullptr;
        number = std::strtol(version, &end, 10);
        version = *end == '.' ? end + 1 : nullptr;
    }
    return numbers;
}

}  // namespace

using wq::bindings::c::guarded;

const char* cctools_version_string(void) {
    return WQ_VERSION;
}
void cctools_version_print(FILE* stream, const char* cmd) {
    guarded(__func__, [&](const char*) {
        if (stream != nullptr) std::fprintf(stream, "%s\n", version_line(cmd).c_str());
    });
}
void cctools_version_debug(std::uint64_t type, const char* cmd) {
    guarded(__func__, [&](const char*) {
        cctools_debug(static_cast<std::int64_t>(type), "%s", version_line(cmd).c_str());
    });
}
int cctools_version_cmp(const char* v1, const char* v2) {
    const auto one = numbers_of(v1);
    const auto other = numbers_of(v2);
    return one < other ? -1 : other < one ? 1 : 0;
}

struct list {
    std::deque<void*> items;
    std::size_t next = 0;
};

list* cctools_list_create(void) {
    return guarded(__func__, static_cast<list*>(nullptr), [](const char*) { return new list; });
}
void cctools_list_delete(list* list) {
    delete list;
}
int cctools_list_size(list* list) {
    return list == nullptr ? 0 : static_cast<int>(list->items.size());
}
int cctools_list_push_head(list* list, void* item) {
    return guarded(__func__, 0, [&](const char*) {
        if (list == nullptr) return 0;
        list->items.push_front(item);
        return 1;
    });
}
int cctools_list_push_tail(list* list, void* item) {
    return guarded(__func__, 0, [&](const char*) {
        if (list == nullptr) return 0;
        list->items.push_back(item);
        return 1;
    });
}
void* cctools_list_pop_head(list* list) {
    void* item = cctools_list_peek_head(list);
    if (cctools_list_size(list) > 0) list->items.pop_front();
    return item;
}
void* cctools_list_pop_tail(list* list) {
    void* item = cctools_list_peek_tail(list);
    if (cctools_list_size(list) > 0) list->items.pop_back();
    return item;
}
void* cctools_list_peek_head(list* list) {
    return cctools_list_size(list) == 0 ? nullptr : list->items.front();
}
void* cctools_list_peek_tail(list* list) {
    return cctools_list_size(list) == 0 ? nullptr : list->items.back();
}
void cctools_list_first_item(list* list) {
    if (list != nullptr) list->next = 0;
}
void* cctools_list_next_item(list* list) {
    return list == nullptr || list->next >= list->items.size() ? nullptr : list->items[list->next++];
}

timestamp_t timestamp_get(void) {
    return static_cast<timestamp_t>(wq::wall_now());
}
