# Usage: cmake -DSCRIPT=FILE -DOUT=FILE -P embed.cmake. Writes a C++ file that has the script without its comments.
file(READ ${SCRIPT} text)
string(REGEX REPLACE "\n[ ]*#[^\n]*" "" text "\n${text}")
string(REGEX REPLACE "\n[ ]+" "\n" text "${text}")
string(REGEX REPLACE "\n\n+" "\n" text "${text}")
string(REGEX REPLACE "^\n" "" text "${text}")
# A string literal has at most 65,535 bytes everywhere.
string(LENGTH "${text}" bytes)
if(bytes GREATER 60000)
  message(FATAL_ERROR "${SCRIPT} is too long to be embedded")
endif()
file(WRITE ${OUT} "#include \"list_store/master_helper.h\"\n\nnamespace wq::list_store {\n\n"
  "std::string_view master_helper() {\n    return R\"sh(${text})sh\";\n}\n\n}  // namespace wq::list_store\n")
