# find_package(work_queue): work_queue::work_queue, and work_queue::mpi, which has MpiSession besides; a program links one.
include(${CMAKE_CURRENT_LIST_DIR}/work_queue-targets.cmake)

# Programs with functions include msgpack-cxx, which calls its own package by another name in every second version.
find_path(WORK_QUEUE_MSGPACK_INCLUDE_DIR msgpack.hpp)
mark_as_advanced(WORK_QUEUE_MSGPACK_INCLUDE_DIR)
if(WORK_QUEUE_MSGPACK_INCLUDE_DIR)
  set_property(TARGET work_queue::work_queue work_queue::mpi APPEND PROPERTY
    INTERFACE_INCLUDE_DIRECTORIES ${WORK_QUEUE_MSGPACK_INCLUDE_DIR})
endif()
