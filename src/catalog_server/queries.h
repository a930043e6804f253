// A connection that asks one question by HTTP.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "catalog_server/answer.h"
#include "catalog_server/guests.h"
#include "catalog_server/settings.h"
#include "catalog_server/stream.h"

namespace wq::catalog_server {

struct QueryRoom {
    boost::asio::io_context& context;
    Guests& guests;
    const GuestLimits& limits;
    std::function<Answer(const HttpRequest&)> answer;
    std::function<void()> left;  // one guest less
};

// `room` outlives it.
void answer_query_of(std::unique_ptr<Stream> stream, std::string address, const QueryRoom& room);

}  // namespace wq::catalog_server
