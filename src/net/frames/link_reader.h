// The reading half of a link: what bytes from the peer mean. TLS comes first, then how the peer begins (with
// a handshake, or at a manager's end with a question in plain text), then frames. It never reads the socket.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/frames/frame_stream.h"
#include "net/frames/handshake.h"
#include "net/frames/link_writer.h"
#include "net/frames/tcp_socket.h"
#include "net/frames/tls_channel.h"

namespace wq::net::frames {

// Common to all links of one end.
struct TcpLinkPlan {
    Role role = Role::manager;
    std::string key;
    std::shared_ptr<TlsContext> tls;  // null: no TLS
    TcpLimits limits;
    Duration connect{0};
    std::string plain_refusal = ask_with_the_key;  // as TcpListenOptions
};

class LinkReader {
  public:
    // Its answers during the beginning leave by `writer`.
    LinkReader(const TcpLinkPlan& plan, LinkWriter& writer) : plan_(plan), writer_(writer) {}

    void prepare_tls(const std::string& host);  // for a worker; `host`: as the user named it
    void begin();

    // What the bytes have brought. The owner hears of `joined` or the question first, and of the failure
    // last.
    struct Heard {
        std::vector<std::string>& frames;
        bool joined = false;                    // the handshake is done
        std::optional<std::string> question{};  // in plain text (http_request.h)
        std::optional<Error> failure{};         // the link must end
    };
    Heard take(std::string_view bytes, std::vector<std::string>& frames);
    void take_end() { stage_ = Stage::asked_all; }  // of a peer that asks

    // Before the end of the handshake: tells the peer the reason, if it understands frames.
    void refuse(ExitCode code, std::string_view reason);
    void admit() { splitter_.allow(plan_.limits.most_frame_bytes); }
    void free_memory() { splitter_ = FrameSplitter(0); }

    bool asks() const { return stage_ == Stage::asks || asked_all(); }  // in plain text: it is no worker
    bool asked_all() const { return stage_ == Stage::asked_all; }       // and sends nothing more
    bool heard_any() const { return heard_bytes_ > 0; }
    const FrameSplitter& splitter() const { return splitter_; }
    TlsChannel* tls() const { return tls_.get(); }  // null: none, or not yet

  private:
    enum class Stage {
        opening,  // until we say hello: a manager waits for the peer's first bytes, a worker for TLS
        handshake,
        frames,
        asks,
        asked_all,
    };
    using Failure = std::optional<Error>;

    void greet();
    Failure take_bytes(std::string_view bytes, Heard& heard);
    Failure take_tls(std::string_view bytes, Heard& heard);
    Failure take_decrypted(std::string_view bytes, Heard& heard);
    Failure take_greeting(std::string_view frame, Heard& heard);
    Failure take_without_tls(std::string_view bytes, Heard& heard);
    Failure take_at_door(std::string_view bytes, Heard& heard);
    Failure begin_as_worker(Heard& heard);
    Failure send_away(std::string answer, std::string why);
    Failure find_frame_problem();

    const TcpLinkPlan& plan_;
    LinkWriter& writer_;
    Stage stage_ = Stage::opening;
    std::unique_ptr<TlsChannel> tls_;  // a manager's: from the peer's first record on
    std::string first_record_;         // as far as it has come, before that
    std::string door_;                 // a manager's: plain text that may become a question
    std::optional<Handshake> handshake_;
    FrameSplitter splitter_{kMostHandshakeFrame};
    std::size_t heard_bytes_ = 0;  // before the end of the handshake
};

}  // namespace wq::net::frames
