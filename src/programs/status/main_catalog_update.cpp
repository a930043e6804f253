// catalog_update: tells catalog servers of this machine.
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/json.h"
#include "base/shortage.h"
#include "base/units.h"
#include "net/catalog/catalog_client.h"
#include "net/catalog/record.h"
#include "programs/status/catalog_options.h"
#include "records/journal/append_file.h"
#include "records/journal/run_status.h"

namespace {

using namespace wq;

Json record_of_machine() {
    utsname system{};
    ::uname(&system);
    struct sysinfo info {};
    ::sysinfo(&info);
    const auto load = [&](int at) { return static_cast<double>(info.loads[at]) / (1 << SI_LOAD_SHIFT); };
    return {{"type", "node"},
            {"name", system.nodename},
            {"version", WQ_VERSION},
            {"cpu", system.machine},
            {"opsys", system.sysname},
            {"opsysversion", system.release},
            {"load1", load(0)},
            {"load5", load(1)},
            {"load15", load(2)},
            {"memory_total", std::uint64_t{info.totalram} * info.mem_unit},
            {"memory_avail", std::uint64_t{info.freeram} * info.mem_unit},
            {"cpus", ::sysconf(_SC_NPROCESSORS_ONLN)},
            {"uptime", info.uptime},
            {"owner", records::journal::user_name()}};
}

Result<Json> object_of(const std::string& file) {
    const bool from_stdin = file == "-";
    const auto text = from_stdin
                          ? Result<std::string>(std::string(std::istreambuf_iterator<char>(std::cin), {}))
                          : records::journal::read_whole(file);
    if (!text) return Error{ExitCode::bad_input, text.error().message};
    const auto record = net::catalog::read_update(*text);
    if (!record)
        return Error{ExitCode::bad_input, (from_stdin ? "stdin" : file) + ": " + record.error().message};
    return record->json();
}

Status send_update(const programs::status::CatalogUpdateCommand& command) {
    Json record = record_of_machine();
    if (!command.file.empty()) {
        const auto more = object_of(command.file);
        if (!more) return more.error();
        record.update(*more);
    }
    const auto way = net::catalog::update_way_of_environment();
    return way ? net::catalog::send_update(command.hosts, record, *way) : Status(way.error());
}

}  // namespace

int main(int argc, char** argv) {
    const auto command = programs::status::parse_catalog_update_options(argc, argv);
    Status done = command ? success() : Status(command.error());
    if (command && command->help)
        std::fputs(programs::status::catalog_update_help().c_str(), stdout);
    else if (command && command->version)
        std::puts("catalog_update " WQ_VERSION);
    else if (command)
        done = send_update(*command);
    if (done) return after_output("catalog_update", 0);
    std::fprintf(stderr, "catalog_update: %s\n", line_for_message(done.error().message, 1000).c_str());
    return to_int(done.error().code);
}
