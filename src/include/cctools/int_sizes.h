/** @file int_sizes.h Integers of known size by CCTools' names. New programs use inttypes.h. */
#ifndef INT_SIZES_H
#define INT_SIZES_H

#include <inttypes.h>
#include <stdint.h>

/** @name Types */
/**@{*/
#define INT8_T int8_t       /**< 8 bits. */
#define INT16_T int16_t     /**< 16 bits. */
#define INT32_T int32_t     /**< 32 bits. */
#define INT64_T int64_t     /**< 64 bits. */
#define PTRINT_T intptr_t   /**< As wide as a pointer. */
#define INTPTR_T intptr_t   /**< As wide as a pointer. */
#define UINT8_T uint8_t     /**< 8 bits, no sign. */
#define UINT16_T uint16_t   /**< 16 bits, no sign. */
#define UINT32_T uint32_t   /**< 32 bits, no sign. */
#define UINT64_T uint64_t   /**< 64 bits, no sign. */
#define UPTRINT_T uintptr_t /**< As wide as a pointer, no sign. */
#define UINTPTR_T uintptr_t /**< As wide as a pointer, no sign. */
/**@}*/

/** @name Formats
 * For printf(), with their `%`. */
/**@{*/
#define INT8_FORMAT "%" PRId8    /**< Of @ref INT8_T */
#define INT16_FORMAT "%" PRId16  /**< Of @ref INT16_T */
#define INT32_FORMAT "%" PRId32  /**< Of @ref INT32_T */
#define INT64_FORMAT "%" PRId64  /**< Of @ref INT64_T */
#define PTR_FORMAT "%" PRIxPTR   /**< Of @ref PTRINT_T, hexadecimal. */
#define UINT8_FORMAT "%" PRIu8   /**< Of @ref UINT8_T */
#define UINT16_FORMAT "%" PRIu16 /**< Of @ref UINT16_T */
#define UINT32_FORMAT "%" PRIu32 /**< Of @ref UINT32_T */
#define UINT64_FORMAT "%" PRIu64 /**< Of @ref UINT64_T */
#define UPTR_FORMAT "%" PRIxPTR  /**< Of @ref UPTRINT_T, hexadecimal. */
/**@}*/

#endif
