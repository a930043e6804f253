// Fetches a URL into a file with libcurl. The library is loaded at the first fetch, because workers need it
// for nothing else. A fetch runs as a call in a separate process (CallMode::fork), so that it can be killed
// if it hangs, and blocks nothing else.
//
// It supports http, https and ftp like curl(1), with the environment's proxies, and follows redirections. A
// status of 400 or above is a failure, and so is a truncated answer.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "node/process/functions.h"

namespace wq::node::process {

struct Fetch {
    std::string url;
    std::string path;  // created or overwritten
    // The time limit for connecting, and later for receiving nothing.
    std::chrono::seconds timeout{60};
};

struct FetchEnd {
    enum class Kind { done, failed, disk_full };
    Kind kind = Kind::done;
    std::string why;  // one line; empty if done
};

FetchEnd fetch_url(const Fetch& fetch);

// The fetch as a call of a function that every launcher has.
Call call_of(const Fetch& fetch);
FetchEnd fetch_end_of(std::string_view result);

// The functions that a launcher has in addition to the program's.
FunctionTable built_in_functions();

}  // namespace wq::node::process
