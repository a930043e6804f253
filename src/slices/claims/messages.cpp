#include "slices/claims/messages.h"

#include "base/fields.h"

namespace wq::slices::claims {

// ---- by takers ----

template <class V>
void fields(Hello& hello, V& visit) {
    visit(hello.version);
    if (hello.version != feed_version) return visit.leave_rest();  // whose fields are unknown here
    visit(hello.node, hello.rank, hello.draws);
}
template <class V>
void fields(RefillDone& done, V& visit) {
    visit(done.gives_back, done.positions);
}
template <class V>
void fields(CounterRange& range, V& visit) {
    visit(range.positions);
}
template <class V>
void fields(SealReply& reply, V& visit) {
    visit(reply.batch);
}
template <class V>
void fields(Timed& timed, V& visit) {
    std::int64_t took_us = 0;
    __builtin_sub_overflow(timed.committed_us, timed.taken_us, &took_us);
    visit(timed.position, timed.taken_us, took_us, timed.failed);
    if constexpr (V::reads)
        visit.require(!__builtin_add_overflow(timed.taken_us, took_us, &timed.committed_us));
}
template <class V>
void fields(Committed& committed, V& visit) {
    visit(committed.taken, committed.positions, committed.failed, committed.times);
}
template <class V>
void fields(CensusReply& reply, V& visit) {
    visit(reply.batch, reply.positions);
}
template <class V>
void fields(CommitsReported& reply, V& visit) {
    visit(reply.round);
}
template <class V>
void fields(Question& question, V& visit) {
    visit(question.number, question.what);
}

// ---- by the giver ----

template <class V>
void fields(Welcome& welcome, V& visit) {
    visit(welcome.batch, welcome.rank, welcome.commits, welcome.times);
}
template <class V>
void fields(Granted& granted, V& visit) {
    visit(granted.positions);
}
template <class V>
void fields(SealOpened& sealed, V& visit) {
    visit(sealed.batch, sealed.positions, sealed.epoch, sealed.takers);
}
template <class V>
void fields(SealClosed& closed, V& visit) {
    visit(closed.batch);
}
template <class V>
void fields(Ended& ended, V& visit) {
    visit(ended.lost_some);
}
template <class V>
void fields(Census& census, V& visit) {
    visit(census.batch);
}
template <class V>
void fields(ReportCommits& order, V& visit) {
    visit(order.round);
}
template <class V>
void fields(Refused& refused, V& visit) {
    visit(refused.why);
}
template <class V>
void fields(GiverAnswer& answer, V& visit) {
    visit(answer.number, answer.what);
}

std::string encode(const Message& message) {
    ByteWriter out;
    put_message(out, message);
    return out.take();
}

bool is_answer(std::string_view bytes) {
    return !bytes.empty() && static_cast<unsigned char>(bytes.front()) == Message(GiverAnswer{}).index();
}

std::optional<Message> decode(std::string_view bytes) {
    return message_in<Message>(bytes);
}

}  // namespace wq::slices::claims
