// Any number of ranks find the same, together, and are told the same errors.
#include "slices/sources/survey.h"

#include <gmock/gmock.h>

#include <barrier>
#include <random>
#include <thread>

#include "slices/sources/line_reader.h"
#include "support/folder.h"
#include "unit/slices/sources/h5_testing.h"

namespace wq::slices::sources {
namespace {

using test::Folder;
using test::write_file;
using ::testing::HasSubstr;
using ::testing::Not;

struct Asked {
    std::vector<std::string> works;
    SurveyOptions options{};
};

// What each of the ranks gets; `asked` says what it asks for.
std::vector<Result<Survey>> surveys(std::size_t ranks, const std::function<Asked(std::size_t)>& asked) {
    std::vector<std::string> said(ranks);
    std::barrier together(static_cast<std::ptrdiff_t>(ranks));
    std::vector<Result<Survey>> found(ranks, Error{});
    const auto take_part = [&](std::size_t rank) {
        Party party{rank, ranks, [&, rank](const std::string& mine) {
                        said[rank] = mine;
                        together.arrive_and_wait();
                        auto all = said;
                        together.arrive_and_wait();
                        return all;
                    }};
        const Asked my = asked(rank);
        found[rank] = survey(my.works, my.options, party);
    };
    std::vector<std::jthread> threads;
    for (std::size_t rank = 0; rank < ranks; ++rank) threads.emplace_back(take_part, rank);
    threads.clear();
    return found;
}

Survey survey_by(std::size_t ranks, const Asked& asked) {
    const auto all = surveys(ranks, [&](std::size_t) { return asked; });
    for (const auto& found : all) {
        EXPECT_TRUE(found) << found.error().message;
        for (std::size_t n = 0; n < asked.works.size(); ++n) {
            EXPECT_EQ(found->sources[n].stamp, all[0]->sources[n].stamp);
            EXPECT_EQ(found->sources[n].lines.places(), all[0]->sources[n].lines.places());
        }
    }
    return *all[0];
}

std::string error_of(std::size_t ranks, const Asked& asked) {
    const auto all = surveys(ranks, [&](std::size_t) { return asked; });
    for (const auto& found : all) {
        EXPECT_FALSE(found);
        EXPECT_EQ(found.error().message, all[0].error().message);
    }
    return std::to_string(to_int(all[0].error().code)) + " " + all[0].error().message;
}

SurveyOptions lines() {
    SurveyOptions options;
    options.counts = options.lines = true;
    return options;
}

TEST(Survey, ByAnyRanksCountsTheLinesOfAllTexts) {
    const Folder folder;
    std::mt19937_64 random(1);
    for (int round = 0; round < 40; ++round) {
        Asked asked{{}, lines()};
        std::vector<std::uint64_t> counts;
        for (std::size_t n = 0; n < 1 + random() % 6; ++n) {
            std::string text;
            counts.push_back(random() % 100);
            for (std::uint64_t line = 0; line < counts.back(); ++line)
                text += std::string(random() % 30, 'x') + (random() % 4 == 0 ? "\r\n" : "\n");
            if (random() % 2 == 0) text += "end", ++counts.back();
            asked.works.push_back(folder / std::to_string(n));
            write_file(asked.works.back(), text);
        }
        const Survey found = survey_by(1 + random() % 5, asked);
        for (std::size_t n = 0; n < counts.size(); ++n) {
            ASSERT_EQ(found.sources[n].kind, Kind::lines);
            ASSERT_EQ(found.sources[n].records(), counts[n]);
        }
    }
}

TEST(Survey, KeepsFewPlacesOfManyLines) {
    const Folder folder;
    write_file(folder / "large", std::string(90'000, '\n'));
    write_file(folder / "small", std::string(10'000, '\n'));
    Asked asked{{folder / "large", folder / "small"}, lines()};
    asked.options.most_places = 1000;
    const Survey found = survey_by(3, asked);
    const std::size_t large = found.sources[0].lines.places().size();
    const std::size_t small = found.sources[1].lines.places().size();
    EXPECT_LE(large + small, 1000u);
    EXPECT_GE(large, 400u);
    EXPECT_GE(small, 40u);
}

TEST(Survey, CountsRowsAndRecords) {
    const sources::testing::H5Dir dir;
    {
        const sources::testing::H5File file(dir.file("x.h5"));
        file.write("/rows", H5T_STD_I8LE, H5T_NATIVE_INT8, {2, 3}, sources::testing::contiguous, "abcdef");
    }
    write_file(dir.file("records"), std::string(40, 'x'));
    SurveyOptions options;
    options.counts = true;
    options.record_bytes = 8;
    const Survey found =
        survey_by(2, {{dir.file("x.h5") + ":/rows", dir.file("records"), "odps://a/b"}, options});
    EXPECT_EQ(found.sources[0].kind, Kind::rows);
    EXPECT_EQ(found.sources[0].records(), 2u);
    EXPECT_EQ(found.sources[1].kind, Kind::records);
    EXPECT_EQ(found.sources[1].records(), 5u);
    EXPECT_EQ(found.sources[1].stamp.bytes, 40u);
    EXPECT_EQ(found.sources[2].records(), std::nullopt);
    EXPECT_EQ(found.whole_files, 0u);
}

TEST(Survey, NamesAllThatIsWrongToAllRanks) {
    const Folder folder;
    write_file(folder / "ragged", "12345");
    SurveyOptions options;
    options.counts = true;
    options.record_bytes = 2;
    for (const std::size_t ranks : {1u, 3u}) {
        const std::string why = error_of(
            ranks, {{folder / "gone", folder / "ragged", folder / "also", folder / "x.h5:/y"}, options});
        EXPECT_THAT(why, HasSubstr("cannot read " + folder / "gone" + ": No such file or directory"));
        EXPECT_THAT(why, HasSubstr("cannot read " + folder / "also" + ": No such file or directory"));
        EXPECT_THAT(why, HasSubstr("cannot read " + folder / "x.h5" + ": No such file or directory"));
        EXPECT_THAT(why, HasSubstr("ragged: it has 5 bytes: 2 records of 2 bytes and a rest of 1 byte"));
        EXPECT_THAT(why, ::testing::StartsWith(ranks == 1 ? "65 cannot" : "65 rank 0: cannot"));
    }
    options.lines = true;
    EXPECT_EQ(error_of(1, {{folder / "ragged"}, options}), "64 lines and record_bytes exclude each other");
    std::vector<std::string> many;
    for (int n = 0; n < 1234; ++n) many.push_back(folder / std::to_string(n));
    EXPECT_THAT(error_of(1, {many, lines()}), ::testing::EndsWith("; and 234 more"));
}

TEST(Survey, OfWholeWorksMissesFilesButNoOtherNames) {
    const Folder folder;
    write_file(folder / "there", "");
    write_file(folder / "x.h5", "");
    EXPECT_EQ(error_of(2, {{folder / "there", folder / "gone", folder / "x.h5:/a", folder / "y.h5:/a"}}),
              "65 cannot read " + folder / "gone" + ": No such file or directory; cannot read " +
                  folder / "y.h5:/a" + ": No such file or directory");
    survey_by(2, {{folder.path(), "odps://project/table", "https://host/file"}});
    survey_by(2, {{"table", "another table"}});
    SurveyOptions options;
    options.must_exist = true;
    EXPECT_THAT(error_of(2, {{"table", "odps://project/table"}, options}), Not(HasSubstr("odps")));
    options.must_exist = false;
    survey_by(2, {{folder / "gone"}, options});
}

TEST(Survey, TakesNamesForFilesIfOneIsThere) {
    const Folder folder;
    write_file(folder / "there.txt", "");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const std::string why = error_of(2, {{"there.txt", "gone.txt"}});
    std::filesystem::current_path(before);
    EXPECT_EQ(why, "65 cannot read gone.txt: No such file or directory");
}

TEST(Survey, NotesFilesThatCouldBeCut) {
    const Folder folder;
    write_file(folder / "a", "");
    SurveyOptions options;
    options.counts = true;
    EXPECT_EQ(survey_by(2, {{folder / "a", folder / "a", "odps://b"}, options}).whole_files, 2u);
    EXPECT_EQ(survey_by(2, {{folder / "a", folder / "a"}}).whole_files, 0u);
}

TEST(Survey, OfOtherWorksOrOptionsFailsOnAllRanks) {
    const Folder folder;
    write_file(folder / "a", "");
    for (const auto& mine : {Asked{{"b"}}, Asked{{folder / "a"}, lines()}, Asked{{}}}) {
        const auto found =
            surveys(3, [&](std::size_t rank) { return rank == 2 ? mine : Asked{{folder / "a"}}; });
        for (const auto& each : found) {
            ASSERT_FALSE(each);
            EXPECT_EQ(each.error().message, "rank 2 has other works or options than rank 0");
            EXPECT_EQ(each.error().code, ExitCode::usage);
        }
    }
}

TEST(Survey, MissesAFileThatIsChangedMeanwhile) {
    const Folder folder;
    write_file(folder / "a", "1\n2\n3\n");
    int steps = 0;
    const Party alone{0, 1, [&](const std::string& mine) {
                          if (++steps == 1) write_file(folder / "a", "1\n");
                          return std::vector{mine};
                      }};
    const auto found = survey({folder / "a"}, lines(), alone);
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message, HasSubstr("changed since the plan"));
}

// As of a rank with another version of the program.
TEST(Survey, RefusesWhatItCannotRead) {
    const Folder folder;
    write_file(folder / "text", "1\n2\n3\n");
    std::mt19937_64 random(5);
    int refused = 0;
    for (int round = 0; round < 2000; ++round) {
        int steps = static_cast<int>(random() % 2);  // until that whose words are garbled
        Party party;
        party.gather = [&](const std::string& mine) {
            std::string words = mine;
            if (steps-- != 0) return std::vector{words};
            if (random() % 2 == 0)
                words.resize(random() % words.size());
            else
                words[random() % words.size()] = static_cast<char>(random());
            return std::vector{words};
        };
        const auto found = survey({folder / "text"}, lines(), party);
        refused += found ? 0 : 1;
        if (found && found->sources[0].kind == Kind::lines) {
            ASSERT_LE(found->sources[0].lines.lines(), found->sources[0].stamp.bytes);
        }
    }
    EXPECT_GE(refused, 1500);
}

}  // namespace
}  // namespace wq::slices::sources
