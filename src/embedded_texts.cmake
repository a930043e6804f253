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

# wq_sha256_source(RESULT TEXT): 'sha256-...' with quotes and base64, as a Content-Security-Policy names a script or style.
function(wq_sha256_source result text)
  set(letters "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(SHA256 hex "${text}")
  string(APPEND hex "00")  # 33 bytes are 44 letters without a rest
  set(base64 "")
  foreach(at RANGE 0 63 3)
    string(SUBSTRING ${hex} ${at} 3 digits)
    math(EXPR first "0x${digits} / 64")
    math(EXPR second "0x${digits} % 64")
    string(SUBSTRING ${letters} ${first} 1 first)
    string(SUBSTRING ${letters} ${second} 1 second)
    string(APPEND base64 ${first}${second})
  endforeach()
  string(REGEX REPLACE ".$" "=" base64 ${base64})
  set(${result} "'sha256-${base64}'" PARENT_SCOPE)
endfunction()
