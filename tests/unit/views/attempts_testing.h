#pragma once

#include <string>

#include "views/attempts.h"

namespace wq::views {

inline Attempts some_attempts() {
    Attempts all;
    all.categories = {"quick", "</script><script>alert(1)</script>"};
    all.outcomes = {std::string(succeeded), "exit 1", "a\"b\\c\n"};
    all.workers = {{"a:1", 1'000'000, 0, 0}, {"<b>", 500'000, 9'000'000, 0}};
    all.attempts = {
        {7, 1, 0, 0, 0, 0, 1'500'000, 2'000'000, 2'250'000, 4'000'000, 4'100'000},
        {8, 1, 1, 0, 0, 1, 1'500'000, 3'000'000, 3'000'000, 5'000'000, 5'000'000},
        {300, 20, 0, 0, 0, 0, 4'500'000, 4'500'000, 4'500'000, 6'000'000, 6'000'000},
        {9, 1, 0, 1, 0, 0, 1'500'000, 1'600'000, 1'600'000, 8'000'000, 8'000'000},
    };
    all.never_ran = 3;
    finish(all);
    return all;
}

}  // namespace wq::views
