/** @file work_queue_types.h Constants of Work Queue; their numbers are those of CCTools. */
#ifndef WORK_QUEUE_TYPES_H
#define WORK_QUEUE_TYPES_H

/** In C an enum may have any value of an int, in C++ only where that is said. */
#ifdef __cplusplus
#define WORK_QUEUE_AS_INT : int
#else
#define WORK_QUEUE_AS_INT
#endif

/** The port that managers listen on unless told otherwise. */
#define WORK_QUEUE_DEFAULT_PORT 9123
/** For work_queue_create(): any free port. */
#define WORK_QUEUE_RANDOM_PORT 0
/** For work_queue_wait(): as long as it takes. */
#define WORK_QUEUE_WAITFORTASK -1
/** Seconds without a word after which Work Queue asks a worker; here see
 * work_queue_specify_keepalive_interval(). */
#define WORK_QUEUE_DEFAULT_KEEPALIVE_INTERVAL 120
/** Seconds that Work Queue waits for the answer; here see work_queue_specify_keepalive_timeout(). */
#define WORK_QUEUE_DEFAULT_KEEPALIVE_TIMEOUT 30

/** Which way a file goes. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_INPUT = 0, /**< To the worker, before the task begins. */
    WORK_QUEUE_OUTPUT = 1 /**< From the worker, after the task has ended. */
} work_queue_file_type_t;

/** How a file is treated: any of these, joined by `|`. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_NOCACHE = 0, /**< Only for this task; the default. */
    WORK_QUEUE_CACHE = 1,   /**< An input stays at the worker, for other tasks that bring the same content. */
    WORK_QUEUE_SYMLINK = 2, /**< Taken and ignored: files are copied. */
    WORK_QUEUE_PREEXIST = 4,      /**< Taken and ignored. */
    WORK_QUEUE_THIRDGET = 8,      /**< Taken and ignored. */
    WORK_QUEUE_THIRDPUT = 8,      /**< Taken and ignored. */
    WORK_QUEUE_WATCH = 16,        /**< What the task appends to this output is sent while it runs. */
    WORK_QUEUE_FAILURE_ONLY = 32, /**< An output that is fetched only where the task failed. */
    WORK_QUEUE_SUCCESS_ONLY = 64  /**< An output that is fetched only where the task succeeded. */
} work_queue_file_flags_t;

#ifdef __cplusplus
/** For C++, where a number is no flag. */
inline work_queue_file_flags_t operator|(work_queue_file_flags_t some, work_queue_file_flags_t more) {
    return static_cast<work_queue_file_flags_t>(static_cast<int>(some) | static_cast<int>(more));
}
#endif

/** How Work Queue chooses a worker. Taken and ignored: tasks go to whichever worker has room first. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_SCHEDULE_UNSET = 0, /**< As the queue does it. */
    WORK_QUEUE_SCHEDULE_FCFS,      /**< The first one. */
    WORK_QUEUE_SCHEDULE_FILES,     /**< Who has most of the task's inputs. */
    WORK_QUEUE_SCHEDULE_TIME,      /**< Who was fastest so far. */
    WORK_QUEUE_SCHEDULE_RAND,      /**< Any. */
    WORK_QUEUE_SCHEDULE_WORST      /**< Who has most room left. */
} work_queue_schedule_t;

