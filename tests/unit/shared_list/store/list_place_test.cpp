#include "shared_list/store/list_place.h"
#include "shared_list/ssh/ssh_store.h"

#include <gtest/gtest.h>

namespace wq::shared_list::store {
namespace {

ListPlace placed(const std::string& word, const std::string& host = "") {
    return list_place(word, host).or_throw();
}

TEST(ListPlace, HostEndsAtTheFirstColonBeforeAnySlash) {
    EXPECT_EQ(placed("C:x"), (ListPlace{"C", "x"}));
    EXPECT_EQ(placed("u@h:a:b", "m"), (ListPlace{"u@h", "a:b"}));
    EXPECT_EQ(placed("./a:b"), (ListPlace{"", "./a:b"}));
    EXPECT_EQ(placed("./a:b", "m"), (ListPlace{"m", "./a:b"}));
    EXPECT_EQ(placed("/x/a:b"), (ListPlace{"", "/x/a:b"}));
    EXPECT_EQ(placed("h:/x"), (ListPlace{"h", "/x"}));
    EXPECT_EQ(placed("h:~/x"), (ListPlace{"h", "~/x"}));
    EXPECT_EQ(placed("x", "m"), (ListPlace{"m", "x"}));
}

TEST(ListPlace, AddressesWithColonsStandInBrackets) {
    EXPECT_EQ(placed("[::1]:f"), (ListPlace{"[::1]", "f"}));
    EXPECT_EQ(placed("user@[fe80::1]:~/f:g"), (ListPlace{"user@[fe80::1]", "~/f:g"}));
    EXPECT_EQ(name_of(placed("[::1]:f")), "[::1]:f");
    EXPECT_EQ(ssh::store_at(placed("u@[::1]:f"), {})->name(), "u@::1:f");  // as ssh takes it
}

TEST(ListPlace, RefusesWhatNamesNothing) {
    for (const char* word : {"", "h:", ":f", "-x:f"}) {
        const auto place = list_place(word, "");
        ASSERT_FALSE(place.ok()) << word;
        EXPECT_EQ(place.error().code, ExitCode::usage);
    }
    EXPECT_FALSE(list_place("f", "-oProxyCommand=x").ok());
}

}  // namespace
}  // namespace wq::shared_list::store
