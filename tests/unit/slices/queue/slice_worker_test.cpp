// Workers: processes that take slices of a queue elsewhere, and read works that they do not have.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <set>
#include <thread>

#include "net/frames/contact.h"
#include "slices/queue/record_requests.h"
#include "support/folder.h"
#include "unit/slices/sources/h5_testing.h"
#include "work_queue/slice_readers.h"

namespace wq {
namespace {

using slices::sources::testing::H5Dir;
using slices::sources::testing::H5File;
using test::Folder;
using test::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SliceOptions shared_by(const std::string& contact) {
    SliceOptions options;
    options.contact = contact;
    options.say = [](const std::string&) {};
    return options;
}

// Runs `work` in a process of its own, in a folder from which the parent's relative paths lead nowhere.
class Elsewhere {
  public:
    Elsewhere(const Folder& folder, const std::function<void()>& work) {
        std::string place = folder.path();
        for (int deep = 0; deep < 20; ++deep) place += "/elsewhere";  // deeper than any parent's folder
        std::filesystem::create_directories(place);
        process_ = ::fork();
        if (process_ != 0) return;
        int code = 1;
        try {
            std::filesystem::current_path(place);
            work();
            code = 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "elsewhere: %s\n", error.what());
        }
        ::_exit(code);
    }
    ~Elsewhere() {
        if (process_ > 0) finish();
    }
    int finish() {
        int status = -1;
        ::waitpid(std::exchange(process_, 0), &status, 0);
        return status;
    }

