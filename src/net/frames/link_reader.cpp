#include "net/frames/link_reader.h"

#include <algorithm>
#include <utility>

#include "net/frames/http_request.h"

namespace wq::net::frames {

namespace {

// A handshake with a chain of certificates takes a few kilobytes.
constexpr std::size_t most_greeting_bytes = 64u << 10;

std::size_t greeting_frame(const TcpLimits& limits) {
    return std::min(limits.most_frame_bytes, limits.most_frame_bytes_before_admit);
}

bool looks_like_tls(std::string_view bytes) {
    return !bytes.empty() && bytes[0] >= 20 && bytes[0] <= 23;
}

// RFC 8446, 5.1: type, version, length. What announces more than a record may hold is whole, too: it is
// wrong.
bool has_whole_record(std::string_view bytes) {
    constexpr std::size_t head = 5;
    constexpr std::size_t most = (16u << 10) + 256;
    if (bytes.size() < head) return false;
    const std::size_t length = static_cast<std::size_t>(static_cast<unsigned char>(bytes[3])) << 8 |
                               static_cast<unsigned char>(bytes[4]);
    return length > most || bytes.size() >= head + length;
}

}  // namespace

void LinkReader::prepare_tls(const std::string& host) {
    if (plan_.tls) tls_ = plan_.tls->channel(host);
}

void LinkReader::begin() {
    if (!plan_.tls && plan_.role == Role::worker) greet();  // a manager waits: stock clients read no hello
    if (tls_) tls_->start();
}

void LinkReader::greet() {
    handshake_.emplace(plan_.role, plan_.key, tls_ ? tls_->binding() : std::string(), fresh_nonce());
    stage_ = Stage::handshake;
    writer_.add(handshake_->hello(), LinkWriter::From::link);
}

LinkReader::Heard LinkReader::take(std::string_view bytes, std::vector<std::string>& frames) {
    Heard heard{frames};
    if (!asks()) heard.failure = take_bytes(bytes, heard);
    return heard;
}

LinkReader::Failure LinkReader::take_bytes(std::string_view bytes, Heard& heard) {
    const bool first = heard_bytes_ == 0;
    if (stage_ != Stage::frames) heard_bytes_ += bytes.size();
    if (!plan_.tls) return take_decrypted(bytes, heard);
    const bool plain = first ? !looks_like_tls(bytes) : !tls_ && !door_.empty();
    if (plain) return take_without_tls(bytes, heard);
    if (tls_) return take_tls(bytes, heard);
    // A TLS state takes 46 KB (OpenSSL 3.0): who is silent, or sends half a record, gets none.
    first_record_ += bytes;
    if (!has_whole_record(first_record_)) return std::nullopt;
    tls_ = plan_.tls->channel({});
    return take_tls(std::exchange(first_record_, {}), heard);
}

// The peer does not use TLS and only understands plain text.
LinkReader::Failure LinkReader::take_without_tls(std::string_view bytes, Heard& heard) {
    tls_.reset();
    if (plan_.role == Role::manager) return take_at_door(bytes, heard);
    const auto frame = splitter_.take(bytes);
    Handshake reader(plan_.role, {}, {}, {});
    const bool told_why = frame && frame->front() == refusal({}, {}).front();
    if (told_why) reader.on_frame(*frame);
    return told_why ? reader.failure()
                    : Error{ExitCode::not_allowed, "it does not use TLS: do without --ssl"};
}

LinkReader::Failure LinkReader::take_tls(std::string_view bytes, Heard& heard) {
    std::string plain;
    const bool was_established = tls_->established();
    const bool sound = tls_->take(bytes, plain);
    // Even if the bytes after the handshake are broken, those before them count.
    if (!was_established && tls_->established() && plan_.role == Role::worker) greet();
    if (!plain.empty())
        if (Failure failure = take_decrypted(plain, heard)) return failure;
    if (!sound) return Error{ExitCode::not_allowed, tls_->why()};
    return std::nullopt;
}

LinkReader::Failure LinkReader::take_decrypted(std::string_view bytes, Heard& heard) {
    if (stage_ == Stage::opening) return take_at_door(bytes, heard);
    while (auto frame = splitter_.take(bytes)) {
        if (stage_ == Stage::frames)
            heard.frames.push_back(std::move(*frame));
        else if (Failure failure = take_greeting(*frame, heard))
            return failure;
    }
    if (stage_ == Stage::handshake && heard_bytes_ > most_greeting_bytes)
        return Error{ExitCode::not_allowed, "it sent much data, but no handshake"};
    return splitter_.too_long() ? find_frame_problem() : std::nullopt;
}

LinkReader::Failure LinkReader::take_greeting(std::string_view frame, Heard& heard) {
    std::string answer = handshake_->on_frame(frame);
    if (!answer.empty()) writer_.add(std::move(answer), LinkWriter::From::link);
    if (handshake_->going()) return std::nullopt;
    if (!handshake_->done()) return handshake_->failure();
    handshake_.reset();
    stage_ = Stage::frames;
    const TcpLimits& limits = plan_.limits;
    splitter_.allow(plan_.role == Role::worker ? limits.most_frame_bytes : greeting_frame(limits));
    heard.joined = true;
    return std::nullopt;
}

LinkReader::Failure LinkReader::find_frame_problem() {
    if (stage_ == Stage::handshake) {
        refuse(ExitCode::not_allowed,
               "this is a port of work_queue, and you did not send a work_queue frame");
        return Error{ExitCode::not_allowed, guess_protocol(splitter_.head())};
    }
    return Error{ExitCode::not_allowed,
                 "it announced a frame of " + std::to_string(splitter_.announced()) + " bytes; the most is " +
                     std::to_string(splitter_.most()) +
                     (splitter_.most() < plan_.limits.most_frame_bytes ? " before the handshake" : "")};
}

LinkReader::Failure LinkReader::take_at_door(std::string_view bytes, Heard& heard) {
    door_ += bytes;
    PlainRequest request = plain_request(door_);
    const bool lacks_tls = plan_.tls && !tls_;
    switch (request.is) {
        case PlainRequest::Is::unfinished:
            return std::nullopt;
        case PlainRequest::Is::foreign:
            return begin_as_worker(heard);
        case PlainRequest::Is::wrong:
            return send_away(std::move(request.answer), "it asked by HTTP for something else");
        case PlainRequest::Is::question:
            break;
    }
    std::string why = plan_.plain_refusal;
    if (lacks_tls && why.empty()) why = "this manager uses TLS: ask by https, or with --ssl";
    if (!why.empty())
        return send_away(plain_refusal(request.http, why), "it asked for the status in plain text");
    door_ = {};
    stage_ = Stage::asks;
    writer_.leave_out_heads();
    heard.question = std::move(request.question);
    return std::nullopt;
}

LinkReader::Failure LinkReader::begin_as_worker(Heard& heard) {
    const std::string begun = std::exchange(door_, {});
    if (plan_.tls && !tls_) {
        refuse(ExitCode::not_allowed, "this manager uses TLS: use --contact FILE or --ssl");
        return Error{ExitCode::not_allowed, "it does not use TLS, but this manager does"};
    }
    greet();
    return take_decrypted(begun, heard);
}

LinkReader::Failure LinkReader::send_away(std::string answer, std::string why) {
    stage_ = Stage::asks;
    writer_.leave_out_heads();
    writer_.add(std::move(answer), LinkWriter::From::link);
    return Error{ExitCode::unreachable, std::move(why)};
}

// To a peer that has begun in plain text, a frame would be noise.
void LinkReader::refuse(ExitCode code, std::string_view reason) {
    if (door_.empty()) writer_.add(refusal(code, reason), LinkWriter::From::link);
}

}  // namespace wq::net::frames
