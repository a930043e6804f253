// share/doc/statistics.md describes every dataset: its tables are those of schema.h, to the letter.
#include <gtest/gtest.h>

#include "records/hdf5/schema.h"
#include "records/hdf5/stats_log.h"
#include "records/journal/transactions.h"
#include "support/source_dir.h"
#include "unit/records/journal/records_testing.h"

namespace wq::records::hdf5 {
namespace {

std::string dtype_of(const Column& column) {
    switch (column.type) {
        case ColumnType::u64:
            return "uint64";
        case ColumnType::i64:
            return "int64";
        case ColumnType::u32:
            return "uint32";
        case ColumnType::i32:
            return "int32";
        case ColumnType::u16:
            return "uint16";
        case ColumnType::f64:
            return "float64";
        case ColumnType::text:
            return "S" + std::to_string(column.bytes);
        case ColumnType::flag:
            return "bool";
        case ColumnType::ending:
        case ColumnType::direction:
            return "uint8 (enum)";
    }
    return "";
}

std::string table_of(const Schema& schema) {
    std::string text = "### /" + std::string(schema.name) + "\n\n" + schema.meaning + " (" +
                       std::to_string(schema.row_bytes) +
                       " bytes each).\n\n| column | dtype | unit | meaning |\n|---|---|---|---|\n";
    for (const Column& column : schema.columns) {
        text += "| `" + std::string(column.name) + "` | " + dtype_of(column) + " | " + column.unit + " | " +
                column.meaning + " |\n";
    }
    return text;
}

std::string guide() {
    return test::read_file((wq::test::source_dir() / "share/doc/statistics.md").string());
}

TEST(Guide, DescribesEveryDatasetAsItIs) {
    const std::string page = guide();
    for (const Schema& schema : schemas()) {
        const std::string table = table_of(schema);
        EXPECT_NE(page.find(table), std::string::npos) << "share/doc/statistics.md lacks this:\n" << table;
    }
}

TEST(Guide, QuotesTheHeadingsOfTheTextLogs) {
    const std::string page = guide();
    EXPECT_NE(page.find(stats_log_heading()), std::string::npos) << stats_log_heading();
    const std::string heading(
        journal::transactions_heading().substr(0, journal::transactions_heading().size() - 1));
    EXPECT_NE(page.find(heading), std::string::npos) << heading;
}

}  // namespace
}  // namespace wq::records::hdf5