/** What became of a task; what its command returned is another matter. work_queue_result_str() has the names.
 */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_RESULT_SUCCESS = 0,               /**< It ran to its end, whatever its exit code. */
    WORK_QUEUE_RESULT_INPUT_MISSING = 1,         /**< An input was not there; it was not started. */
    WORK_QUEUE_RESULT_OUTPUT_MISSING = 2,        /**< It did not make an output; the others came. */
    WORK_QUEUE_RESULT_STDOUT_MISSING = 4,        /**< What it wrote to stdout could not be kept. */
    WORK_QUEUE_RESULT_SIGNAL = 8,                /**< A signal ended it, whose number is the return_status. */
    WORK_QUEUE_RESULT_RESOURCE_EXHAUSTION = 16,  /**< It used more than it was given. */
    WORK_QUEUE_RESULT_TASK_TIMEOUT = 24,         /**< Its end time came. */
    WORK_QUEUE_RESULT_UNKNOWN = 32,              /**< It could not be started. */
    WORK_QUEUE_RESULT_FORSAKEN = 40,             /**< It was cancelled, or can never run. */
    WORK_QUEUE_RESULT_MAX_RETRIES = 48,          /**< It was tried as often as it may be. */
    WORK_QUEUE_RESULT_TASK_MAX_RUN_TIME = 56,    /**< It ran longer than it might. */
    WORK_QUEUE_RESULT_DISK_ALLOC_FULL = 64,      /**< The worker's disk was full. */
    WORK_QUEUE_RESULT_RMONITOR_ERROR = 72,       /**< What it used could not be measured. */
    WORK_QUEUE_RESULT_OUTPUT_TRANSFER_ERROR = 80 /**< An output could not be stored here. */
} work_queue_result_t;

/** Where a task is on its way. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_TASK_UNKNOWN = 0,       /**< There is none of this id. */
    WORK_QUEUE_TASK_READY,             /**< It waits for a worker. */
    WORK_QUEUE_TASK_RUNNING,           /**< A worker has it. */
    WORK_QUEUE_TASK_WAITING_RETRIEVAL, /**< Never seen here: results come with the news. */
    WORK_QUEUE_TASK_RETRIEVED,         /**< Its result waits for work_queue_wait(). */
    WORK_QUEUE_TASK_DONE,              /**< work_queue_wait() has returned it. */
    WORK_QUEUE_TASK_CANCELED           /**< It was cancelled. */
} work_queue_task_state_t;

/** What kinds of inputs there are. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_FILE = 1,   /**< A file, or a folder with all in it. */
    WORK_QUEUE_BUFFER,     /**< Bytes of the program. */
    WORK_QUEUE_REMOTECMD,  /**< What a command at the worker makes. */
    WORK_QUEUE_FILE_PIECE, /**< A part of a file. */
    WORK_QUEUE_DIRECTORY,  /**< A folder. */
    WORK_QUEUE_URL         /**< What the worker fetches. */
} work_queue_file_t;

/** How the resources of a category's tasks are found. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_ALLOCATION_MODE_FIXED = 0,         /**< As they are specified. */
    WORK_QUEUE_ALLOCATION_MODE_MAX = 1,           /**< The most that was seen. */
    WORK_QUEUE_ALLOCATION_MODE_MIN_WASTE = 2,     /**< So that little is given in vain. */
    WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT = 3 /**< So that most tasks end soon. */
} work_queue_category_mode_t;

/** The older names of work_queue_category_mode_t. */
typedef enum WORK_QUEUE_AS_INT {
    CATEGORY_ALLOCATION_MODE_FIXED = 0,         /**< @ref WORK_QUEUE_ALLOCATION_MODE_FIXED */
    CATEGORY_ALLOCATION_MODE_MAX = 1,           /**< @ref WORK_QUEUE_ALLOCATION_MODE_MAX */
    CATEGORY_ALLOCATION_MODE_MIN_WASTE = 2,     /**< @ref WORK_QUEUE_ALLOCATION_MODE_MIN_WASTE */
    CATEGORY_ALLOCATION_MODE_MAX_THROUGHPUT = 3 /**< @ref WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT */
} category_mode_t;

/** Which allocation of its category a task has. */
typedef enum WORK_QUEUE_AS_INT {
    CATEGORY_ALLOCATION_FIRST = 0, /**< The one that tasks begin with. */
    CATEGORY_ALLOCATION_AUTO = 0,  /**< The same. */
    CATEGORY_ALLOCATION_MAX,       /**< The largest one. */
    CATEGORY_ALLOCATION_ERROR      /**< None: it has used more than the largest. */
} category_allocation_t;

#endif
