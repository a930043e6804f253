# The command itself, as processes: run_NAME_test.py has MPIRUN (a command line) and PROGRAM.
# wq_run_test(NAME [PROCESSORS N]): N is 2 for those whose runs keep the machine busy.
function(wq_run_test name)
  cmake_parse_arguments(ARG "" "PROCESSORS" "" ${ARGN})
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 1)
  endif()
  list(JOIN WQ_MPIRUN " " mpirun)
  math(EXPR timeout "180 * ${WQ_PATIENCE}")
  add_test(NAME mpi.run_${name}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/run_${name}_test.py)
  set_tests_properties(mpi.run_${name} PROPERTIES LABELS mpi TIMEOUT ${timeout} PROCESSORS ${ARG_PROCESSORS}
    ENVIRONMENT "${WQ_MPI_ENVIRONMENT};MPIRUN=${mpirun};OPEN_MPI=${WQ_OPEN_MPI};PROGRAM=$<TARGET_FILE:work_queue_run>;WORKER=$<TARGET_FILE:work_queue_worker>;POOL=$<TARGET_FILE:mpi_mixed_pool>")
endfunction()

if(TARGET work_queue_run)
  add_executable(mpi_mixed_pool mixed_pool_program.cpp)
  target_link_libraries(mpi_mixed_pool PRIVATE wq_api_mpi)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  wq_run_test(bad_input)
  wq_run_test(records)
  wq_run_test(resume_records)
  wq_run_test(semantics)
  wq_run_test(full_disk)
  wq_run_test(ends PROCESSORS 2)
  wq_run_test(lost PROCESSORS 2)
  wq_run_test(listen PROCESSORS 2)
  wq_run_test(mixed PROCESSORS 2)
endif()
