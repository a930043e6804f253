#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "item_text.h"

namespace {

using namespace wq::engine::tasklist;
using namespace wq::engine::tasklist::testing;
using ::testing::ElementsAre;

struct SettingsCase {
    std::string line;
    std::string settings;
};

class SettingsLines : public ::testing::TestWithParam<SettingsCase> {};

TEST_P(SettingsLines, AreRead) {
    const Reading reading = read_list(GetParam().line);
    EXPECT_EQ(reading.error, "");
    EXPECT_THAT(texts_of(reading.items), ElementsAre("1 settings" + GetParam().settings));
}

INSTANTIATE_TEST_SUITE_P(
    Values, SettingsLines,
    ::testing::Values(
        SettingsCase{"#WQ cores=2 memory=4G disk=1G gpus=1 time=10m min-time=1m retries=3 category=align",
                     " cores=2 memory=4096 disk=1024 gpus=1 time=10m00s min-time=1m00s retries=3 "
                     "category=align"},
        SettingsCase{"  #WQ\tcores=0\tgpus=1 ", " cores=0 gpus=1"},
        SettingsCase{"#WQ memory=512", " memory=512"}, SettingsCase{"#WQ memory=1.5G", " memory=1536"},
        SettingsCase{"#WQ memory=1k", " memory=1"}, SettingsCase{"#WQ disk=0", " disk=0"},
        SettingsCase{"#WQ disk=1025k", " disk=2"}, SettingsCase{"#WQ time=1-00:00:00", " time=1d00h"},
        SettingsCase{"#WQ time=90", " time=1m30s"}, SettingsCase{"#WQ cores=2 # a remark x=1", " cores=2"},
        SettingsCase{"#WQ cores=", ""}, SettingsCase{"#WQ cores= memory=7", " memory=7"},
        SettingsCase{"#WQ category=blast.v2-x", " category=blast.v2-x"},
        SettingsCase{"#WQ min-time=0", " min-time=0.00s"}, SettingsCase{"#WQ retries=0", " retries=0"}));

TEST(Settings, HoldKeyByKeyUntilChangedOrReset) {
    const Reading reading = read_list(
        "#WQ cores=2 memory=4G\n"
        "#WQ cores=3 time=1h category=a\n"
        "#WQ memory= category=\n"
        "#WQ cores= time=\n");
    EXPECT_THAT(texts_of(reading.items),
                ElementsAre("1 settings cores=2 memory=4096",                        //
                            "2 settings cores=3 memory=4096 time=1h00m category=a",  //
                            "3 settings cores=3 time=1h00m", "4 settings"));
}

struct BadSettings {
    std::string words;
    std::string message;
};

class BadSettingsLines : public ::testing::TestWithParam<BadSettings> {};

TEST_P(BadSettingsLines, AreRefusedWithFileLineAndKeys) {
    const Reading reading = read_list("true\n#WQ " + GetParam().words + "\n");
    EXPECT_EQ(reading.error, "list.sh:2: " + GetParam().message);
    EXPECT_EQ(reading.items.size(), 1U);
}

const std::string core_fraction = " (with at most three decimals)";
const std::string known =
    "; the keys are cores memory disk gpus time min-time retries category "
    "batch-environment input output";

INSTANTIATE_TEST_SUITE_P(
    Keys, BadSettingsLines,
    ::testing::Values(
        BadSettings{"core=2", "unknown key 'core' in a #WQ line (did you mean 'cores'?)" + known},
        BadSettings{"mem=2", "unknown key 'mem' in a #WQ line (did you mean 'memory'?)" + known},
        BadSettings{"memroy=2", "unknown key 'memroy' in a #WQ line (did you mean 'memory'?)" + known},
        BadSettings{"gpu=1", "unknown key 'gpu' in a #WQ line (did you mean 'gpus'?)" + known},
        BadSettings{"min_time=1", "unknown key 'min_time' in a #WQ line (did you mean 'min-time'?)" + known},
        BadSettings{"retry=1", "unknown key 'retry' in a #WQ line" + known},
        BadSettings{"Cores=1", "unknown key 'Cores' in a #WQ line (did you mean 'cores'?)" + known},
        BadSettings{"cpus=1", "unknown key 'cpus' in a #WQ line (did you mean 'cores'?)" + known},
        BadSettings{"colour=red", "unknown key 'colour' in a #WQ line" + known},
        BadSettings{"=2", "unknown key '' in a #WQ line" + known},
        BadSettings{"cores=2 #@1", "unknown key '#@1' in a #WQ line" + known},
        BadSettings{std::string(5000, 'k') + "=2",
                    "unknown key '" + std::string(75, 'k') + "'... in a #WQ line" + known},
        BadSettings{"", "a #WQ line without settings" + known},
        BadSettings{"# later", "a #WQ line without settings" + known},
        BadSettings{"cores 2", "'cores' has no value; write cores=VALUE, or cores= for the default"},
        BadSettings{"batch-environment=on",
                    "bad value of 'batch-environment': 'on' is neither keep nor hide" + known},
        BadSettings{"input=../x",
                    "bad value of 'input': '../x' is not below the folder that tasks run in; give a "
                    "relative path without '..'" +
                        known},
        BadSettings{"output=/x",
                    "bad value of 'output': '/x' is not below the folder that tasks run in; give "
                    "a relative path without '..'" +
                        known},
        BadSettings{"input=a output=./a", "'a' is given twice as a file; keep one"},
        BadSettings{"input=a/b input=a", "the input 'a/b/' lies in the input 'a/'; keep the folder"},
        BadSettings{"cores=1 cores=2", "'cores' is given twice in one #WQ line; keep one"}));

INSTANTIATE_TEST_SUITE_P(
    Values, BadSettingsLines,
    ::testing::Values(
        BadSettings{"cores=two",
                    "bad value of 'cores': 'two' is not a number from 0 to 100000" + core_fraction + known},
        BadSettings{"cores=-1",
                    "bad value of 'cores': '-1' is not a number from 0 to 100000" + core_fraction + known},
        BadSettings{"gpus=100001",
                    "bad value of 'gpus': '100001' is not a number from 0 to 100000" + core_fraction + known},
        BadSettings{
            "memory=4X",
            "bad value of 'memory': '4X' is not a size up to 4096 PiB; write 512M, 4G or 1.5T" + known},
        BadSettings{"disk=1025P", "bad value of 'disk': '1025P' is more than 1 EiB" + known},
        BadSettings{
            "memory=0",
            "bad value of 'memory': a task needs more than '0' bytes; 'memory=' restores the default" +
                known},
        BadSettings{
            "time=0",
            "bad value of 'time': a task needs more than '0' seconds; 'time=' restores the default" + known},
        BadSettings{"time=soon",
                    "bad value of 'time': 'soon' is not a duration up to 100 years; write 90 (seconds), "
                    "1h30m, HH:MM:SS "
                    "or D-HH:MM:SS" +
                        known},
        BadSettings{
            "category='a",
            "bad value of 'category': ''a' is not a category name; use letters, digits and _ . -" + known}));

TEST(Settings, FilesOfALineAreAllThatThereAre) {
    EXPECT_THAT(
        texts_of(
            read_list("#WQ input=a input=b//./c output=d\n#WQ cores=2\n#WQ input=e\n#WQ input= output=\n")
                .items),
        ElementsAre("1 settings input=a input=b/c output=d", "2 settings cores=2 input=a input=b/c output=d",
                    "3 settings cores=2 input=e output=d", "4 settings cores=2"));
}

TEST(Settings, AnOutputIsOfOneTask) {
    const auto error = [](const std::string& list) { return read_list(list).error; };
    EXPECT_EQ(error("#WQ output=a\none\n#WQ output=b\ntwo\n#WQ output=\nthree\nfour\n"), "");
    EXPECT_EQ(
        error("#WQ output=a\none\n#WQ cores=1\ntwo\n"),
        "list.sh:4: the output 'a' already belongs to another task; give each its own '#WQ output=PATH', or "
        "'#WQ output=' for none");
    EXPECT_NE(error("#WQ output=a\none\n#WQ output=./a\ntwo\n"), "");
}

TEST(Settings, ARefusedLineChangesNothing) {
    ListReader reader("list.sh");
    std::vector<Item> items;
    EXPECT_FALSE(reader.feed("#WQ cores=2\n#WQ memory=1G cores=x\n", items));
    EXPECT_THAT(texts_of(items), ElementsAre("1 settings cores=2"));
}

}  // namespace
