#include "files/trees/task_files.h"

#include <algorithm>
#include <set>

#include "files/trees/tree_format.h"

namespace wq::files::trees {

namespace {

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
    std::string result;
    for (std::size_t found = text.find(what); found != text.npos; found = text.find(what)) {
        result.append(text.substr(0, found)).append(by);
        text.remove_prefix(found + what.size());
    }
    return result.append(text);
}

// Quotes the path only if needed, because users also write "%%" in quotes.
std::string quoted(const std::string& path) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+:@";
    if (path.find_first_not_of(plain) == path.npos) return path;
    return "'" + replaced(path, "'", "'\\''") + "'";
}

}  // namespace

std::optional<std::string> conflict(const TaskFiles& files) {
    std::set<std::string> names;
    for (const InputFile& input : files.inputs)
        if (!names.insert(input.name).second) return "two input files have the name '" + input.name + "'";
    // If inputs were nested, the one placed last would decide the content.
    const std::string* before = nullptr;
    std::set<std::string> inputs;
    for (const InputFile& input : files.inputs) inputs.insert(input.name + '/');
    for (const std::string& name : inputs) {
        if (before != nullptr && name.starts_with(*before))
            return "the input file '" + name.substr(0, name.size() - 1) + "' is inside another one";
        before = &name;
    }
    std::set<std::string> targets;
    for (const OutputFile& output : files.outputs) {
        if (!names.insert(output.name).second)
            return "'" + output.name + "' is both an output file and another file of the task";
        if (!targets.insert(output.to).second)
            return "two output files have the destination '" + output.to + "'";
    }
    return std::nullopt;
}

std::string for_platform(std::string_view path, std::string_view os, std::string_view arch) {
    return replaced(replaced(path, "$OS", os), "$ARCH", arch);
}

std::string command_into(std::string_view line, const std::string& path) {
    const std::string target = quoted(path);
    if (line.find("%%") != line.npos) return replaced(line, "%%", target);
    return "{ " + std::string(line) + "\n} > " + target;
}

ContentReader::ContentReader(const InputFile& input) : from_(Bytes{}) {
    if (input.source == InputSource::folder)
        from_ = Bytes{empty_folder_stream(), {}, {}};
    else if (input.source == InputSource::buffer)
        from_ = Bytes{head_of_stream(input.from.size()), input.from, tail_of_stream()};
    else
        from_.emplace<TreeReader>(input.from, input.piece);
}

void ContentReader::Bytes::take(std::string& out, std::size_t most) {
    const auto from = [&](auto& part) {
        const std::size_t count = std::min(most, part.size());
        out.append(part.data(), count);
        part = part.substr(count);
        most -= count;
    };
    from(head);
    from(middle);
    from(tail);
}

Trouble ContentReader::read(std::string& out, std::size_t most) {
    if (auto* tree = std::get_if<TreeReader>(&from_)) return tree->read(out, most);
    std::get<Bytes>(from_).take(out, most);
    return std::nullopt;
}

bool ContentReader::done() const {
    if (const auto* tree = std::get_if<TreeReader>(&from_)) return tree->done();
    return std::get<Bytes>(from_).empty();
}

}  // namespace wq::files::trees
