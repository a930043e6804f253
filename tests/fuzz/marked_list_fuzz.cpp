// A shared list, and what workers do to it. Any bytes are a list or refused; whatever edits follow, what is
// kept beside the lines is right, the splices make the file, an edit that is taken back leaves no trace, a
// task is never lost, and a reset list has no marks. Records come back the same; any line is a record or
// none.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "require.h"
#include "shared_list/text/choice.h"
#include "shared_list/text/document.h"
#include "shared_list/text/list_views.h"
#include "shared_list/text/merge.h"
#include "shared_list/text/rehearsal.h"

namespace {

using wq::fuzz::require;
using namespace wq::shared_list::text;

// Takes numbers from the end of the input.
class Numbers {
  public:
    explicit Numbers(std::string_view bytes) : rest_(bytes) {}
    bool any() const { return !rest_.empty(); }
    std::uint64_t below(std::uint64_t limit) {
        if (rest_.empty() || limit == 0) return 0;
        const auto byte = static_cast<unsigned char>(rest_.back());
        rest_.remove_suffix(1);
        return byte % limit;
    }
    std::string stamp() {
        std::string text = "01-01 00:00:00";
        const std::uint64_t second = ++seconds_ % 60;
        text[12] = static_cast<char>('0' + second / 10);
        text[13] = static_cast<char>('0' + second % 10);
        return text;
    }

  private:
    std::string_view rest_;
    std::uint64_t seconds_ = 0;
};

Edit edit_of(const Document& list, Numbers& numbers) {
    const auto worker = static_cast<WorkerId>(numbers.below(3));
    const std::uint64_t number = 1 + numbers.below(list.lines() + 2);
    const bool there = number <= list.lines();
    switch (numbers.below(4)) {
        case 0:
            return Join{worker, "host", numbers.stamp()};
        case 1:
            return Take{number, worker, numbers.stamp(),
                        there ? std::string(searched_text(list.line(number).text)) : "x"};
        case 2: {
            End end{
                number, worker, numbers.stamp(), numbers.stamp(), static_cast<TryEnd>(1 + numbers.below(3)),
                0,      "gone"};
            if (!there || list.line(number).tries.empty()) return end;
            end.worker = list.line(number).tries.back().worker;
            end.begun = list.line(number).tries.back().begun;
            end.command = list.line(number).command;
            return end;
        }
        default:
            return Append{"added\n", "1.0-6"};
    }
}

std::multiset<std::string> tasks_of(const Document& list) {
    std::multiset<std::string> tasks;
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        const LineKind kind = list.line(number).kind;
        if (kind == LineKind::open || kind == LineKind::running || kind == LineKind::done)
            tasks.insert(list.line(number).command);
    }
    return tasks;
}

std::multiset<std::string> unfinished(const Document& list) {
    std::multiset<std::string> tasks;
    for (std::uint64_t number = 1; number <= list.lines(); ++number) {
        const LineKind kind = list.line(number).kind;
        if (kind == LineKind::open || kind == LineKind::running) tasks.insert(list.line(number).command);
    }
    return tasks;
}

// Somebody read the list after so many edits, and wrote it after all of them with a task of his own: no task
// is lost, and none runs again, also if others have the same command.
void check_merge(std::string text, std::size_t read_at, const std::vector<Edit>& history,
                 const Document& list) {
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += "edited\n";
    std::multiset<std::string> waiting = unfinished(list);
    waiting.insert("edited");
    const std::multiset<std::string> tasks = tasks_of(Document::read(text).value());
    for (const Document* known : {static_cast<const Document*>(nullptr), &list}) {
        const auto merged = merge(text, {history, read_at, true}, known);
        require(merged.ok(), "a list that was read can be merged");
        require(unfinished(merged->list) == waiting, "tasks wait once in a merged list");
        require(std::ranges::includes(tasks_of(merged->list), tasks), "a merged list has the editor's tasks");
    }
}

std::string spliced(std::string_view file, const std::vector<Splice>& splices) {
    std::string text;
    std::uint64_t at = 0;
    for (const Splice& splice : splices) {
        require(splice.offset >= at && splice.offset + splice.length <= file.size(),
                "splices lie in the file, in order");
        text += std::string(file.substr(at, splice.offset - at)) + splice.text;
        at = splice.offset + splice.length;
    }
    return text + std::string(file.substr(at));
}

void check_reports(const Document& list) {
    (void)status_table(list, "list", {{0, "now"}}, 5);
    (void)graph_dot(group_graph(list), "list");
    if (list.lines() < 40) (void)rehearsal_text(list, rehearse(list, 3));
    const auto choice = choose(list, 1, 0);
    if (choice)
        require(
            list.line(choice->number).kind == (choice->environment ? LineKind::environment : LineKind::open),
            "a choice waits");
}

// An end of a try that was thought lost.
bool is_late(const Document& before, const Edit& edit) {
    const auto* const end = std::get_if<End>(&edit);
    return end != nullptr && end->command != "gone" && before.line(end->number).kind != LineKind::running;
}

// Once begun, such a command is `#?line:7#`, which no task is.
bool has_ambiguous_command(const Document& list) {
    for (std::uint64_t number = 1; number <= list.lines(); ++number)
        if (is_run_mark("#" + list.line(number).command)) return true;
    return false;
}

void check_edits(std::string_view bytes, Numbers numbers) {
    auto read = Document::read(bytes);
    if (!read || has_ambiguous_command(*read)) return;
    Document list = std::move(*read);
    const Document as_read = list;
    require(list.bytes() == bytes, "a list is kept as it is");
    std::multiset<std::string> tasks = tasks_of(list);
    std::vector<Edit> history;
    const std::uint64_t reads_at = numbers.below(40);
    std::size_t read_at = 0;
    std::string text(bytes);
    bool are_new = true;
    for (int step = 0; step < 40 && numbers.any(); ++step) {
        const std::string before = list.bytes();
        const Edit edit = edit_of(list, numbers);
        if (stands(as_read, edit) || is_late(list, edit)) are_new = false;
        list.begin_change();
        list.apply(edit);
        require(spliced(bytes, list.splices()) == list.bytes(), "the splices make the file");
        list.undo_change();
        require(list.bytes() == before, "what is taken back leaves no trace");
        list.apply(edit);
        require(list.audit().empty(), "what is kept beside the lines is right");
        if (std::holds_alternative<Append>(edit)) tasks.insert("added");
        if (list.bytes() != before) history.push_back(edit);
        if (history.size() == reads_at) {
            read_at = history.size();
            text = list.bytes();
        }
    }
    require(tasks_of(list) == tasks, "no task is lost");
    check_reports(list);
    const std::string fresh = reset(list, 0);
    const Document as_new = Document::read(fresh).value();
    for (std::uint64_t number = 1; number <= as_new.lines(); ++number)
        require(as_new.line(number).kind != LineKind::running, "a reset list has nothing that runs");
    // Else the list says that its edits were made before, or lines of one command may change places.
    if (are_new) check_merge(text, read_at, history, list);
    for (const Edit& edit : history) {
        const Record record{7, "token", {edit}, false};
        require(record_of(to_line(record)) == record, "a record comes back the same");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    (void)record_of(bytes);
    const std::size_t cut = bytes.rfind('\n');
    check_edits(bytes.substr(0, cut), Numbers(cut == std::string_view::npos ? bytes : bytes.substr(cut)));
    return 0;
}
