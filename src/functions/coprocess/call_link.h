// The connection of one call to its coprocess, with what is to be sent and what has been received. It never
// waits.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"
#include "engine/model/outcome.h"
#include "functions/coprocess/message.h"

namespace wq::functions::coprocess {

class CallLink {
  public:
    enum class State {
        closed,
        open,      // a part of the answer may be there
        answered,  // take_answer()
        no_answer  // what came is none, or is too long
    };

    // Error: this program can open no connection. A coprocess that takes none closes it at once.
    Status open(std::uint16_t port, std::string to_send);
    void close();

    State state() const { return state_; }
    bool has_sent_all() const { return to_send_.empty(); }
    bool too_long() const { return answer_.too_long(); }
    pollfd polled() const;
    // Sends and receives. What one turn receives is limited, since others wait meanwhile.
    void move_bytes(short events);
    void receive_all();  // that is there
    // Closes our side: the coprocess is to end the call. What it still sends is dropped.
    void give_up();

    const std::string& words() const { return answer_.words(); }
    std::string take_answer() { return std::move(answer_.body()); }

  private:
    void send();
    void receive(int most_reads);

    State state_ = State::closed;
    bool given_up_ = false;
    Descriptor link_;
    std::string to_send_;
    std::size_t sent_ = 0;
    LengthReader answer_{engine::model::most_output_limit};
};

}  // namespace wq::functions::coprocess
