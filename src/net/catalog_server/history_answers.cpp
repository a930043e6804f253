#include "net/catalog_server/history_answers.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "net/catalog/catalog_client.h"
#include "net/catalog_server/answer.h"
#include "net/catalog_server/history_replay.h"

namespace wq::net::catalog_server {

namespace {

constexpr std::size_t most_time_digits = 12;

std::optional<std::int64_t> time_of(std::string_view word) {
    const auto time = number_in<std::int64_t>(word);
    return word.size() <= most_time_digits && time.value_or(-1) >= 0 ? time : std::nullopt;
}

// Up to the next '/', which is removed, too.
std::string_view first_part(std::string_view& path) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    return part;
}

HttpAnswer refused(std::string_view status, const std::string& why) {
    return HttpAnswer{
        whole(http_head(status, "text/html; charset=utf-8", page_headers()) + error_page(status, why))};
}

HttpAnswer busy() {
    return refused("503 Service Unavailable", "Others are asking for the past. Try again in a while.");
}

}  // namespace

HistoryAnswers::HistoryAnswers(boost::asio::io_context& context, const HistoryFiles& files,
                               const catalog::TableLimits& limits, const ServerFacts& facts)
    : files_(files), limits_(limits), facts_(facts), ended_(context, ::dup(thread_.descriptor())) {
    wait();
}

void HistoryAnswers::wait() {
    ended_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this](boost::system::error_code error) {
                          if (error) return;
                          thread_.finish();
                          wait();
                      });
}

HistoryAnswers::Slot HistoryAnswers::slot(const Free& free) {
    if (*free == 0) return nullptr;
    --*free;
    return {free.get(), [free](int* one) { ++*one; }};
}

std::optional<HttpAnswer> HistoryAnswers::answer(const HttpRequest& request) {
    std::string_view path = request.path;
    const bool updates_only = path.starts_with("/updates/");
    if (!updates_only && !path.starts_with("/history/")) return std::nullopt;
    path.remove_prefix(9);
    const std::string_view first_word = first_part(path);
    const auto first = time_of(first_word);
    if (!first) return refused("400 Bad Request", "A time is a number of seconds since 1970.");
    std::string_view behind = path;
    const auto second = time_of(first_part(behind));
    if (second) return updates(*first, *second, behind);
    if (updates_only) return refused("400 Bad Request", "A time is a number of seconds since 1970.");
    if (request.path.size() == 9 + first_word.size())
        return HttpAnswer{whole(http_head("301 Moved Permanently", "text/plain",
                                          "Location: /history/" + std::to_string(*first) + "/\r\n"))};
    return then(*first, {"/" + std::string(path), request.head_only});
}

HttpAnswer HistoryAnswers::then(std::int64_t time, HttpRequest request) {
    struct Past {
        Past(Slot place, const catalog::TableLimits& limits) : slot(std::move(place)), table(limits) {}
        Slot slot;
        catalog::RecordTable table;
        Pieces pieces;
    };
    auto place = slot(free_snapshots_);
    if (!place) return busy();
    const auto past = std::make_shared<Past>(std::move(place), limits_);
    HttpAnswer answer;
    answer.later = [this, past, time, request = std::move(request)](const Deliver& deliver) {
        const auto give = [past, deliver] {
            std::string piece;
            const bool more = past->pieces(piece);
            deliver(std::move(piece), more);
        };
        if (past->pieces) return give();
        thread_.post([this, past, time, request, give]() -> BackgroundThread::Then {
            const HistoryState state = history_at(files_, time, limits_.bytes);
            for (const auto& [key, record] : state.records())
                past->table.restore(key, record, catalog::Protocol::tcp, Instant::max());
            return [this, past, time, request, give] {
                ServerFacts facts = facts_;
                facts.wall = [time] { return time * micros_per_second; };
                past->pieces = answer_to(request, past->table, facts);
                give();
            };
        });
    };
    return answer;
}

HttpAnswer HistoryAnswers::updates(std::int64_t begin, std::int64_t end, std::string_view where) {
    if (where.ends_with('/') && where.size() % 4 == 1) where.remove_suffix(1);
    const auto text = catalog::bytes_of_base64(where);
    if (!text) return refused("400 Bad Request", "Invalid base-64 encoding.");
    std::optional<catalog::JxExpression> expression;
    if (!text->empty()) {
        auto parsed = catalog::JxExpression::parse(*text);
        if (!parsed) return refused("400 Bad Request", "Invalid query text: " + parsed.error().message);
        expression = std::move(*parsed);
    }
    const Slot place = slot(free_streams_);
    if (!place) return busy();
    const auto stream =
        std::make_shared<HistoryStream>(files_, begin, end, std::move(expression), limits_.bytes);
    HttpAnswer answer;
    answer.later = [this, place, stream, first = true](const Deliver& deliver) mutable {
        const std::string head =
            std::exchange(first, false) ? http_head("200 OK", "text/plain; charset=utf-8") : "";
        thread_.post([stream, head, deliver]() -> BackgroundThread::Then {
            std::string piece = head;
            const bool more = stream->next(piece);
            return [stream, deliver, piece = std::move(piece), more] { deliver(piece, more); };
        });
    };
    return answer;
}

}  // namespace wq::net::catalog_server
