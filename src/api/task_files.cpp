// Task's files, as specified. submit() checks them.
#include <filesystem>
#include <utility>

#include "api/task_data.h"
#include "work_queue/task.h"

namespace wq {

namespace {

std::string last_part_of(const std::string& path) {
    return std::filesystem::path(path + "/").parent_path().filename();
}

// "b.gz" for `http://host/a/b.gz?x#y`, "" for `http://host/`.
std::string last_part_of_url(const std::string& url) {
    const std::string path = url.substr(0, url.find_first_of("?#"));
    const std::size_t host = path.find("://");
    const std::size_t slash = path.rfind('/');
    if (slash == path.npos || (host != path.npos && slash <= host + 2)) return {};
    return path.substr(slash + 1);
}

}  // namespace

Task& Task::input_file(std::string path, std::string name, FileOptions options) {
    if (name.empty()) name = last_part_of(path);
    own().say_files().inputs.push_back(
        {files::trees::Source::file, std::move(path), {}, std::move(name), options.cache});
    return *this;
}
Task& Task::input_buffer(std::string bytes, std::string name, FileOptions options) {
    own().say_files().inputs.push_back(
        {files::trees::Source::buffer, std::move(bytes), {}, std::move(name), options.cache});
    return *this;
}
Task& Task::input_piece(std::string path, std::string name, std::uint64_t first_byte, std::uint64_t last_byte,
                        FileOptions options) {
    own().say_files().inputs.push_back({files::trees::Source::file, std::move(path),
                                        files::trees::Piece{first_byte, last_byte}, std::move(name),
                                        options.cache});
    return *this;
}
Task& Task::input_folder(std::string name) {
    own().say_files().inputs.push_back({files::trees::Source::folder, {}, {}, std::move(name), false});
    return *this;
}
Task& Task::input_url(std::string url, std::string name, FileOptions options) {
    if (name.empty()) name = last_part_of_url(url);
    own().say_files().inputs.push_back(
        {files::trees::Source::url, std::move(url), {}, std::move(name), options.cache});
    return *this;
}
Task& Task::input_command(std::string line, std::string name, FileOptions options) {
    own().say_files().inputs.push_back(
        {files::trees::Source::command, std::move(line), {}, std::move(name), options.cache});
    return *this;
}
Task& Task::output_file(std::string path, std::string name, FileOptions options) {
    if (name.empty()) name = last_part_of(path);
    own().say_files().outputs.push_back({std::move(name), std::move(path), options.watch,
                                         !options.success_only, !options.failure_only, options.cache});
    return *this;
}

void Task::specify_directory(std::string path, std::string name, bool recursive, bool cache) {
    if (name.empty()) name = last_part_of(path);
    if (recursive)
        input_file(std::move(path), std::move(name), {cache});
    else
        input_folder(std::move(name));
}

}  // namespace wq
