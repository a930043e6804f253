// Writes an event file of what its standard input says, for event_file_test.py. Usage: write_events FOLDER
// MICROS. Lines: "event STEP MICROS [TAG VALUE]..." with the bytes of tags in hexadecimal digits, or "flush".
// The first line of its output is the file's path; for each flush, "flushed" follows.
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "records/logs/event_file.h"

namespace {

std::string bytes_of(const std::string& digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    return bytes;
}

void add(wq::records::logs::EventFile& events, std::istream& words) {
    std::int64_t step = 0;
    wq::WallMicros time = 0;
    words >> step >> time;
    std::vector<std::string> tags;
    std::vector<double> values;
    for (std::string tag, value; words >> tag >> value;) {
        tags.push_back(bytes_of(tag));
        values.push_back(std::strtod(value.c_str(), nullptr));
    }
    std::vector<wq::records::logs::Scalar> scalars;
    for (std::size_t i = 0; i < tags.size(); ++i) scalars.push_back({tags[i], values[i]});
    events.add(step, time, scalars).or_throw();
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 3) return 64;
    auto events = wq::records::logs::EventFile::create(argv[1], std::atoll(argv[2])).or_throw();
    std::cout << events.path() << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string verb;
        words >> verb;
        if (verb == "event") add(events, words);
        if (verb != "flush") continue;
        events.flush().or_throw();
        std::cout << "flushed" << std::endl;
    }
    return 0;
} catch (const wq::Failure& failure) {
    std::cerr << failure.error.message << "\n";
    return wq::to_int(failure.error.code);
}
