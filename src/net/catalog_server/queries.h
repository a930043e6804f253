// A connection that asks one question by HTTP.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "net/catalog_server/answer.h"
#include "net/catalog_server/catalog_server.h"
#include "net/catalog_server/connection.h"
#include "net/catalog_server/guests.h"

namespace wq::net::catalog_server {

// Further parts of answers are made one between two looks at the sockets, and of each address in its turn: a
// new query waits for one of them only, and a long one for one of each other address.
class QueryTurns {
  public:
    explicit QueryTurns(boost::asio::io_context& context) : context_(context) {}
    // `address`: as neighbours_of(). `make` returns false if nobody wants this part any more.
    void add(const std::string& address, std::function<bool()> make);

  private:
    void wake();
    bool run_one();
    boost::asio::io_context& context_;
    std::map<std::string, std::deque<std::function<bool()>>> waiting_;  // by address
    std::string last_;                                                  // address
    bool posted_ = false;
};

struct QueryRoom {
    QueryTurns& turns;
    Guests& guests;
    const GuestLimits& limits;
    std::function<HttpAnswer(const HttpRequest&)> answer;
};

// `room` outlives it.
void answer_query_of(std::unique_ptr<ClientStream> stream, std::string address, const QueryRoom& room);

}  // namespace wq::net::catalog_server
