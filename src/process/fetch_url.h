// What a URL names, brought into a file by libcurl, which is loaded when the first URL is: a worker needs it
// for that alone. It runs as a call in a process of its own (CallMode::fork), so that one that hangs can be
// killed, and waits for nobody.
//
// http, https and ftp as curl(1) has them, with the proxies of the environment; redirections are followed, an
// answer of 400 or above is a failure, and so is an answer that breaks off.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "process/functions.h"

namespace wq::process {

struct Fetch {
    std::string url;
    std::string path;  // is made, or written over
    // To connect within, and then without a byte.
    std::chrono::seconds patience{60};
};

struct FetchEnd {
    enum class Kind { done, failed, disk_full };
    Kind kind = Kind::done;
    std::string why;  // one line; empty: done
};

FetchEnd fetch_url(const Fetch& fetch);

// As a call of the function that every launcher knows by itself.
Call call_of(const Fetch& fetch);
FetchEnd fetch_end_of(std::string_view result);

// What a launcher knows besides the program's functions.
FunctionTable built_in_functions();

}  // namespace wq::process
