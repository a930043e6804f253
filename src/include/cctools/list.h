/** @file list.h Lists, as returned by work_queue_cancel_all_tasks(). A list does not own its pointers. */
#ifndef LIST_H
#define LIST_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/** A list. */
struct list;

/** @name Short names
 * As CCTools has them. */
/**@{*/
#define list_create cctools_list_create         /**< @ref cctools_list_create */
#define list_delete cctools_list_delete         /**< @ref cctools_list_delete */
#define list_size cctools_list_size             /**< @ref cctools_list_size */
#define list_push_head cctools_list_push_head   /**< @ref cctools_list_push_head */
#define list_push_tail cctools_list_push_tail   /**< @ref cctools_list_push_tail */
#define list_pop_head cctools_list_pop_head     /**< @ref cctools_list_pop_head */
#define list_pop_tail cctools_list_pop_tail     /**< @ref cctools_list_pop_tail */
#define list_peek_head cctools_list_peek_head   /**< @ref cctools_list_peek_head */
#define list_peek_tail cctools_list_peek_tail   /**< @ref cctools_list_peek_tail */
#define list_first_item cctools_list_first_item /**< @ref cctools_list_first_item */
#define list_next_item cctools_list_next_item   /**< @ref cctools_list_next_item */
/**@}*/

/** An empty list. */
struct list* cctools_list_create(void);
/** Deletes the list, not its items. NULL does nothing. */
void cctools_list_delete(struct list* list);
/** Number of items; 0 for NULL. */
int cctools_list_size(struct list* list);
/** Puts @p item first. 1, or 0 without a list or memory. */
int cctools_list_push_head(struct list* list, void* item);
/** Puts @p item last. 1, or 0 without a list or memory. */
int cctools_list_push_tail(struct list* list, void* item);
/** Removes and returns the first item; NULL if there is none. */
void* cctools_list_pop_head(struct list* list);
/** Removes and returns the last item; NULL if there is none. */
void* cctools_list_pop_tail(struct list* list);
/** Returns the first item; NULL if there is none. */
void* cctools_list_peek_head(struct list* list);
/** Returns the last item; NULL if there is none. */
void* cctools_list_peek_tail(struct list* list);
/** Makes cctools_list_next_item() start with the first item. */
void cctools_list_first_item(struct list* list);
/** Returns the next item; NULL after the last. */
void* cctools_list_next_item(struct list* list);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
