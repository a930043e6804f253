#include "cctools/list.h"

#include <deque>

#include "bindings/c/guard.h"

struct list {
    std::deque<void*> items;
    std::size_t next = 0;
};

using wq::bindings::c::guarded;

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