  private:
    pid_t process_;
};

std::string from_here(const std::string& path) {
    return std::filesystem::relative(path).string();
}

// What is only known once the queue is there is written by the parent: the worker waits for the contact file.
template <class Reader>
void copy_records(const std::string& contact, const std::string& to, Reader reader, std::size_t at_once) {
    SliceQueue slices = SliceQueue::as_worker({.contact = contact});
    SliceProducer producer = slices.input_producer(2);
    std::ofstream out(to, std::ios::binary);
    for (;;) {
        const auto [keys, values] = reader.read_up_to(producer, at_once);
        if (values.empty()) break;
        for (std::size_t n = 0; n < values.size(); ++n) out << keys[n] << '=' << values[n] << '\n';
    }
}

std::vector<std::string> sorted_lines(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::ranges::sort(lines);
    return lines;
}

// A long text: many answers, and slices that are moved to within one file.
TEST(SliceWorker, LinesTravelToAWorkerThatDoesNotHaveTheFile) {
    const Folder folder;
    std::string text;
    for (int n = 0; n < 20'000; ++n) text += "line " + std::to_string(n) + (n % 7 == 0 ? "\r\n" : "\n");
    write_file(folder / "text", text + "no newline at the end");
    const std::string work = from_here(folder / "text");
    // Otherwise nothing would travel.
    Elsewhere check(folder, [&] {
        if (std::filesystem::exists(work)) throw std::runtime_error(work + " is there, too");
    });
    ASSERT_EQ(check.finish(), 0);
    for (const std::int64_t slices : {0, 1, 9}) {
        for (const std::size_t at_once : {1u, 1000u, 30'000u}) {
            Elsewhere worker(folder,
                             [&] { copy_records(folder / "c", folder / "copy", LineReader(), at_once); });
            SliceOptions options = shared_by(folder / "c");
            options.lines = slices > 0;
            if (slices > 0) options.num_slices = slices;
            SliceQueue queue({work}, options);
            EXPECT_EQ(worker.finish(), 0);
            std::vector<std::string> wanted;
            std::istringstream in(text + "no newline at the end");
            std::size_t n = 0;
            for (std::string line; std::getline(in, line);)
                wanted.push_back(work + ':' + std::to_string(++n) + '=' + line);
            std::ranges::sort(wanted);
            ASSERT_EQ(sorted_lines(test::read_file(folder / "copy")), wanted)
                << slices << " slices, " << at_once;
        }
    }
}

TEST(SliceWorker, BinaryRecordsAndWholeFilesTravel) {
    const Folder folder;
    std::string bytes;
    for (int n = 0; n < 300'000; ++n) bytes += static_cast<char>('a' + n % 23);
    write_file(folder / "records", bytes);
    for (const std::uint64_t record_bytes : {1u, 100u}) {
        Elsewhere worker(folder, [&] {
            SliceQueue slices = SliceQueue::as_worker({.contact = folder / "c"});
            RecordReader reader(record_bytes);
            std::ofstream out(folder / "copy", std::ios::binary);
            while (const auto slice = slices.take()) {
                reader.open(slices, *slice);
                for (;;) {
                    const auto values = reader.read_up_to(333).values;
                    if (values.empty()) break;
                    for (std::size_t n = 0; n < values.size(); ++n) out << values[n];
                }
            }
        });
        SliceOptions options = shared_by(folder / "c");
        options.shuffle = false;
        if (record_bytes > 1) options.num_slices = 7, options.record_bytes = record_bytes;
        SliceQueue queue({from_here(folder / "records")}, options);
        EXPECT_EQ(worker.finish(), 0);
        EXPECT_EQ(test::read_file(folder / "copy"), bytes);
    }
}

TEST(SliceWorker, RowsTravelWithTheirType) {
    const H5Dir dir;
    const Folder folder;
    std::vector<float> numbers(3000);
    for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] = static_cast<float>(n) / 8;
    H5File(dir.file("a.h5"))
        .write("/x", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {1000, 3}, slices::sources::testing::compressed,
               numbers.data());
    Elsewhere worker(folder, [&] {
        SliceQueue slices = SliceQueue::as_worker({.contact = folder / "c"});
        SliceProducer producer = slices.input_producer();
        RowReader reader;
        std::ofstream out(folder / "copy");
        for (;;) {
            const auto [keys, values] = reader.read_up_to(producer, 37);
            if (values.empty()) break;
            if (reader.row_type() != "float32[3]") throw std::runtime_error("type " + reader.row_type());
            const auto floats = values.as<float>();
            for (const float number : floats) out << number * 8 << '\n';
        }
    });
    SliceOptions options = shared_by(folder / "c");
    options.num_slices = 10;
    SliceQueue queue({from_here(dir.file("a.h5")) + ":/x"}, options);
    EXPECT_EQ(worker.finish(), 0);
    std::vector<std::string> wanted;
    for (int n = 0; n < 3000; ++n) wanted.push_back(std::to_string(n));
    std::ranges::sort(wanted);
    EXPECT_EQ(sorted_lines(test::read_file(folder / "copy")), wanted);
}

// It says when one is read elsewhere.
TEST(SliceWorker, ReadsTheSameFileItself) {
    const Folder folder;
    write_file(folder / "a", "one\ntwo\n");
    SliceOptions options = shared_by(folder / "c");
    options.num_slices = 1;
    options.lines = true;
    SliceQueue queue({folder / "a"}, options);
    std::vector<std::string> said;
    SliceQueue worker = SliceQueue::as_worker(
        {.contact = folder / "c", .say = [&](const std::string& line) { said.push_back(line); }});
    LineReader reader;
    const auto slice = worker.take();
    ASSERT_TRUE(slice);
    reader.open(worker, *slice);
    EXPECT_EQ(reader.read_up_to(10).values.size(), 2u);
    EXPECT_THAT(said, ElementsAre());
}

// The size, the time and the place are the same; the worker has other bytes there.
TEST(SliceWorker, DoesNotTakeAnotherFileForTheSame) {
    const Folder folder;
    const auto write_at = [](const std::string& path, const std::string& text) {
        write_file(path, text);
        std::filesystem::last_write_time(path, std::filesystem::file_time_type(std::chrono::hours(24 * 365)));
    };
    write_at(folder / "a", "here\n");
    const std::string work = from_here(folder / "a");
    Elsewhere worker(folder, [&] {
        // The parent's relative path leads there from our folder.
        std::filesystem::create_directories(std::filesystem::path(work).parent_path());
        write_at(work, "away\n");
        copy_records(folder / "c", folder / "copy", LineReader(), 10);
    });
    SliceOptions options = shared_by(folder / "c");
    options.num_slices = 1;
    options.lines = true;
    SliceQueue queue({work}, options);
    EXPECT_EQ(worker.finish(), 0);
    EXPECT_EQ(test::read_file(folder / "copy"), work + ":1=here\n");
}

// An answer has a megabyte, and lines may be as long.
TEST(SliceWorker, LongLinesTravel) {
    const Folder folder;
    std::string text;
    for (int n = 0; n < 100; ++n) text += "short\n";
    for (int n = 0; n < 40; ++n) text += std::string(700'000, static_cast<char>('a' + n % 26)) + '\n';
    write_file(folder / "text", text);
    Elsewhere worker(folder, [&] {
        SliceQueue slices = SliceQueue::as_worker({.contact = folder / "c"});
        SliceProducer producer = slices.input_producer();
        LineReader reader;
        std::ofstream out(folder / "copy", std::ios::binary);
        for (;;) {
            const auto values = reader.read_up_to(producer, 1000).values;
            if (values.empty()) break;
            for (const std::string_view value : values) out << value << '\n';
        }
    });
    SliceQueue queue({from_here(folder / "text")}, shared_by(folder / "c"));
    EXPECT_EQ(worker.finish(), 0);
    EXPECT_TRUE(test::read_file(folder / "copy") == text) << "of " << text.size() << " bytes";
}

TEST(SliceWorker, AReaderThatOutlivesItsQueueSaysSo) {
    const Folder folder;
    std::string text;
    for (int n = 0; n < 200'000; ++n) text += "line " + std::to_string(n) + '\n';
    write_file(folder / "text", text);
    Elsewhere worker(folder, [&] {
        LineReader reader;
        {
            SliceQueue slices = SliceQueue::as_worker({.contact = folder / "c"});
            reader.open(slices, *slices.take());
            if (reader.read_up_to(10).values.size() != 10) throw std::runtime_error("no lines");
        }
        try {
            while (!reader.read_up_to(1000).values.empty()) continue;
        } catch (const std::runtime_error& error) {
            return;
        }
        throw std::runtime_error("it read all");
    });
    SliceQueue queue({from_here(folder / "text")}, shared_by(folder / "c"));
    EXPECT_EQ(worker.finish(), 0);
}

TEST(SliceWorker, ThatComesAfterTheEndIsToldSo) {
    const Folder folder;
    SliceOptions options = shared_by(folder / "c");
    options.must_exist = false;
    SliceQueue queue({"a", "b"}, options);
    while (queue.take()) continue;
    SliceQueue worker = SliceQueue::as_worker({.contact = folder / "c"});
    EXPECT_EQ(worker.take(), std::nullopt);
}

TEST(SliceWorker, AtMostOnceItTakesWhatNobodyElseHas) {
    const Folder folder;
    SliceOptions options = shared_by(folder / "c");
    options.must_exist = false;
    options.delivery = Delivery::at_most_once;
    std::vector<std::string> works;
    for (int n = 0; n < 100; ++n) works.push_back("w" + std::to_string(n));
    SliceQueue queue(works, options);
    std::multiset<std::string> taken;
    SliceQueue worker = SliceQueue::as_worker({.contact = folder / "c"});
    std::optional<Slice> mine = queue.take();
    std::optional<Slice> its = worker.take();
    while (mine || its) {
        if (mine) taken.insert(mine->work);
        if (its) taken.insert(its->work);
        mine = queue.take();
        its = worker.take();
    }
    EXPECT_EQ(taken.size(), 100u);
    EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), 100u);
}

TEST(SliceWorker, AFileThatChangedIsAnErrorThereToo) {
    const Folder folder;
    write_file(folder / "a", "one\ntwo\n");
    SliceOptions options = shared_by(folder / "c");
    options.num_slices = 1;
    options.lines = true;
    SliceQueue queue({folder / "a"}, options);
    SliceQueue worker = SliceQueue::as_worker({.contact = folder / "c"});
    write_file(folder / "a", "more than before\n");
    const auto slice = worker.take();
    LineReader reader;
    try {
        reader.open(worker, *slice);
        FAIL() << "it changed";
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), HasSubstr("changed since the plan"));
    }
}

// Epochs, a prefix, the seed: all that the queue has decided.
TEST(SliceWorker, TakesWhatTheQueueGives) {
    const Folder folder;
    SliceOptions options = shared_by(folder / "c");
    options.num_epochs = 3;
    options.prefix = "s3://data/";
    options.must_exist = false;
    std::vector<std::string> works;
    for (int n = 0; n < 50; ++n) works.push_back("w" + std::to_string(n));
    SliceQueue queue(works, options);
    std::multiset<std::string> taken;
    std::mutex mutex;
    std::vector<std::thread> workers;
    std::latch each_has_one(4);
    for (int n = 0; n < 3; ++n)
        workers.emplace_back([&] {
            SliceQueue worker = SliceQueue::as_worker({.contact = folder / "c"});
            EXPECT_EQ(worker.seed(), queue.seed());
            EXPECT_EQ(worker.size(), 50u);
            EXPECT_THROW(worker.save("x"), std::logic_error);
            while (const auto slice = worker.take()) {
                if (worker.taken() == 1) each_has_one.arrive_and_wait();
                const std::lock_guard lock(mutex);
                taken.insert(std::to_string(slice->epoch) + ' ' + slice->text());
            }
        });
    each_has_one.arrive_and_wait();
    while (const auto slice = queue.take()) {
        const std::lock_guard lock(mutex);
        taken.insert(std::to_string(slice->epoch) + ' ' + slice->text());
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(taken.size(), 150u);
    EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), 150u);
    EXPECT_EQ(taken.count("2 s3://data/w49"), 1u);
}

