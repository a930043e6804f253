// The manager's and the ranks' end of tickets, face to face: texts that were overwritten are asked for, and a
// late draw takes nothing from a batch that it does not mean.
#include <gmock/gmock.h>

#include <map>

#include "manager/task_table.h"
#include "manager/ticket_server.h"
#include "net/frames/loopback.h"
#include "worker/ticket_client.h"

namespace wq::manager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr engine::model::Resources whole{4, 4000, 0, 0};
const engine::tasklist::CommandTemplate item({"item {}"});

engine::model::Seal seal_of(std::uint32_t batch, std::uint64_t first, std::uint64_t end) {
    engine::model::Seal seal;
    seal.batch = BatchId(batch);
    seal.tasks.insert({first, end});
    return seal;
}

class FakeCounters final : public ranks::tickets::Counters {
  public:
    Result<std::uint64_t> add(std::size_t counter, std::uint64_t amount) override {
        return std::exchange(values_[counter], values_[counter] + amount);
    }
    Result<std::uint64_t> exchange(std::size_t counter, std::uint64_t value) override {
        return std::exchange(values_[counter], value);
    }

  private:
    std::map<std::size_t, std::uint64_t> values_;
};

// Two ranks of one node, and the ticket server that answers them when the test lets it.
class TicketEnds : public ::testing::Test {
  protected:
    struct alignas(64) CacheLine {
        std::byte bytes[64];
    };
    struct Rank {
        Rank(std::byte* segment, const ranks::tickets::PoolShape& of, std::uint32_t self,
             ranks::tickets::Counters* counters, net::frames::Transport& transport)
            : pool(segment, of, self), taker(pool, whole, counters), outbox(transport, manager) {}
        ranks::tickets::TicketPool pool;
        worker::TicketClient taker;
        net::session::Outbox outbox;
    };

    TicketEnds() : segment_(ranks::tickets::TicketPool::bytes_needed(shape) / sizeof(CacheLine) + 1) {
        ranks::tickets::TicketPool::format(segment_.front().bytes, shape);
        network_.connect(manager, net::frames::PeerId(1));
    }

    Rank& rank(std::uint32_t self, ranks::tickets::Counters* counters = nullptr) {
        ranks_.push_back(std::make_unique<Rank>(segment_.front().bytes, shape, self, counters, *ranks_end_));
        return *ranks_.back();
    }

    // The commands that it is to run now.
    std::vector<std::string> take(Rank& rank, std::uint64_t room) {
        std::vector<std::string> texts;
        for (const net::messages::Lease& lease : rank.taker.take(room, network_.now(), rank.outbox)) {
            EXPECT_EQ(lease.text, tasks_.command(lease.task));
            texts.push_back(lease.text);
        }
        return texts;
    }

    // What the rank has asked for.
    std::vector<net::messages::Message> asked(Rank& rank) {
        rank.outbox.flush();
        std::vector<net::frames::Arrival> inbox;
        manager_end_->poll(inbox);
        std::vector<net::messages::Message> messages;
        for (const net::frames::Arrival& arrival : inbox)
            if (const auto* frame = std::get_if<net::frames::Frame>(&arrival)) {
                const auto decoded = net::messages::decode(frame->bytes);
                messages.insert(messages.end(), decoded->begin(), decoded->end());
            }
        return messages;
    }

    static constexpr net::frames::PeerId manager{0};
    static constexpr ranks::tickets::PoolShape shape{2, 16 * 1024};
    net::frames::LoopbackNetwork network_{2};
    std::unique_ptr<net::frames::Transport> manager_end_ = network_.endpoint(manager);
    std::unique_ptr<net::frames::Transport> ranks_end_ = network_.endpoint(net::frames::PeerId(1));
    std::vector<CacheLine> segment_;
    std::vector<std::unique_ptr<Rank>> ranks_;
    TaskTable tasks_;
    FakeCounters counters_;
};

// A claimer that is stopped while the writer's ring of texts goes round finds none. Here the fill has none
// from the start, which looks the same to it.
TEST_F(TicketEnds, ATextThatWasOverwrittenIsAskedForAndAnswered) {
    for (std::uint64_t line = 1; line <= 8; ++line)
        tasks_.add_line("line " + std::to_string(line) + std::string(6000, 'x'), line, 0);
    TicketServer server(tasks_);
    const net::messages::SealedBatch sealed = server.open(seal_of(1, 0, 8));
    Rank& writer = rank(0);
    Rank& reader = rank(1);
    reader.taker.on_message(sealed);
    ASSERT_EQ(writer.pool.install({BatchId(1), 2, 2}), ranks::tickets::Install::installed);
    EXPECT_THAT(take(reader, 2), IsEmpty());

    std::vector<net::messages::WantTexts> wanted;
    for (const net::messages::Message& message : asked(reader))
        if (const auto* texts = std::get_if<net::messages::WantTexts>(&message)) wanted.push_back(*texts);
    ASSERT_EQ(wanted.size(), 2U);
    for (const net::messages::WantTexts& texts : wanted) reader.taker.on_message(server.texts(texts));
    EXPECT_THAT(take(reader, 8), ElementsAre(tasks_.command(TaskId(2)), tasks_.command(TaskId(3))));

    // An answer that comes twice gives nothing a second time.
    reader.taker.on_message(server.texts(wanted.front()));
    EXPECT_THAT(take(reader, 8), IsEmpty());
}

