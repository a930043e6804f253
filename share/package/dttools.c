// Nothing: see CMakeLists.txt.
typedef int nothing;
