// A worker that has functions of your program: all that work_queue_worker does, with them on top.
//
//   int main(int argc, char** argv) {
//       wq::Functions functions;
//       functions.add("square", [](double x) { return x * x; });
//       return wq::worker_main(argc, argv, functions);
//   }
#pragma once

namespace [[gnu::visibility("default")]] wq {

class Functions;

// Runs the command work_queue_worker with its options (see its man page) and returns what main() is to
// return. Call it first thing in main(), before any thread. Prints its errors; throws nothing.
int worker_main(int argc, char** argv, const Functions& functions);

}  // namespace wq
