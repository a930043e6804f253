// Answers about the past: /history/TIME/... is the catalog as it was, /updates/BEGIN/END/BASE64 the changes
// for deltadb_query (CCTools before 7.14: /history/BEGIN/END/BASE64). A thread reads the files; few at a time
// are answered, since each holds all records of its time.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <optional>

#include "base/background.h"
#include "net/catalog_server/answer.h"
#include "net/catalog_server/history_log.h"

namespace wq::net::catalog_server {

class HistoryAnswers {
  public:
    // All must outlive it.
    HistoryAnswers(boost::asio::io_context& context, const HistoryFiles& files,
                   const catalog::TableLimits& limits, const ServerFacts& facts);

    // nullopt: it is no path of the past.
    std::optional<HttpAnswer> answer(const HttpRequest& request);

  private:
    using Slot = std::shared_ptr<void>;  // one of few
    using Free = std::shared_ptr<int>;
    static Slot slot(const Free& free);
    HttpAnswer then(std::int64_t time, HttpRequest request);
    HttpAnswer updates(std::int64_t begin, std::int64_t end, std::string_view where);
    void wait();

    const HistoryFiles& files_;
    const catalog::TableLimits& limits_;
    const ServerFacts& facts_;
    Free free_snapshots_ = std::make_shared<int>(2), free_streams_ = std::make_shared<int>(8);
    BackgroundThread thread_;
    boost::asio::posix::stream_descriptor ended_;
};

}  // namespace wq::net::catalog_server
