// catalog_query: prints records of a catalog server.
#include <cstdio>

#include "base/json.h"
#include "base/shortage.h"
#include "base/units.h"
#include "net/catalog/catalog_client.h"
#include "net/catalog/record.h"
#include "programs/status/catalog_options.h"

namespace {

using namespace wq;

void print_records(const std::vector<Json>& records) {
    std::fputs("[\n", stdout);
    bool first = true;
    for (const Json& record : records) {
        std::printf("%s%s", first ? "" : ",\n", net::catalog::text_of(record, 2).c_str());
        first = false;
    }
    std::fputs("\n]\n", stdout);
}

void print_columns(const programs::status::CatalogQueryCommand& command, const std::vector<Json>& records) {
    for (const auto& column : command.columns)
        std::printf("%s\t", net::catalog::without_controls(column.first).c_str());
    std::fputs("\n", stdout);
    for (const Json& record : records) {
        for (const auto& column : command.columns) {
            const auto value = column.second.value(record);
            const std::string text = !value               ? "???"
                                     : value->is_string() ? value->text()
                                                          : net::catalog::text_of(*value);
            std::printf("%s\t", net::catalog::without_controls(text).c_str());
        }
        std::fputs("\n", stdout);
    }
}

Status ask(const programs::status::CatalogQueryCommand& command) {
    const auto records =
        net::catalog::CatalogClient(command.hosts).query(command.where, instant_now() + command.timeout);
    if (!records) return records.error();
    command.columns.empty() ? print_records(*records) : print_columns(command, *records);
    return success();
}

}  // namespace

int main(int argc, char** argv) {
    const auto command = programs::status::parse_catalog_query_options(argc, argv);
    Status done = command ? success() : Status(command.error());
    if (command && command->help)
        std::fputs(programs::status::catalog_query_help().c_str(), stdout);
    else if (command && command->version)
        std::puts("catalog_query " WQ_VERSION);
    else if (command)
        done = ask(*command);
    if (done) return after_output("catalog_query", 0);
    std::fprintf(stderr, "catalog_query: %s\n", line_for_message(done.error().message, 1000).c_str());
    return to_int(done.error().code);
}
