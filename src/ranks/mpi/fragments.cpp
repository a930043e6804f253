#include "ranks/mpi/fragments.h"

#include <algorithm>
#include <cstring>

namespace wq::ranks::mpi {

namespace {

constexpr std::size_t kNumberBytes = sizeof(std::uint32_t);

std::uint32_t read_number(std::string_view bytes) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data(), kNumberBytes);
    return value;
}

}  // namespace

void FrameCutter::add(std::string frame) {
    frames_.push_back(std::move(frame));
}

std::size_t FrameCutter::cut(char* out) {
    std::memcpy(out, &next_number_, kNumberBytes);
    ++next_number_;
    std::size_t used = kNumberBytes;
    while (!frames_.empty() && used < kFragmentBytes) {
        const std::string& frame = frames_.front();
        const auto length = static_cast<std::uint32_t>(frame.size());
        char field[kNumberBytes];
        std::memcpy(field, &length, kNumberBytes);
        const std::string_view source = done_ < kNumberBytes
                                            ? std::string_view(field, kNumberBytes).substr(done_)
                                            : std::string_view(frame).substr(done_ - kNumberBytes);
        const std::size_t piece = std::min(source.size(), kFragmentBytes - used);
        std::memcpy(out + used, source.data(), piece);
        used += piece;
        done_ += piece;
        if (done_ == kNumberBytes + frame.size()) {
            frames_.pop_front();
            done_ = 0;
        }
    }
    return used;
}

bool FrameAssembler::take(std::string_view fragment, std::vector<std::string>& frames) {
    if (fragment.size() <= kNumberBytes) return false;
    const std::uint32_t number = read_number(fragment);
    if (number != next_number_) {
        early_.emplace(number, fragment.substr(kNumberBytes));
        return true;
    }
    ++next_number_;
    bool sound = feed(fragment.substr(kNumberBytes), frames);
    for (auto next = early_.find(next_number_); next != early_.end(); next = early_.find(next_number_)) {
        sound = feed(next->second, frames) && sound;
        early_.erase(next);
        ++next_number_;
    }
    return sound;
}

bool FrameAssembler::feed(std::string_view piece, std::vector<std::string>& frames) {
    while (!piece.empty()) {
        if (!in_frame_ && !begin_frame(piece)) return false;
        if (!in_frame_) return true;  // the length field continues in the next fragment
        const std::size_t part = std::min(piece.size(), missing_);
        frame_.append(piece.substr(0, part));
        piece.remove_prefix(part);
        missing_ -= part;
        if (missing_ > 0) return true;
        frames.push_back(std::move(frame_));
        frame_.clear();
        in_frame_ = false;
    }
    return true;
}

bool FrameAssembler::begin_frame(std::string_view& piece) {
    const std::size_t part = std::min(piece.size(), kNumberBytes - length_.size());
    length_.append(piece.substr(0, part));
    piece.remove_prefix(part);
    if (length_.size() < kNumberBytes) return true;
    missing_ = read_number(length_);
    length_.clear();
    in_frame_ = true;
    return missing_ <= kMostFrameBytes;
}

}  // namespace wq::ranks::mpi