TEST_F(TicketEnds, WhatIsAskedOfABatchThatIsOverIsNotAnswered) {
    tasks_.add_line("line", 1, 0);
    TicketServer server(tasks_);
    server.open(seal_of(1, 0, 1));
    EXPECT_THAT(server.texts({BatchId(1), 0, 5}).texts, ::testing::SizeIs(1));
    EXPECT_THAT(server.texts({BatchId(1), 1, 1}).texts, IsEmpty());
    EXPECT_THAT(server.texts({BatchId(2), 0, 1}).texts, IsEmpty());
    server.close(BatchId(1));
    EXPECT_THAT(server.texts({BatchId(1), 0, 1}).texts, IsEmpty());
}

TEST_F(TicketEnds, AnAccountLeavesOutWhatWaitsForItsText) {
    tasks_.add_line("line", 1, 0);
    TicketServer server(tasks_);
    Rank& claimer = rank(0);
    claimer.taker.on_message(server.open(seal_of(1, 0, 1)));
    ASSERT_EQ(claimer.pool.install({BatchId(1), 0, 1}), ranks::tickets::Install::installed);
    EXPECT_THAT(take(claimer, 1), IsEmpty());
    const auto wanted = std::get<net::messages::WantTexts>(asked(claimer).at(0));
    claimer.taker.on_message(net::messages::RevokedBatch{BatchId(1)});
    ASSERT_TRUE(claimer.taker.owes_account());
    claimer.taker.give_account({}, claimer.outbox);
    EXPECT_TRUE(std::get<net::messages::Account>(asked(claimer).at(0)).holding.empty());
    claimer.taker.on_message(server.texts(wanted));  // too late: the ticket is another's by now
    EXPECT_THAT(take(claimer, 1), IsEmpty());
}

TEST_F(TicketEnds, RanksWithAndWithoutTheCounterShareABatch) {
    tasks_.add_indexes(engine::tasklist::IndexSet::parse("1-100").or_throw(), item);
    TicketServer server(tasks_, &counters_);
    server.joined("one", 1);
    server.joined("other", 1);
    const net::messages::SealedBatch sealed = server.open(seal_of(1, 0, 100));
    ASSERT_TRUE(sealed.by_counter);
    Rank& draws = rank(0, &counters_);
    draws.taker.on_message(sealed);
    std::map<std::string, int> runs;
    for (;;) {
        const net::messages::Tickets answer =
            server.next(BatchId(1), "one");  // for a node that asks by message
        for (std::uint64_t ticket = 0; ticket < answer.count; ++ticket)
            ++runs[tasks_.command(TaskId(answer.first + ticket))];
        for (const std::string& text : take(draws, 3)) ++runs[text];
        if (answer.count == 0 && !draws.taker.active()) break;
    }
    EXPECT_EQ(runs.size(), 100U);
    for (const auto& [text, times] : runs) EXPECT_EQ(times, 1) << text;
}

// A rank that slept through the end of its batch draws when its counter has become another batch's.
TEST_F(TicketEnds, ALateDrawTakesNothing) {
    tasks_.add_indexes(engine::tasklist::IndexSet::parse("1-100").or_throw(), item);
    TicketServer server(tasks_, &counters_);
    Rank& late = rank(0, &counters_);
    late.taker.on_message(server.open(seal_of(1, 0, 50)));
    EXPECT_THAT(take(late, 1), ElementsAre("item 1"));
    server.close(BatchId(1));
    const auto same_counter = static_cast<std::uint32_t>(1 + ranks::tickets::BatchCounter::counters);
    server.open(seal_of(same_counter, 50, 100));
    while (late.pool.remaining() > 0) static_cast<void>(late.pool.take(1));
    EXPECT_THAT(take(late, 1), IsEmpty());
    EXPECT_TRUE(late.taker.owes_account());
}

TEST_F(TicketEnds, NothingIsDrawnOfARevokedBatch) {
    tasks_.add_indexes(engine::tasklist::IndexSet::parse("1-100").or_throw(), item);
    TicketServer server(tasks_, &counters_);
    Rank& late = rank(0, &counters_);
    late.taker.on_message(server.open(seal_of(1, 0, 100)));
    server.revoke(BatchId(1));
    EXPECT_THAT(take(late, 1), IsEmpty());
    EXPECT_TRUE(late.taker.owes_account());
    EXPECT_EQ(server.next(BatchId(1), "node").count, 0U);
}

}  // namespace
}  // namespace wq::manager
