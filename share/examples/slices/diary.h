// What a rank notes of each slice, for the figures and the drawing of `run`: a line of tab-separated
//   rank, when it was taken, when it was done (seconds since 1970), seconds that it takes without slowdown,
//   name
// And the slowdown: a rank that is 4 times as slow waits three times as long as it has worked.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

class Diary {
  public:
    Diary(const std::string& folder, int rank, double slowdown)
        : rank_(rank),
          slowdown_(slowdown),
          file_(std::fopen((folder + "/diary." + std::to_string(rank)).c_str(), "w")) {
        if (file_ == nullptr) throw std::runtime_error("cannot write to " + folder);
    }
    ~Diary() { std::fclose(file_); }
    Diary(const Diary&) = delete;

    template <class Work>
    void note(const std::string& slice, Work&& work) {
        const double began = now();
        work();
        const double took = now() - began;
        const auto wait = static_cast<long>(took * (slowdown_ - 1) * 1e9);
        const timespec time{wait / 1'000'000'000, wait % 1'000'000'000};
        if (wait > 0) ::ppoll(nullptr, 0, &time, nullptr);
        std::fprintf(file_, "%d\t%.6f\t%.6f\t%.6f\t%s\n", rank_, began, now(), took, slice.c_str());
    }

  private:
    static double now() {
        return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    }
    int rank_;
    double slowdown_;
    std::FILE* file_;
};
