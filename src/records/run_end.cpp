#include "records/run_end.h"

#include <filesystem>

#include "records/run_status.h"

namespace wq::records {

RunEnd end_of_run(const std::string& contact) {
    std::error_code error;
    if (std::filesystem::exists(contact, error) || error) return RunEnd::no;
    const auto status = read_status(std::filesystem::absolute(contact, error).parent_path().string());
    if (!status || status->state == "running") return RunEnd::no;
    return status->state == "interrupted" ? RunEnd::resumable : RunEnd::over;
}

}  // namespace wq::records
