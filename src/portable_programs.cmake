# Workers are copied to machines that have other libraries, or none: these programs are single files that need only libc, if
# this machine has what they need as static libraries. Sets their property WQ_PORTABLE, or says why not.
set(portable_programs work_queue_worker runtask)
set(replaced ${PROJECT_SOURCE_DIR}/src/node/machine/without_udev.c ${PROJECT_SOURCE_DIR}/src/node/machine/old_glibc.c)
# Unused parts of libstdc++ need a newer glibc. Libraries that are loaded later, such as libcurl, must not find our OpenSSL.
# bfd's ld links them: mold takes a file of records/hdf5 for a template that another file has too, and then wants HDF5.
set(portable_options -fuse-ld=bfd -static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections -Wl,--exclude-libs,ALL
  -Wl,--compress-debug-sections=zlib)
get_property(archives GLOBAL PROPERTY WQ_ARCHIVES)
set(missing)
foreach(archive IN LISTS archives)
  if(NOT EXISTS ${archive})
    list(APPEND missing ${archive})
  endif()
endforeach()
list(REMOVE_DUPLICATES missing)

set(why_shared)
if(NOT WQ_PORTABLE_WORKER)
  set(why_shared "WQ_PORTABLE_WORKER is off")
elseif(WQ_SANITIZE)
  set(why_shared "WQ_SANITIZE is set")
elseif(WQ_TOGETHER)
  set(why_shared "WQ_UNITY=ON links HDF5 into every program")
elseif(missing)
  list(JOIN missing ", " missing)
  set(why_shared "there is no ${missing}")
else()
  # In other distributions, libhwloc.a may need more libraries.
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/portable_probe)
  if(NOT WQ_STATIC_LIBRARIES_LINK)
    file(WRITE ${probe}.cpp "
      #include <string>
      extern \"C\" int hwloc_topology_load(void*);
      extern \"C\" void* SSL_CTX_new(const void*);
      int main() { throw std::to_string(hwloc_topology_load(SSL_CTX_new(nullptr))); }\n")
    try_compile(WQ_STATIC_LIBRARIES_LINK SOURCES ${probe}.cpp ${replaced}
      LINK_LIBRARIES ${archives} Threads::Threads ${CMAKE_DL_LIBS} LINK_OPTIONS ${portable_options} OUTPUT_VARIABLE output)
    file(WRITE ${probe}.log "${output}")
  endif()
  if(NOT WQ_STATIC_LIBRARIES_LINK)
    set(why_shared "static ones cannot be linked (${probe}.log)")
  endif()
endif()

if(why_shared)
  list(JOIN portable_programs " and " programs)
  message(STATUS "${programs} need shared libraries: ${why_shared}")
else()
  # A library, as a program's own sources of C would need parsed headers of C.
  add_library(wq_replaced OBJECT ${replaced})
  foreach(program IN LISTS portable_programs)
    set_target_properties(${program} PROPERTIES WQ_PORTABLE ON)
    target_link_libraries(${program} PRIVATE wq_replaced)
    target_link_options(${program} PRIVATE ${portable_options})
  endforeach()
endif()
