// A worker with functions of your program; otherwise it does what work_queue_worker does.
//
//   int main(int argc, char** argv) {
//       wq::Functions functions;
//       functions.add("square", [](double x) { return x * x; });
//       return wq::worker_main(argc, argv, functions);
//   }
#pragma once

#include <string>

namespace [[gnu::visibility("default")]] wq {

class Functions;

// Runs work_queue_worker with its options (see its man page) and returns the exit code for main(). Call it
// first in main(), before any thread starts. It prints its errors and does not throw.
int worker_main(int argc, char** argv, const Functions& functions);

// A coprocess of your program's functions: `work_queue_worker --coprocess ./your_program` starts the program,
// and Task::remote("square", "NAME", ...) calls the functions.
//
//   int main() {
//       wq::Functions functions;
//       functions.add("square", [](double x) { return x * x; });
//       return wq::coprocess_main("NAME", functions);
//   }
//
// Serves calls until its worker ends it; returns an exit code only if it cannot begin. Call it before any
// thread starts. Arguments are the JSON array fn_args, converted to msgpack: numbers, strings, booleans,
// null, arrays and objects. fn_kwargs must be empty. Results become JSON; bytes become {"bytes": [...],
// "subtype": null}. The name has 1 to 200 bytes and no blank.
int coprocess_main(const std::string& name, const Functions& functions);

}  // namespace gnu::visibility("default")]]wq
