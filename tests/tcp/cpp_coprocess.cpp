// A coprocess of C++ functions, for tests.
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include "work_queue/functions.h"
#include "work_queue/worker.h"

int main() {
    wq::Functions functions;
    functions.add("half", [](double x) { return x / 2; });
    functions.add("count", [] {
        static int calls = 0;
        return ++calls;
    });
    functions.add("pid", [] { return ::getpid(); });
    functions.add("fails", []() -> int { throw std::runtime_error("no luck"); });
    functions.add("crash", [] {
        std::signal(SIGSEGV, SIG_DFL);  // a sanitizer has its own
        std::raise(SIGSEGV);
    });
    functions.add("leave", [](int code) { std::_Exit(code); });
    functions.add("hang", [] {
        for (;;) ::pause();
    });
    return wq::coprocess_main("of_cpp", functions);
}
