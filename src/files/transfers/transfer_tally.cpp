#include "files/transfers/transfer_tally.h"

namespace wq::files::transfers {

void TransferTally::count(const Transfer& transfer) {
    if (transfer.took > Duration{0}) {
        bytes_of_transfers_ += static_cast<std::int64_t>(transfer.bytes);
        time_of_transfers_ += transfer.took;
    }
    each_(transfer);
}

double TransferTally::bandwidth() const {
    const double seconds = std::chrono::duration<double>(time_of_transfers_).count();
    return seconds > 0 ? static_cast<double>(bytes_of_transfers_) / (1 << 20) / seconds : 0;
}

}  // namespace wq::files::transfers