TEST(SliceWorker, AProgramMayGiveSlicesToWorkersOnly) {
    const Folder folder;
    SliceOptions options = shared_by(folder / "c");
    options.must_exist = false;
    SliceQueue queue({"a", "b", "c"}, options);
    std::uint64_t taken = 0;
    std::thread worker([&] {
        SliceQueue slices = SliceQueue::as_worker({.contact = folder / "c"});
        while (slices.take()) ++taken;
    });
    queue.wait();
    EXPECT_EQ(queue.taken(), 0u);
    worker.join();
    EXPECT_EQ(taken, 3u);
}

TEST(SliceWorker, WhatAKilledWorkerHadIsTakenByOthers) {
    const Folder folder;
    const std::string taken = folder / "taken";
    Elsewhere worker(folder, [&] {
        SliceQueue slices = SliceQueue::as_worker({.contact = folder / "c"});
        for (int n = 0; n < 4; ++n) slices.take();
        write_file(taken, "");
        ::raise(SIGKILL);
    });
    SliceOptions options = shared_by(folder / "c");
    options.must_exist = false;
    std::vector<std::string> works;
    for (int n = 0; n < 40; ++n) works.push_back("w" + std::to_string(n));
    SliceQueue queue(works, options);
    EXPECT_TRUE(WIFSIGNALED(worker.finish()));
    ASSERT_TRUE(std::filesystem::exists(taken));
    std::uint64_t mine = 0;
    while (queue.take()) ++mine;
    EXPECT_GE(mine, 37u) << "at most the three that it had committed are not given again";
    EXPECT_LE(mine, 40u);
}

