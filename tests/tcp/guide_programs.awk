# Writes the C++ programs of the guide's page on remote tasks to FOLDER/remote_guideN.cpp. The manager takes any free port,
# and writes a contact file instead of telling the port.
/^```cpp$/ { file = folder "/remote_guide" ++n ".cpp"; next }
/^```$/ { file = "" }
{ sub(/\.port = 9123/, ".port = 0, .contact_file = \"contact\"") }
file { print > file }
