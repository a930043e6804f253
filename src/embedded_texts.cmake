# Scripts that a worker sends elsewhere are part of the program, so that a worker of one file needs no other.

# wq_read_texts(RESULT FILE...): the files of this folder, one behind the other.
function(wq_read_texts result)
  set(text "")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    file(READ ${file} part)
    string(APPEND text "${part}\n")
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# wq_embed_text(HEADER NAMESPACE NAME TEXT): defines `extern const std::string_view NAME` of the header.
function(wq_embed_text header namespace name text)
  string(LENGTH "${text}" bytes)
  if(bytes GREATER 300000)
    message(FATAL_ERROR "the text of ${name} is too long to be embedded")
  endif()
  set(pragma "")
  if(bytes GREATER 65000)  # the standard's least limit; g++ and clang take more
    set(pragma "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n")
  endif()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp @ONLY CONTENT "${pragma}#include \"${header}\"

namespace ${namespace} {

const std::string_view ${name} = R\"text(@text@)text\";

}  // namespace ${namespace}
")
  target_sources(${wq_this} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
endfunction()
