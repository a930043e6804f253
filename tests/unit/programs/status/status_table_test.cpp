// Tables of work_queue_status: as CCTools' program printed the same records (golden/status).
#include "programs/status/status_table.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "support/golden_file.h"

namespace wq::programs::status {
namespace {

const Json queues = Json::parse(R"([{"project":"align","name":"some.host.example.org","port":1026,
  "tasks_waiting":4,"tasks_running":2,"tasks_complete":23456789,"workers":1,"cores_total":8,"cores_inuse":2,
  "memory_total":16000,"memory_inuse":999,"disk_total":50000,"disk_inuse":1500},
  {"project":"a-project-with-a-rather-long-name-indeed-very-long","port":9123,"tasks_waiting":1.5,
  "tasks_running":null,"tasks_complete":true,"workers":[1,2]}])");
const Json tasks = Json::parse(R"([{"taskid":6,"state":"running","priority":"0","host":"vm",
  "command":"sleep 11","cores":1,"memory":-1,"disk":-1,"gpus":-1},
  {"taskid":1234,"state":"WAITING_RETRIEVAL","priority":2.5,"command":
  "a very long command with many words that does not fit in any column of the table at all, indeed",
  "cores":1.5,"memory":100,"disk":10,"gpus":0}])");
const Json workers = Json::parse(R"([{"hostname":"vm","address_port":"127.0.0.1:58320",
  "total_tasks_complete":0,"total_tasks_running":2,"cores_inuse":2,"cores_total":2,"memory_inuse":1000,
  "memory_total":1000,"disk_inuse":1000,"disk_total":1000,"gpus_inuse":0,"gpus_total":0}])");
const Json categories = Json::parse(R"([{"category":"whole queue","tasks_on_workers":2,"tasks_waiting":4,
  "workers_able":1,"max_cores":"1.000"},
  {"category":"a-category-with-a-name-that-is-too-long-for-most-columns","tasks_on_workers":2,
  "tasks_waiting":4,"workers_able":1,"max_cores":"~1011","max_memory":">243","max_disk":"na"}])");

std::string text_of(const StatusColumns& columns, const Json& records, int width) {
    const StatusTable table(columns, width);
    std::string text = table.header();
    for (const Json& record : records.parts()) text += table.row(record);
    return text;
}

TEST(StatusTable, IsThatOfCCToolsInEveryWidth) {
    std::string all;
    for (const int width : {10, 40, 60, 80, 81, 100, 130, 200}) {
        const std::string at = "== " + std::to_string(width) + " ";
        all += at + "-Q\n" + text_of(queue_columns, queues, width);
        all += at + "-T\n" + text_of(task_columns, tasks, width);
        all += at + "-W\n" + text_of(worker_columns, workers, width);
        all += at + "-A\n" + text_of(category_columns, categories, width);
        all += at + "-R\n" + text_of(resource_columns, queues, width);
    }
    test::expect_golden("status/cctools.txt", all);
}

// Cut, each would be another one. The row catches up in the blanks behind it.
TEST(StatusTable, NumbersAndAddressesAreWhole) {
    const auto row = [](const StatusColumns& columns, const char* record) {
        return StatusTable(columns, 80).row(Json::parse(record));
    };
    EXPECT_EQ(row(worker_columns, R"({"hostname":"node7","address_port":"192.168.10.12:58320",
      "total_tasks_complete":7,"total_tasks_running":2,"cores_inuse":64,"cores_total":128,
      "memory_inuse":1000000,"memory_total":1031000,"disk_inuse":5,"disk_total":5})"),
              "node7      192.168.10.12:58320     7 2       64     128    1000000 1031000 5  5      \n");
    EXPECT_EQ(row(queue_columns, R"({"project":"p","name":"2001:db8:85a3:8d3:1319:8a2e:370:7348","port":9123,
      "tasks_waiting":123456789,"tasks_running":1,"tasks_complete":123456789,"workers":3})"),
              "p                  2001:db8:85a3:8d3:1319:8a2e:370:7348 9123 123456789 1 123456789 3 \n");
    EXPECT_EQ(row(task_columns, R"({"taskid":123456,"state":"RUNNING","priority":0,"host":"n","command":"x",
      "cores":1,"memory":1,"disk":1,"gpus":0})"),
              "123456 RUNNING       0 n          x                  1        1        1        \n");
}

TEST(StatusTable, AMarkIsBehindTheRow) {
    const Json record = Json::parse(R"({"project":"p"})");
    const StatusTable table(capacity_columns, 80);
    const std::string row = table.row(record);
    EXPECT_EQ(table.row(record, "silent"), row.substr(0, row.size() - 1) + "silent\n");
}

TEST(StatusTable, NothingInARecordMovesTheCursor) {
    const Json record = Json::parse(R"({"taskid":1,"command":"echo \u001b[2J\nrm\t\u007f"})");
    const std::string row = StatusTable(task_columns, 130).row(record);
    EXPECT_NE(row.find("echo  [2J rm  "), std::string::npos) << row;
    EXPECT_EQ(row.find('\n'), row.size() - 1);
}

TEST(StatusTable, CharactersOfSeveralBytesAreNotCut) {
    const Json record = Json::parse(R"({"project":"ääääääääääääääääääää","port":1})");
    const std::string row = StatusTable(queue_columns, 80).row(record);
    EXPECT_TRUE(row.starts_with("ääääääääääääääääää ???")) << row;
}

}  // namespace
}  // namespace wq::programs::status
