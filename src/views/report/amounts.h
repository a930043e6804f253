// Figures and names as texts of a report in a terminal. "-": not known.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "views/model/account.h"
#include "views/report/spread.h"

namespace wq::views::report {

double core_seconds(model::CoreTime time);
// Of a whole of 0: 0.
double percent_of(model::CoreTime part, model::CoreTime whole);
std::string percent_text(double percent);                      // "73.8 %"
std::string decimal(double value, int digits);                 // "0.82"
std::string short_decimal(double value);                       // "4", "1.3"
std::string duration_text(double seconds);                     // "3m05s"
std::string memory_text(double mb);                            // "16.0 GiB"
std::string signed_percent_text(double before, double after);  // "+12 %"; "-": no such share

// Of a figure that may lack.
template <class Text>
std::string text_of(const Spread& spread, double value, const Text& text) {
    return spread.count == 0 ? "-" : text(value);
}

// Core time in one unit for a whole report: core-hours, or of a short run core-seconds.
class CoreUnit {
  public:
    explicit CoreUnit(model::CoreTime offered);
    const char* name() const { return is_hours_ ? "core-hours" : "core-seconds"; }
    std::string text(model::CoreTime time) const;

  private:
    bool is_hours_;
};

// A name of a run for a terminal: nobody knows what it has in it. An empty one: "-".
std::string shown_name(std::string_view name, std::size_t most);
// "task 17 (line 20)"
std::string shown_task(std::uint64_t task, std::int64_t line);

// `text` in lines of at most `width` bytes, cut between words; further lines begin with `indent` blanks.
std::vector<std::string> wrapped(const std::string& text, std::size_t width, std::size_t indent);

}  // namespace wq::views::report
