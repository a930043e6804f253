#include "programs/run/listening.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "engine/tasklist/sources.h"
#include "net/frames/tls_identity.h"

namespace wq::programs::run {

namespace {

std::string words_on_catalogs(const std::string& password_file) {
    if (password_file.empty())
        return "; a worker that knows only a catalog server needs the password of the run, and this run has "
               "none: start it with --password FILE";
    return " (from machines that do not see the registry: with --password " +
           engine::tasklist::shell_quote(password_file) + ")";
}

}  // namespace

// Removes the file whatever its mode: the run has locked its directory, so nobody else has written it.
Listening::~Listening() {
    ::unlink(contact_path_.c_str());
}

Result<std::unique_ptr<Listening>> Listening::open(const RunOptions& options,
                                                   const std::string& run_directory,
                                                   const std::string& folder) {
    auto identity = net::frames::make_identity();
    if (!identity) return identity.error();
    auto mark = net::contact::MarkFile::make(folder, run_directory);
    if (!mark) return mark.error();
    net::frames::TcpListenOptions tcp;
    tcp.low_port = tcp.high_port = *options.listen;
    const auto say = [](const std::string& text) {
        std::fprintf(stderr, "work_queue_run: %s\n", text.c_str());
    };
    auto key = options.password_file.empty() ? Result<std::string>(net::frames::fresh_key())
                                             : net::frames::read_password(options.password_file, say);
    if (!key) return key.error();
    tcp.key = std::move(*key);
    tcp.tls = std::move(*identity);
    // Of a worker's last task: both streams, behind messages of a frame.
    constexpr std::uint64_t other_messages = 64u << 20;
    tcp.limits.most_frame_bytes = 2 * options.output_limit + other_messages;
    auto port = net::contact::open_port(std::move(tcp), {options.name, options.catalog}, say);
    if (!port) return port.error();
    std::unique_ptr<Listening> listening(
        new Listening(std::move(*port), run_directory + "/contact", std::move(*mark)));
    if (listening->port_.announcer) listening->of_catalogs_ = words_on_catalogs(options.password_file);
    if (Status written = listening->port_.write_contact(listening->contact_path_); !written)
        return written.error();
    return listening;
}

manager::status::QueueOfStatus Listening::described() const {
    const net::frames::Contact contact = port_.contact();
    return manager::status::described(contact.name, contact.port, contact.tls, contact.addresses);
}

std::string Listening::description() const {
    const std::string name = port_.contact().name;
    return "listening on port " + std::to_string(port_.number()) +
           "; workers join with: work_queue_worker --contact " +
           engine::tasklist::shell_quote(contact_path_) +
           (name.empty() ? "" : ", or: work_queue_worker -M " + engine::tasklist::shell_quote(name)) +
           of_catalogs_;
}

std::vector<std::string> Listening::take_news(bool all) {
    std::vector<std::string> news;
    for (const net::frames::Note& note : workers().take_notes()) {
        const std::string text = (note.refusal ? "worker " : "") + note.text;
        if (all)
            news.push_back(text);
        else if (note.refusal && !std::exchange(told_refusal_, true))
            news.push_back(text + " (-v shows all that are refused)");
    }
    return news;
}

}  // namespace wq::programs::run
