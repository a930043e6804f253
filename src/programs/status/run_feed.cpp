#include "programs/status/run_feed.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "manager/report/progress.h"
#include "views/model/account.h"
#include "views/model/stats_run.h"

namespace wq::programs::status {

namespace {

constexpr Duration shortest_pause = std::chrono::seconds(1);
constexpr int pauses_a_look = 9;  // a look takes at most a tenth of the time
// A look that takes longer is told.
constexpr Duration patience = std::chrono::seconds(10);

// The flag in stats.h5 stays if the manager was killed; its directory tells.
bool is_known_to_have_ended(const std::string& path) {
    const auto view = manager::report::view_of_directory(views::model::folder_of_run(path));
    return view && !view->live;
}

std::optional<RunVersion> version_of(const std::string& file, bool is_live) {
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0) return std::nullopt;
    return RunVersion{found.st_mtim.tv_sec * 1'000'000'000LL + found.st_mtim.tv_nsec,
                      static_cast<std::uint64_t>(found.st_size), found.st_ino, is_live};
}

}  // namespace

Result<std::shared_ptr<const RunPicture>> read_picture(const std::string& path) {
    auto run = views::model::read_run(path);
    if (!run) return run.error();
    if (run->is_live && is_known_to_have_ended(path)) run->is_live = false;
    const views::model::Account account = views::model::account_of(*run);
    return std::make_shared<const RunPicture>(RunPicture{std::move(*run), account});
}

RunFeed::RunFeed(std::string path, std::shared_ptr<const RunPicture> first, Duration reading)
    : path_(std::move(path)),
      picture_(std::move(first)),
      next_(instant_now() + std::max(shortest_pause, pauses_a_look * reading)) {}

// The version is taken before the file is read: what changes meanwhile is read with the next look.
RunFeed::Look RunFeed::look(const std::string& path, const std::string& file,
                            const std::optional<RunVersion>& known) {
    const Instant begin = instant_now();
    Look look;
    look.version = version_of(file, !is_known_to_have_ended(path));
    if (!look.version || look.version != known) look.picture = read_picture(path);
    look.took = instant_now() - begin;
    return look;
}

bool RunFeed::step(Instant now) {
    background_.finish();
    if (!looking_since_ && now >= next_) begin(now);
    if (looking_since_ && now - *looking_since_ > patience && silence_.since == 0) {
        silence_ = {looking_since_wall_, "reading its files takes longer than usual"};
        changed_ = true;
    }
    return std::exchange(changed_, false);
}

Instant RunFeed::wakeup() const {
    return looking_since_ ? *looking_since_ + patience : next_;
}

void RunFeed::begin(Instant now) {
    looking_since_ = now;
    looking_since_wall_ = wall_now();
    background_.post([this, path = path_, file = picture_->run.path, known = version_] {
        auto seen = std::make_shared<Look>(look(path, file, known));
        return [this, seen] { take(std::move(*seen)); };
    });
}

void RunFeed::take(Look look) {
    looking_since_.reset();
    next_ = instant_now() + std::max(shortest_pause, pauses_a_look * look.took);
    if (!look.picture) {
        if (silence_.since == 0) silence_.since = looking_since_wall_;
        silence_.why = look.picture.error().message;
        version_.reset();  // it is read again as soon as it can be
        changed_ = true;
        return;
    }
    changed_ = changed_ || *look.picture != nullptr || silence_.since != 0;
    silence_ = {};
    version_ = look.version;
    if (*look.picture != nullptr) picture_ = std::move(*look.picture);
}

}  // namespace wq::programs::status
