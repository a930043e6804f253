// The messages between a worker and its coprocess, as CCTools' coprocesses have them.
//
// A coprocess first writes its greeting to stdout: a JSON object with its name and the port on 127.0.0.1
// where it takes calls, `<length>\n{"name": "...", "port": 40112}`. For each call the
// worker opens a connection and sends `<function> <task id> <length>\n<event>`, the coprocess answers
// `<length>\n<JSON>`. The length counts bytes. The event is a JSON object with fn_args, fn_kwargs and
// remote_task_exec_method; the answer one with Result and StatusCode (200 or 500). The coprocess runs the
// function in the folder `t.<task id>` of its own.
//
// Ours add to that: the greeting has "guarded": true, and then each connection begins with a line, the secret
// that the coprocess found in its environment, so that it serves nobody else. The first line of an answer
// says how the call ended, so that nobody has to read the JSON for that: ` status 200` or ` status 500`, or
// ` signal N` or ` exit N` if the function ended its process (of `fork`). When the worker closes its side
// before the answer, the coprocess kills the process of `fork`, and closes the connection.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wq::functions::coprocess {

inline constexpr const char* secret_variable = "WORK_QUEUE_COPROCESS_SECRET";
inline constexpr std::string_view returned_words = "status 200";  // of an answer
inline constexpr std::string_view failed_words = "status 500";

// Reads `<length>[ <words>]\n<body>` from bytes that arrive in parts.
class LengthReader {
  public:
    explicit LengthReader(std::size_t most) : most_(most) {}

    // Takes what belongs to the text; what follows is dropped.
    void feed(std::string_view bytes);
    bool complete() const { return has_length_ && body_.size() == length_; }
    bool broken() const { return broken_; }  // no length, or more than `most`
    bool too_long() const { return too_long_; }
    const std::string& words() const { return words_; }  // of the first line, after the length
    std::string& body() { return body_; }

  private:
    void read_line();

    std::size_t most_;
    std::string line_;
    std::string words_;
    std::string body_;
    std::size_t length_ = 0;
    bool has_length_ = false;
    bool broken_ = false;
    bool too_long_ = false;
};

// Whether a descriptor that does not block will be ready later.
inline bool would_block(int error) {
    return error == EAGAIN || error == EINTR || error == EINPROGRESS;
}

// The first line of a call, with the line end.
std::string call_line(std::string_view function, std::uint64_t task, std::size_t length);
// `<length>[ <words>]\n<body>`
std::string with_length(std::string_view body, std::string_view words = {});

}  // namespace wq::functions::coprocess
