/** @file work_queue_types.h Constants of Work Queue; their numbers are those of CCTools. */
#ifndef WORK_QUEUE_TYPES_H
#define WORK_QUEUE_TYPES_H

/** In C, an enum may have any value of an int; C++ needs this to allow it. */
#ifdef __cplusplus
#define WORK_QUEUE_AS_INT : int
#else
#define WORK_QUEUE_AS_INT
#endif

/** The default port of managers. */
#define WORK_QUEUE_DEFAULT_PORT 9123
/** For work_queue_create(): any free port. */
#define WORK_QUEUE_RANDOM_PORT 0
/** For work_queue_wait(): no time limit. */
#define WORK_QUEUE_WAITFORTASK -1
/** Seconds of silence after which CCTools sends a keepalive; here see
 * work_queue_specify_keepalive_interval(). */
#define WORK_QUEUE_DEFAULT_KEEPALIVE_INTERVAL 120
/** Seconds that CCTools waits for the answer; here see work_queue_specify_keepalive_timeout(). */
#define WORK_QUEUE_DEFAULT_KEEPALIVE_TIMEOUT 30

/** Direction of a file. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_INPUT = 0, /**< To the worker, before the task begins. */
    WORK_QUEUE_OUTPUT = 1 /**< From the worker, after the task has ended. */
} work_queue_file_type_t;

/** Options of a file, combined with `|`. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_NOCACHE = 0,       /**< Only for this task; the default. */
    WORK_QUEUE_CACHE = 1,         /**< The worker keeps an input for other tasks with the same content. */
    WORK_QUEUE_SYMLINK = 2,       /**< Ignored: files are copied. */
    WORK_QUEUE_PREEXIST = 4,      /**< Ignored. */
    WORK_QUEUE_THIRDGET = 8,      /**< Ignored. */
    WORK_QUEUE_THIRDPUT = 8,      /**< Ignored. */
    WORK_QUEUE_WATCH = 16,        /**< Data appended to this output is sent while the task runs. */
    WORK_QUEUE_FAILURE_ONLY = 32, /**< Fetch an output only if the task failed. */
    WORK_QUEUE_SUCCESS_ONLY = 64  /**< Fetch an output only if the task succeeded. */
} work_queue_file_flags_t;

#if defined(__cplusplus) && !defined(SWIG)
/** For C++, where an int does not convert to flags. */
inline work_queue_file_flags_t operator|(work_queue_file_flags_t some, work_queue_file_flags_t more) {
    return static_cast<work_queue_file_flags_t>(static_cast<int>(some) | static_cast<int>(more));
}
#endif

/** How CCTools chooses a worker. Ignored: a task goes to whichever worker has room first. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_SCHEDULE_UNSET = 0, /**< As the queue. */
    WORK_QUEUE_SCHEDULE_FCFS,      /**< The first one. */
    WORK_QUEUE_SCHEDULE_FILES,     /**< With most of the task's inputs. */
    WORK_QUEUE_SCHEDULE_TIME,      /**< The fastest so far. */
    WORK_QUEUE_SCHEDULE_RAND,      /**< Any. */
    WORK_QUEUE_SCHEDULE_WORST      /**< With most room left. */
} work_queue_schedule_t;

/** The result of a task, independent of its command's exit code. work_queue_result_str() returns the name. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_RESULT_SUCCESS = 0,               /**< It ran to its end, whatever its exit code. */
    WORK_QUEUE_RESULT_INPUT_MISSING = 1,         /**< An input was missing; the task did not start. */
    WORK_QUEUE_RESULT_OUTPUT_MISSING = 2,        /**< It did not make an output; others were sent. */
    WORK_QUEUE_RESULT_STDOUT_MISSING = 4,        /**< Its stdout could not be kept. */
    WORK_QUEUE_RESULT_SIGNAL = 8,                /**< A signal killed it; return_status is the signal. */
    WORK_QUEUE_RESULT_RESOURCE_EXHAUSTION = 16,  /**< It exceeded its allocation. */
    WORK_QUEUE_RESULT_TASK_TIMEOUT = 24,         /**< Its end time came. */
    WORK_QUEUE_RESULT_UNKNOWN = 32,              /**< It was cancelled, or could not be started. */
    WORK_QUEUE_RESULT_FORSAKEN = 40,             /**< It can never run, or its manager failed. */
    WORK_QUEUE_RESULT_MAX_RETRIES = 48,          /**< It used up its attempts. */
    WORK_QUEUE_RESULT_TASK_MAX_RUN_TIME = 56,    /**< It ran longer than its limit. */
    WORK_QUEUE_RESULT_DISK_ALLOC_FULL = 64,      /**< The worker's disk was full. */
    WORK_QUEUE_RESULT_RMONITOR_ERROR = 72,       /**< Its usage could not be measured. */
    WORK_QUEUE_RESULT_OUTPUT_TRANSFER_ERROR = 80 /**< An output could not be stored here. */
} work_queue_result_t;

