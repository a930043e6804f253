// The tables of work_queue_status: columns, widths and cutting are those of CCTools' program, to the byte, as
// long as it cuts only texts. A cut number or address is a wrong one. They are never cut here; the following
// blanks shrink instead.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace wq::programs::status {

struct StatusColumn {
    const char* title;
    const char* key;  // of a record
    enum class Align { left, right } align;
    int width;               // below 0: at least so wide; such columns share the rest of the line
    bool gigabytes = false;  // the value is in MB
    bool whole = false;      // as numbers are, the text is not cut
};
using StatusColumns = std::vector<StatusColumn>;

// The modes of the command line.
extern const StatusColumns queue_columns;
extern const StatusColumns task_columns;
extern const StatusColumns worker_columns;
extern const StatusColumns category_columns;
extern const StatusColumns resource_columns;
extern const StatusColumns capacity_columns;
extern const StatusColumns factory_columns;  // CCTools' program has none

class StatusTable {
  public:
    // Columns beyond the width of the line are omitted.
    StatusTable(const StatusColumns& columns, int line_width);

    std::string header() const;  // a line
    // A line, with `mark` at its end; ??? for what the record lacks.
    std::string row(const nlohmann::ordered_json& record, const std::string& mark = "") const;

  private:
    StatusColumns columns_;  // with their widths in this table
};

// $COLUMNS, else that of the terminal, else 80.
int line_width();

}  // namespace wq::programs::status