TEST(SliceWorker, WithoutAQueueThereIsAnErrorThatSaysWhere) {
    const Folder folder;
    const auto error_of = [&](const std::string& contact) {
        try {
            SliceQueue::as_worker({.contact = contact, .wait = 0});
        } catch (const SetupError& error) {
            return std::to_string(error.exit_code()) + ' ' + error.what();
        }
        return std::string();
    };
    EXPECT_THAT(error_of(folder / "none"), HasSubstr("69 "));
    EXPECT_THAT(error_of(folder / "none"), HasSubstr("/none"));
    write_file(folder / "garbage", "{");
    std::filesystem::permissions(folder / "garbage", std::filesystem::perms::owner_read);
    EXPECT_THAT(error_of(folder / "garbage"), HasSubstr("65 "));
    { const SliceQueue queue({"a"}, shared_by(folder / "c")); }
    EXPECT_FALSE(std::filesystem::exists(folder / "c")) << "the file goes with its queue";
}

TEST(SliceWorker, AStrangerIsRefused) {
    const Folder folder;
    const SliceQueue queue({"a"}, shared_by(folder / "c"));
    auto contact = net::frames::read_contact(folder / "c").or_throw();
    contact.key = net::frames::fresh_key();
    ASSERT_TRUE(net::frames::write_contact(folder / "other", contact).ok());
    try {
        SliceQueue::as_worker({.contact = folder / "other", .wait = 0});
        FAIL() << "it has another key";
    } catch (const SetupError& error) {
        EXPECT_EQ(error.exit_code(), 77) << error.what();
    }
}

// Whatever bytes are asked or answered, nothing is read beyond them.
TEST(RecordRequests, GarbageIsAnError) {
    using namespace slices::queue;
    const Slice slice{"w", 3, 9, 1, 7};
    const slices::sources::RecordSpan place{{3, 9}, {2, 100}};
    const std::vector<Request> requests{AskPass{},
                                        AskPlace{slice},
                                        AskLook{slice},
                                        AskWhereabouts{slice, {slices::sources::Kind::records, 8}},
                                        OpenReader{4, slice, {slices::sources::Kind::rows, 0}},
                                        ReadOn{4},
                                        MoveReader{4, place},
                                        CloseReader{4}};
    for (const Request& request : requests) {
        const std::string bytes = encode(request);
        ASSERT_TRUE(decode_request(bytes).ok());
        EXPECT_EQ(encode(*decode_request(bytes)), bytes);
        for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(decode_request(bytes.substr(0, n)).ok());
        EXPECT_FALSE(decode_request(bytes + 'x').ok());
    }
    const std::vector<std::size_t> starts{0, 3, 4};
    slices::sources::RecordBlock block;
    block.size = 2, block.first = 5, block.bytes = "ab\nc", block.starts = starts, block.gap = 1;
    const std::string answer = answer_of(block);
    const auto some = records_of(answer).or_throw();
    EXPECT_EQ(some.bytes, "ab");
    EXPECT_THAT(some.lengths, ElementsAre(2, 0));
    for (std::size_t n = 0; n < answer.size(); ++n) EXPECT_FALSE(records_of(answer.substr(0, n)).ok());
    EXPECT_EQ(records_of(answer_of(Error{ExitCode::bad_input, "why"})).error().message, "why");
}

}  // namespace
}  // namespace wq
