// Announces a manager or a factory to the catalog servers that its user named.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/catalog/catalog_client.h"
#include "net/contact/repeated_work.h"

namespace wq::net::contact {

// A record that is not sent again for this long is forgotten by the servers. Six updates may be lost.
inline constexpr Duration record_lifetime = std::chrono::seconds(200);

struct Announcement {
    catalog::CatalogHosts hosts;
    catalog::UpdateWay way;
};
// Of `option` (of --catalog), else of $CATALOG_HOST, $CATALOG_PORT, $CATALOG_UPDATE_PROTOCOL and
// $CATALOG_UPDATE_LIMIT. Error (usage): one of them is wrong; `hosts` is empty if no server is named.
Result<Announcement> announcement_of(const std::string& option);

class Announcer {
  public:
    // `whose`: "this manager". `say` gets a line when no server takes the records, and when one takes them
    // again.
    Announcer(Announcement announcement, const std::string& whose,
              std::function<void(const std::string&)> say);
    ~Announcer();  // the servers forget the record; waits for them 2 s at most
    Announcer(const Announcer&) = delete;

    // Sends this JSON object, on another thread.
    void publish_record(std::string record);
    // The same of what makes the record; an empty function: says what became of the last one.
    void take(const std::function<std::string()>& record);

  private:
    struct Line;

    const std::shared_ptr<Line> line_;
    RepeatedWork writing_;
};

}  // namespace wq::net::contact