/** The state of a task. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_TASK_UNKNOWN = 0,       /**< No task with this id. */
    WORK_QUEUE_TASK_READY,             /**< Waiting for a worker. */
    WORK_QUEUE_TASK_RUNNING,           /**< Dispatched to a worker. */
    WORK_QUEUE_TASK_WAITING_RETRIEVAL, /**< Never occurs: the report of a task's end has its result. */
    WORK_QUEUE_TASK_RETRIEVED,         /**< Ended; work_queue_wait() has not returned it yet. */
    WORK_QUEUE_TASK_DONE,              /**< work_queue_wait() has returned it. */
    WORK_QUEUE_TASK_CANCELED           /**< It was cancelled. */
} work_queue_task_state_t;

/** Kinds of inputs. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_FILE = 1,   /**< A file or whole folder. */
    WORK_QUEUE_BUFFER,     /**< Bytes of the program. */
    WORK_QUEUE_REMOTECMD,  /**< The result of a command at the worker. */
    WORK_QUEUE_FILE_PIECE, /**< A part of a file. */
    WORK_QUEUE_DIRECTORY,  /**< A folder. */
    WORK_QUEUE_URL         /**< A URL that the worker fetches. */
} work_queue_file_t;

/** How the allocation of a category's tasks is found. */
typedef enum WORK_QUEUE_AS_INT {
    WORK_QUEUE_ALLOCATION_MODE_FIXED = 0,            /**< As specified. */
    WORK_QUEUE_ALLOCATION_MODE_MAX = 1,              /**< The largest measured usage. */
    WORK_QUEUE_ALLOCATION_MODE_MIN_WASTE = 2,        /**< Least unused resources. */
    WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT = 3,   /**< Most tasks completed per time. */
    WORK_QUEUE_ALLOCATION_MODE_GREEDY_BUCKETING = 4, /**< Buckets of sizes; a task begins with any of them. */
    WORK_QUEUE_ALLOCATION_MODE_EXHAUSTIVE_BUCKETING = 5, /**< The same; tries up to ten buckets. */
    WORK_QUEUE_ALLOCATION_MODE_DET_GREEDY_BUCKETING =
        6, /**< Buckets of sizes; a task begins with the smallest. */
    WORK_QUEUE_ALLOCATION_MODE_DET_EXHAUSTIVE_BUCKETING = 7, /**< The same; tries up to ten buckets. */
    WORK_QUEUE_ALLOCATION_MODE_QUANTIZED_BUCKETING = 8       /**< Ten buckets of equally many tasks. */
} work_queue_category_mode_t;

/** The older names of work_queue_category_mode_t. */
typedef enum WORK_QUEUE_AS_INT {
    CATEGORY_ALLOCATION_MODE_FIXED = 0,            /**< @ref WORK_QUEUE_ALLOCATION_MODE_FIXED */
    CATEGORY_ALLOCATION_MODE_MAX = 1,              /**< @ref WORK_QUEUE_ALLOCATION_MODE_MAX */
    CATEGORY_ALLOCATION_MODE_MIN_WASTE = 2,        /**< @ref WORK_QUEUE_ALLOCATION_MODE_MIN_WASTE */
    CATEGORY_ALLOCATION_MODE_MAX_THROUGHPUT = 3,   /**< @ref WORK_QUEUE_ALLOCATION_MODE_MAX_THROUGHPUT */
    CATEGORY_ALLOCATION_MODE_GREEDY_BUCKETING = 4, /**< @ref WORK_QUEUE_ALLOCATION_MODE_GREEDY_BUCKETING */
    CATEGORY_ALLOCATION_MODE_EXHAUSTIVE_BUCKETING =
        5, /**< @ref WORK_QUEUE_ALLOCATION_MODE_EXHAUSTIVE_BUCKETING */
    CATEGORY_ALLOCATION_MODE_DET_GREEDY_BUCKETING =
        6, /**< @ref WORK_QUEUE_ALLOCATION_MODE_DET_GREEDY_BUCKETING */
    CATEGORY_ALLOCATION_MODE_DET_EXHAUSTIVE_BUCKETING =
        7, /**< @ref WORK_QUEUE_ALLOCATION_MODE_DET_EXHAUSTIVE_BUCKETING */
    CATEGORY_ALLOCATION_MODE_QUANTIZED_BUCKETING =
        8 /**< @ref WORK_QUEUE_ALLOCATION_MODE_QUANTIZED_BUCKETING */
} category_mode_t;

/** Which allocation of its category a task gets. */
typedef enum WORK_QUEUE_AS_INT {
    CATEGORY_ALLOCATION_FIRST = 0, /**< That of first attempts. */
    CATEGORY_ALLOCATION_AUTO = 0,  /**< The same. */
    CATEGORY_ALLOCATION_MAX,       /**< The largest one. */
    CATEGORY_ALLOCATION_ERROR      /**< None: it exceeded the largest. */
} category_allocation_t;

#endif
