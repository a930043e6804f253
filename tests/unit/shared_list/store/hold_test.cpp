// Who holds the lock for a connection that is dead ends.
#include <unistd.h>

#include <algorithm>
#include <string>

#include "shared_list/ssh/remote_helper.h"
#include "shared_list/store/list_place.h"
#include "stores.h"

namespace wq::shared_list::store {
namespace {

using test::write_file;

class Hold : public EveryWay {
  protected:
    // A helper that holds the lock, and says so each second.
    void start() {
        write_file(list(), "a\n");
        auto words = masters_.ssh(GetParam());
        words.push_back(test::SshServer::host());
        words.push_back(ssh::start_command(ssh::master_helper.size()));
        auto process = ssh::SshProcess::start(words);
        ASSERT_TRUE(process.ok());
        helper_.emplace(std::move(*process));
        send(std::string(ssh::master_helper) + "mark 1 write\n" + list() + "\nhold 1\n");
        std::string said;
        ASSERT_TRUE(comes_in_time([&] {
            receive(helper_->out(), said);
            return said.find("mark held\n") != std::string::npos;
        })) << said;
        EXPECT_TRUE(holds());
    }
    void send(const std::string& text) const {
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t put = write(helper_->in(), text.data() + at, text.size() - at);
            if (put > 0) at += static_cast<std::size_t>(put);
        }
    }
    static void receive(int from, std::string& into) {
        char bytes[1000];
        const ssize_t got = read(from, bytes, sizeof bytes);
        into.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
    bool holds() const { return is_locked(list() + ".lock"); }
    bool is_left_alone() const {
        for (const auto& entry : std::filesystem::directory_iterator(list() + ".runtask"))
            if (entry.path().filename().string().starts_with("received")) return false;
        return true;
    }
    std::optional<ssh::SshProcess> helper_;
};

TEST_P(Hold, SaysSoNowAndThen) {
    ASSERT_NO_FATAL_FAILURE(start());
    std::string said;
    EXPECT_TRUE(comes_in_time([&] {
        receive(helper_->errors(), said);
        return std::count(said.begin(), said.end(), '\n') >= 2;
    })) << said;
    EXPECT_TRUE(holds());
    EXPECT_TRUE(is_left_alone());
    helper_->end(std::chrono::seconds(10));
    EXPECT_TRUE(comes_in_time([&] { return !holds(); }));
}

TEST_P(Hold, EndsIfNobodyIsThereToHearIt) {
    if (GetParam() == Way::ssh) GTEST_SKIP() << "its sshd hears it";
    ASSERT_NO_FATAL_FAILURE(start());
    helper_->close_errors();
    EXPECT_TRUE(comes_in_time([&] { return !holds(); }));
}

WQ_WAYS(Hold, Way::ssh, Way::busybox, Way::bash);

}  // namespace
}  // namespace wq::shared_list::store
