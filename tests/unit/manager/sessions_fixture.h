// A manager, and peers over TCP that say what a test wants.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "manager/manager.h"
#include "manager/task_table.h"
#include "net/frames/loopback.h"
#include "support/fake_recorder.h"
#include "support/inline_background.h"

namespace wq::manager {

inline constexpr net::frames::PeerId manager_peer{0};

inline net::messages::Hello hello(const std::string& identity) {
    net::messages::Hello hello;
    hello.host = "node";
    hello.identity = identity;
    hello.offers = {2, 1000, 1000, 0};
    return hello;
}

class Sessions : public ::testing::Test {
  protected:
    struct Peer {
        std::unique_ptr<net::frames::Transport> end;
        bool left = false;
    };

    Sessions() : manager_(options(), tasks_, recorder_, {}) {
        manager_.expect_tcp_workers(*end_);
        manager_.say = [this](const std::string& text) { said_ += text + "\n"; };
        for (int n = 0; n < 4; ++n) tasks_.add_line("task", 1, 0);
        manager_.add({TaskId(0), 4, {}, {}}, {}, {}, {});
    }

    ManagerOptions options() {
        ManagerOptions options;
        options.ranks = 3;
        options.reactor.expected_workers = 0;
        options.reactor.wait_for_fitting = true;
        options.disconnect_limit = std::chrono::seconds(60);
        options.background = &files_;
        return options;
    }

    Peer peer() {
        const net::frames::PeerId id = network_.add();
        network_.connect(manager_peer, id);
        ids_.push_back(id);
        return {network_.endpoint(id)};
    }

    void turn(engine::model::Now now = {}) {
        std::vector<net::frames::Arrival> inbox;
        end_->poll(inbox);
        for (const net::frames::Arrival& arrival : inbox) manager_.on_arrival(*end_, arrival, now);
        files_.run();
        manager_.tick(now);
        manager_.flush();
    }

    // What the manager answers to these messages in one frame.
    std::vector<net::messages::Message> say(Peer& peer, const std::vector<net::messages::Message>& messages) {
        std::string frame;
        for (const net::messages::Message& message : messages) frame += net::messages::encode(message);
        peer.end->send(manager_peer, frame);
        turn();
        return heard(peer);
    }

    // What is recorded of a worker that joins with this.
    records::journal::WorkerRecord recorded(const net::messages::Hello& hello, engine::model::Now now) {
        Peer worker = peer();
        worker.end->send(manager_peer, net::messages::encode(hello));
        turn(now);
        return recorder_.workers().empty() ? records::journal::WorkerRecord{} : recorder_.workers().back();
    }

    static std::vector<net::messages::Message> heard(Peer& peer) {
        std::vector<net::frames::Arrival> inbox;
        peer.end->poll(inbox);
        std::vector<net::messages::Message> all;
        for (const net::frames::Arrival& arrival : inbox) {
            peer.left = peer.left || std::holds_alternative<net::frames::Left>(arrival);
            const auto* frame = std::get_if<net::frames::Frame>(&arrival);
            const auto messages = frame != nullptr ? net::messages::decode(frame->bytes) : std::nullopt;
            if (messages) all.insert(all.end(), messages->begin(), messages->end());
        }
        return all;
    }

    template <class M>
    static const M* first(const std::vector<net::messages::Message>& messages) {
        for (const net::messages::Message& message : messages)
            if (const auto* found = std::get_if<M>(&message)) return found;
        return nullptr;
    }

    void expect_refused(const std::vector<net::messages::Message>& messages, const std::string& why) {
        Peer stranger = peer();
        const auto answers = say(stranger, messages);
        const auto* refused = first<net::messages::Refused>(answers);
        ASSERT_NE(refused, nullptr) << why;
        EXPECT_THAT(refused->why, ::testing::HasSubstr(why));
        EXPECT_TRUE(stranger.left) << why;
    }

    std::int64_t connected_workers() const { return manager_.stats().workers_connected; }

    testing::InlineBackground files_;
    net::frames::LoopbackNetwork network_{1};
    std::unique_ptr<net::frames::Transport> end_ = network_.endpoint(manager_peer);
    testing::FakeRecorder recorder_;
    TaskTable tasks_;
    Manager manager_;
    std::vector<net::frames::PeerId> ids_;
    std::string said_;
};

}  // namespace wq::manager
