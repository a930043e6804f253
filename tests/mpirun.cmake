# How tests start ranks: WQ_MPIRUN, a command line, and WQ_OPEN_MPI, whether it is Open MPI's; else it is MPICH's hydra.
find_package(MPI REQUIRED COMPONENTS C)
execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE wq_mpi_version ERROR_QUIET)
set(WQ_MPIRUN ${MPIEXEC_EXECUTABLE})
set(WQ_OPEN_MPI NO)
if(wq_mpi_version MATCHES "Open MPI|OpenRTE")
  set(WQ_OPEN_MPI YES)
  list(APPEND WQ_MPIRUN --oversubscribe --bind-to none)
  execute_process(COMMAND id -u OUTPUT_VARIABLE wq_user OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(wq_user STREQUAL "0")
    list(APPEND WQ_MPIRUN --allow-run-as-root)
  endif()
endif()
# Programs of one MPI that another's launcher starts find themselves alone: tests would fail one by one, and not say why.
if(WQ_OPEN_MPI AND MPI_C_LIBRARIES MATCHES "mpich")
  message(FATAL_ERROR "${MPIEXEC_EXECUTABLE} is Open MPI's, the library is MPICH's: "
    "give -DMPIEXEC_EXECUTABLE=/usr/bin/mpiexec.hydra")
endif()

# wq_skipped_test(NAME WHY): a test that this MPI cannot run.
function(wq_skipped_test name why)
  add_test(NAME ${name} COMMAND sh -c "echo 'SKIP: ${why}'; exit 77")
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
