// A connection that asks one question by HTTP.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "catalog_server/answer.h"
#include "catalog_server/guests.h"
#include "catalog_server/settings.h"
#include "catalog_server/stream.h"

namespace wq::catalog_server {

// Searches that take longer than a turn go on one after the other, one between two looks at the sockets: new
// queries wait for one of them only, however many there are.
class Turns {
  public:
    explicit Turns(boost::asio::io_context& context) : context_(context) {}
    void add(std::function<void()> next);

  private:
    void run_one();
    boost::asio::io_context& context_;
    std::deque<std::function<void()>> waiting_;
};

struct QueryRoom {
    Turns& turns;
    Guests& guests;
    const GuestLimits& limits;
    std::function<Answer(const HttpRequest&)> answer;
    std::function<void()> left;  // one guest less
};

// `room` outlives it.
void answer_query_of(std::unique_ptr<Stream> stream, std::string address, const QueryRoom& room);

}  // namespace wq::catalog_server
