// However works are cut, their slices together are exactly their records, each once.
#include "work_queue/slice_readers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>

#include "support/folder.h"

namespace wq {
namespace {

using test::Folder;
using test::write_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Pairs = std::vector<std::pair<std::string, std::string>>;

SliceOptions cut_into(std::int64_t slices) {
    SliceOptions options;
    options.num_slices = slices;
    options.shuffle = false;
    options.say = [](const std::string&) {};
    return options;
}

SliceOptions lines_cut_into(std::int64_t slices) {
    SliceOptions options = cut_into(slices);
    options.lines = true;
    return options;
}

Pairs pairs_of(const Records& records) {
    EXPECT_EQ(records.keys.size(), records.values.size());
    Pairs pairs;
    for (std::size_t n = 0; n < records.values.size(); ++n)
        pairs.emplace_back(records.keys[n], records.values[n]);
    return pairs;
}

Pairs all_of(SliceQueue& slices, SliceReader&& reader, std::size_t at_once) {
    SliceProducer producer = slices.input_producer(2);
    Pairs all;
    for (;;) {
        const Pairs some = pairs_of(reader.read_up_to(producer, at_once));
        if (some.empty()) break;
        EXPECT_LE(some.size(), at_once);
        all.insert(all.end(), some.begin(), some.end());
    }
    EXPECT_EQ(reader.num_records_produced(), all.size());
    return all;
}

// Lines as Unix and Windows end them, empty ones, and some that are longer than what is read at once.
std::string random_text(std::mt19937_64& random) {
    std::string text;
    for (std::uint64_t n = random() % 60; n > 0; --n) {
        text += std::string(random() % 50 == 0 ? 300'000 : random() % 20, static_cast<char>('a' + n % 26));
        if (random() % 3 == 0) text += '\r';
        text += '\n';
    }
    if (random() % 2 == 0) text += "no newline";
    return text;
}

void add_lines(const std::string& path, const std::string& text, Pairs& lines) {
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.emplace_back(path + ":" + std::to_string(++number), text.substr(at, end - at));
        at = end + 1;
    }
}

TEST(LineReader, ReadsEachLineOfAnyCutOnce) {
    const Folder folder;
    std::mt19937_64 random(1);
    for (int round = 0; round < 60; ++round) {
        std::vector<std::string> works;
        Pairs wanted;
        for (std::size_t n = 0; n < 1 + random() % 4; ++n) {
            works.push_back(folder / std::to_string(n));
            const std::string text = random_text(random);
            write_file(works.back(), text);
            add_lines(works.back(), text, wanted);
        }
        write_file(folder / "empty", "");
        works.push_back(folder / "empty");
        if (wanted.size() < works.size()) continue;
        const std::uint64_t slices = works.size() + random() % (wanted.size() - works.size() + 1);
        SliceOptions options = lines_cut_into(static_cast<std::int64_t>(slices));
        options.shuffle = random() % 2 == 0;
        SliceQueue queue(works, options);
        ASSERT_EQ(queue.size(), slices);
        Pairs all = all_of(queue, LineReader(), 1 + random() % 30);
        if (options.shuffle) {
            std::sort(all.begin(), all.end());
            std::sort(wanted.begin(), wanted.end());
        }
        ASSERT_TRUE(all == wanted);
    }
}

TEST(LineReader, OfWholeFilesReadsThemWhole) {
    const Folder folder;
    write_file(folder / "a", "1\n2\n3");
    write_file(folder / "b", "");
    write_file(folder / "c", "4\r\n");
    SliceOptions options;
    options.num_epochs = 2;
    options.shuffle = false;
    SliceQueue queue({folder / "a", folder / "b", folder / "c"}, options);
    SliceProducer producer = queue.input_producer();
    LineReader reader;
    for (int epoch = 0; epoch < 2; ++epoch) {
        EXPECT_THAT(pairs_of(reader.read_up_to(producer, 2)),
                    ElementsAre(std::pair(folder / "a:1", "1"), std::pair(folder / "a:2", "2")));
        EXPECT_THAT(pairs_of(reader.read_up_to(producer, 2)), ElementsAre(std::pair(folder / "a:3", "3")))
            << "it does not cross the end of a slice";
        EXPECT_THAT(pairs_of(reader.read_up_to(producer, 2)), ElementsAre(std::pair(folder / "c:1", "4\r")));
    }
    EXPECT_TRUE(reader.read_up_to(producer, 2).values.empty());
    EXPECT_TRUE(reader.read_up_to(producer, 2).values.empty()) << "the end stays";
    EXPECT_THROW(reader.read_up_to(producer, 0), std::invalid_argument);
}

TEST(LineReader, ASliceIsCommittedWhenTheNextIsReadFrom) {
    const Folder folder;
    write_file(folder / "a", "1\n2\n3\n4\n");
    SliceQueue queue({folder / "a"}, lines_cut_into(2));
    SliceProducer producer = queue.input_producer();
    LineReader reader;
    Slice first;
    EXPECT_EQ(reader.read_up_to(producer, 2).values.size(), 2u);
    EXPECT_TRUE(queue.commit(first)) << "it was not";
    EXPECT_EQ(reader.read_up_to(producer, 1).values.size(), 1u);
    Slice second;
    second.position = 1;
    EXPECT_EQ(reader.read_up_to(producer, 1).values.size(), 1u);
    EXPECT_TRUE(queue.commit(second)) << "it was not, although all is read";
}

TEST(LineReader, ReadsASliceOfTake) {
    const Folder folder;
    write_file(folder / "a", "1\n2\n3\n4\n5\n");
    SliceQueue queue({folder / "a"}, lines_cut_into(3));
    LineReader reader;
    EXPECT_TRUE(reader.read_up_to(9).values.empty()) << "none is open";
    std::vector<std::string> all;
    while (const auto slice = queue.take()) {
        reader.open(queue, *slice);
        for (const std::string_view line : reader.read_up_to(9).values) all.emplace_back(line);
        EXPECT_TRUE(reader.read_up_to(9).values.empty());
    }
    EXPECT_THAT(all, ElementsAre("1", "2", "3", "4", "5"));
}

TEST(RecordReader, ReadsEachRecordOfAnyCutOnce) {
    const Folder folder;
    std::mt19937_64 random(2);
    for (const std::size_t bytes : {1u, 3u, 700u, 300'000u}) {
        std::string all;
        for (std::size_t n = 0; n < 12 * bytes; ++n) all += static_cast<char>(random());
        write_file(folder / "a", all);
        write_file(folder / "b", all.substr(0, 5 * bytes));
        for (const std::int64_t slices : {2, 7, 17}) {
            SliceOptions options = cut_into(slices);
            options.record_bytes = bytes;
            SliceQueue queue({folder / "a", folder / "b"}, options);
            const Pairs read = all_of(queue, RecordReader(bytes), 1 + random() % 5);
            ASSERT_EQ(read.size(), 17u);
            for (std::size_t n = 0; n < 17; ++n) {
                const std::size_t record = n % 12;
                EXPECT_EQ(read[n].first, folder / (n < 12 ? "a" : "b") + "?record=" + std::to_string(record));
                EXPECT_TRUE(read[n].second == all.substr(record * bytes, bytes));
            }
        }
    }
    EXPECT_THROW(RecordReader(0), std::invalid_argument);
}

TEST(RecordReader, LeavesAloneWhatIsKept) {
    const Folder folder;
    std::string bytes(3 << 20, ' ');
    for (std::size_t n = 0; n < bytes.size(); ++n) bytes[n] = static_cast<char>(n * 7919 >> 8);
    write_file(folder.path() + "/r", bytes);
    SliceOptions options = cut_into(2);
    options.record_bytes = 1 << 10;
    SliceQueue slices({folder.path() + "/r"}, options);
    SliceProducer producer = slices.input_producer();
    std::vector<std::pair<std::string_view, std::shared_ptr<const void>>> kept;
    {
        RecordReader reader(1 << 10);
        for (;;) {
            const auto [keys, values] = reader.read_up_to(producer, 100);
            if (values.empty()) break;
            kept.emplace_back(std::string_view(values[0].data(), values.size() << 10), reader.keep());
            ASSERT_TRUE(kept.back().second);
        }
    }
    std::string all;
    for (const auto& [values, memory] : kept) all += values;
    EXPECT_EQ(all, bytes);
}

TEST(RecordReader, GivesNumbers) {
    const Folder folder;
    const std::vector<std::uint32_t> numbers{1, 2, 3, 4, 5, 6};
    write_file(folder / "a", std::string(reinterpret_cast<const char*>(numbers.data()), 24));
    SliceQueue queue({folder / "a"});
    SliceProducer producer = queue.input_producer();
    RecordReader reader(8);
    const Records pairs = reader.read_up_to(producer, 2);
    EXPECT_EQ(pairs.values.size(), 2u);
    const auto span = pairs.values.as<std::uint32_t>();
    EXPECT_THAT(std::vector(span.begin(), span.end()), ElementsAre(1, 2, 3, 4));
    using Three = std::array<std::uint8_t, 3>;
    EXPECT_THROW(pairs.values.as<Three>(), std::logic_error);
}

std::string why(const std::vector<std::string>& works, const SliceOptions& options) {
    try {
        const SliceQueue queue(works, options);
    } catch (const SetupError& error) {
        return std::to_string(error.exit_code()) + " " + error.what();
    }
    return "nothing";
}

TEST(SliceQueue, NamesWorksThatCannotBeCut) {
    const Folder folder;
    write_file(folder / "ragged", "12345");
    SliceOptions options = cut_into(2);
    options.record_bytes = 2;
    EXPECT_EQ(why({folder / "ragged", folder / "gone"}, options),
              "65 cannot read " + folder / "ragged" +
                  ": it has 5 bytes: 2 records of 2 bytes and a rest of 1 byte; cannot read " +
                  folder / "gone" + ": No such file or directory");
    EXPECT_THAT(why({folder / "gone", folder / "also"}, {}), HasSubstr(folder / "also"));
    EXPECT_EQ(why({folder / "gone"}, {.must_exist = false}), "nothing");
    write_file(folder / "two", "1\n2\n");
    EXPECT_EQ(why({folder / "two"}, lines_cut_into(3)), "64 num_slices is 3, but the works have 2 records");
    EXPECT_THAT(why({folder / "two"}, lines_cut_into(0)), HasSubstr("64 num_slices is 0"));
    write_file(folder / "none", "");
    EXPECT_THAT(why({folder / "none"}, lines_cut_into(1)), HasSubstr("64 the works have no records"));
    options.lines = true;
    EXPECT_EQ(why({folder / "two"}, options), "64 lines and record_bytes exclude each other");
}

TEST(SliceQueue, SaysWhatItDoesNotCut) {
    const Folder folder;
    write_file(folder / "a", "1\n2\n");
    std::vector<std::string> said;
    SliceOptions options = cut_into(2);
    options.say = [&](const std::string& line) { said.push_back(line); };
    SliceQueue queue({folder / "a", folder / "a"}, options);
    EXPECT_EQ(queue.size(), 2u);
    EXPECT_THAT(said, ElementsAre("work_queue: 2 files are not cut: set lines for text files, or "
                                  "record_bytes for binary records"));
}

// What reading the first slice throws.
std::string error_of(SliceQueue& queue, SliceReader&& reader) {
    SliceProducer producer = queue.input_producer();
    try {
        reader.read_up_to(producer, 100);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "nothing";
}

TEST(SliceReader, NoticesThatAFileChangedSinceThePlan) {
    const Folder folder;
    const std::string path = folder / "a";
    write_file(path, "1\n2\n3\n4\n");
    SliceQueue lines({path}, lines_cut_into(2));
    SliceOptions options = cut_into(2);
    options.record_bytes = 2;
    SliceQueue records({path}, options);
    SliceQueue whole({path});
    write_file(path, "1\n2\n3\n4\n5\n");
    EXPECT_EQ(error_of(lines, LineReader()), path + " changed since the plan: it has 10 bytes, 8 then");
    EXPECT_EQ(error_of(records, RecordReader(2)), path + " changed since the plan: it has 10 bytes, 8 then");
    EXPECT_EQ(error_of(whole, LineReader()), "nothing") << "nothing of it was counted";
    std::filesystem::remove(path);
    EXPECT_EQ(error_of(lines, LineReader()), "cannot read " + path + ": No such file or directory");
}

TEST(SliceReader, RefusesWhatIsCutIntoOtherRecords) {
    const Folder folder;
    write_file(folder / "a", "1\n2\n3\n4\n");
    SliceQueue lines({folder / "a"}, lines_cut_into(2));
    EXPECT_EQ(error_of(lines, RecordReader(2)), folder / "a is cut into lines: read them with LineReader");
    SliceQueue whole({folder / "a"});
    EXPECT_EQ(error_of(whole, RowReader()), folder / "a names no dataset, as FILE.h5:/path does");
    EXPECT_EQ(error_of(whole, RecordReader(3)),
              "cannot read " + folder / "a: it has 8 bytes: 2 records of 3 bytes and a rest of 2 bytes");
}

TEST(SliceReader, AfterAnErrorReadsTheNextSlice) {
    const Folder folder;
    write_file(folder / "a", "1\n");
    write_file(folder / "b", "2\n");
    SliceOptions options;
    options.shuffle = false;
    SliceQueue queue({folder / "a", folder / "b"}, options);
    std::filesystem::remove(folder / "a");
    SliceProducer producer = queue.input_producer();
    LineReader reader;
    EXPECT_THROW(reader.read_up_to(producer, 1), std::runtime_error);
    EXPECT_THAT(pairs_of(reader.read_up_to(producer, 1)), ElementsAre(std::pair(folder / "b:1", "2")));
    EXPECT_TRUE(reader.read_up_to(producer, 1).values.empty());
}

}  // namespace
}  // namespace wq
