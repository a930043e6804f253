// A worker with functions of your program; otherwise it does what work_queue_worker does.
//
//   int main(int argc, char** argv) {
//       wq::Functions functions;
//       functions.add("square", [](double x) { return x * x; });
//       return wq::worker_main(argc, argv, functions);
//   }
#pragma once

namespace [[gnu::visibility("default")]] wq {

class Functions;

// Runs work_queue_worker with its options (see its man page) and returns the exit code for main(). Call it
// first in main(), before any thread starts. It prints its errors and does not throw.
int worker_main(int argc, char** argv, const Functions& functions);

}  // namespace gnu::visibility("default")]]wq
