#include "views/report/comparison.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "base/units.h"
#include "views/report/amounts.h"
#include "views/report/text_report.h"

namespace wq::views::report {

namespace {

using model::CoreTime;

constexpr std::size_t most_categories = 6;
constexpr std::size_t most_slow_rows = 3;
constexpr std::size_t longest_name = 24;
constexpr std::size_t title_width = 26;
constexpr std::size_t value_width = 24;
constexpr std::size_t change_width = 12;

std::string row_of(const std::string& title, const std::string& first, const std::string& second,
                   const std::string& change) {
    return left_aligned(title, title_width) + right_aligned(first, value_width) +
           right_aligned(second, value_width) + right_aligned(change, change_width);
}

std::string change_of(double before, double after) {
    return signed_percent_text(before, after);
}

class Comparison {
  public:
    Comparison(const ReportedRun& first, const ReportedRun& second)
        : first_(first), second_(second), unit_(std::max(first.account.offered, second.account.offered)) {}

    Lines head() const {
        const auto line = [](const char* letter, const ReportedRun& each) {
            return std::string(letter) + ": " + shown_name(each.run.title, 28) + ", " + when_of(each);
        };
        return {line("A", first_), line("B", second_)};
    }

    Lines totals() const {
        const RunFigures& a = first_.figures;
        const RunFigures& b = second_.figures;
        const auto seconds = [](const RunFigures& each) {
            return static_cast<double>(each.makespan_us) / static_cast<double>(micros_per_second);
        };
        const auto counts = [](const char* title, std::uint64_t before, std::uint64_t after) {
            return row_of(title, format_count(before), format_count(after),
                          change_of(static_cast<double>(before), static_cast<double>(after)));
        };
        return {row_of("", "A", "B", "change"),
                row_of("Makespan", duration_text(seconds(a)), duration_text(seconds(b)),
                       change_of(seconds(a), seconds(b))),
                row_of("Tasks a second", decimal(a.tasks_per_second, 2), decimal(b.tasks_per_second, 2),
                       change_of(a.tasks_per_second, b.tasks_per_second)),
                counts("Tasks succeeded", a.tasks_succeeded, b.tasks_succeeded),
                counts("Tasks failed", a.tasks_failed, b.tasks_failed),
                counts("Attempts", a.attempts, b.attempts),
                counts("Attempts failed", a.attempts_failed, b.attempts_failed),
                counts("Workers", first_.run.workers.size(), second_.run.workers.size())};
    }

    Lines account() const {
        const model::Account& a = first_.account;
        const model::Account& b = second_.account;
        if (a.offered == 0 && b.offered == 0) return {};
        Lines lines{account_row(std::string("Offered, ") + unit_.name(), a.offered, b.offered)};
        for (std::size_t n = 0; n < a.lines.size(); ++n)
            if (a.lines[n] != 0 || b.lines[n] != 0)
                lines.push_back(
                    account_row(std::string("  ") + model::title_of(static_cast<model::AccountLine>(n)),
                                a.lines[n], b.lines[n]));
        return lines;
    }

    // Of both runs, those with most core time first.
    Lines categories() const {
        std::map<std::string, std::pair<const CategoryFigures*, const CategoryFigures*>> both;
        std::vector<std::pair<double, std::string>> names;
        for (const CategoryFigures& each : first_.figures.categories) both[each.name].first = &each;
        for (const CategoryFigures& each : second_.figures.categories) both[each.name].second = &each;
        for (const auto& [name, its] : both)
            names.emplace_back((its.first != nullptr ? its.first->core_seconds : 0) +
                                   (its.second != nullptr ? its.second->core_seconds : 0),
                               name);
        std::stable_sort(names.begin(), names.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        if (names.empty()) return {};
        Lines lines{"Median run time (attempts, failed) by category"};
        for (std::size_t n = 0; n < std::min(names.size(), most_categories); ++n) {
            const auto& [a, b] = both[names[n].second];
            const bool has_both =
                a != nullptr && b != nullptr && a->wall_seconds.count > 0 && b->wall_seconds.count > 0;
            lines.push_back(
                row_of("  " + shown_name(names[n].second, longest_name), category_text(a), category_text(b),
                       has_both ? change_of(a->wall_seconds.median, b->wall_seconds.median) : "-"));
        }
        if (names.size() > most_categories)
            lines.push_back("  and " + format_count(names.size() - most_categories) + " further");
        return lines;
    }

    Lines slowest() const {
        const std::vector<SlowAttempt>& a = first_.figures.slowest;
        const std::vector<SlowAttempt>& b = second_.figures.slowest;
        if (a.empty() && b.empty()) return {};
        Lines lines{"Slowest attempts"};
        const auto text = [](const std::vector<SlowAttempt>& all, std::size_t n) {
            if (n >= all.size()) return std::string("-");
            return "task " + std::to_string(all[n].task) + ": " + duration_text(all[n].wall_seconds);
        };
        for (std::size_t n = 0; n < std::min(std::max(a.size(), b.size()), most_slow_rows); ++n) {
            const bool has_both = n < a.size() && n < b.size();
            lines.push_back(row_of("", text(a, n), text(b, n),
                                   has_both ? change_of(a[n].wall_seconds, b[n].wall_seconds) : "-"));
        }
        return lines;
    }

  private:
    std::string account_row(const std::string& title, CoreTime a, CoreTime b) const {
        const auto cell = [&](CoreTime time, CoreTime offered) {
            return unit_.text(time) + right_aligned(percent_text(percent_of(time, offered)), 9);
        };
        return row_of(title, cell(a, first_.account.offered), cell(b, second_.account.offered),
                      change_of(core_seconds(a), core_seconds(b)));
    }
    static std::string category_text(const CategoryFigures* category) {
        if (category == nullptr) return "-";
        return text_of(category->wall_seconds, category->wall_seconds.median, duration_text) + " (" +
               format_count(category->attempts) + ", " + format_count(category->failed()) + ")";
    }

    const ReportedRun& first_;
    const ReportedRun& second_;
    const CoreUnit unit_;
};

}  // namespace

std::string comparison_text(const ReportedRun& first, const ReportedRun& second) {
    const Comparison comparison(first, second);
    Lines lacks;
    for (const auto& [letter, run] : {std::pair("A", &first.run), std::pair("B", &second.run)})
        for (const std::string& lack : run->lacks)
            lacks.push_back(std::string("Not recorded in ") + letter + ": " + line_for_message(lack));
    return text_of_sections({comparison.head(), comparison.totals(), comparison.account(),
                             comparison.categories(), comparison.slowest(), lacks},
                            SIZE_MAX);
}

}  // namespace wq::views::report
