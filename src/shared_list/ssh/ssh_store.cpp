#include "shared_list/ssh/ssh_store.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>

#include "shared_list/store/local_exchange.h"
#include "shared_list/store/local_store.h"
#include "shared_list/store/new_list.h"

namespace wq::shared_list::ssh {

namespace {

// The shell reads lines byte by byte, each with a system call: longer ones go by a file.
constexpr std::size_t most_by_lines = 8192;

class Words {
  public:
    explicit Words(std::string_view text) : rest_(text) {}

    bool has_more() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
        return !rest_.empty();
    }
    std::string_view next() {
        has_more();
        const std::size_t end = std::min(rest_.find(' '), rest_.size());
        const std::string_view word = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        return word;
    }
    template <class Number>
    Number number() {
        return number_in<Number>(next());
    }
    template <class Number>
    Number number_in(std::string_view word) {
        Number value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc{} || end != word.data() + word.size()) ok_ = false;
        return value;
    }
    bool ok() const { return ok_; }
    void expect(std::string_view word) {
        if (next() != word) ok_ = false;
    }

  private:
    std::string_view rest_;
    bool ok_ = true;
};

std::string identity_word(std::string identity) {
    std::replace(identity.begin(), identity.end(), ' ', '_');
    return identity.empty() ? "-" : identity;
}

std::uint64_t size_in(const std::string& identity) {
    const std::size_t blank = identity.find(' ');
    return blank == std::string::npos ? 0 : std::strtoull(identity.c_str() + blank, nullptr, 10);
}

std::string plan_of(const std::vector<text::Splice>& splices) {
    std::string plan;
    for (const auto& splice : splices) {
        const auto ends = std::count(splice.text.begin(), splice.text.end(), '\n');
        plan += std::to_string(splice.offset) + " " + std::to_string(splice.length) + " " +
                std::to_string(splice.text.empty() ? 0 : ends + 1) + "\n";
        if (!splice.text.empty()) plan += splice.text + "\n";
    }
    return plan;
}

std::uint64_t bytes_after(const store::Request& request) {
    std::uint64_t bytes = size_in(request.known.file);
    for (const auto& splice : request.splices) bytes += splice.text.size() - splice.length;
    return bytes;
}

// "1732605897.123456789"; another count of digits is not lost either.
Duration seconds_of(Words& words, std::string_view text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    const auto seconds = words.number_in<std::int64_t>(text.substr(0, point));
    std::string fraction(text.substr(std::min(point + 1, text.size())));
    fraction.resize(9, '0');
    return std::chrono::seconds(seconds) + std::chrono::nanoseconds(words.number_in<std::int64_t>(fraction));
}

AnswerHead::Grown grown_of(Words& words) {
    const std::string_view word = words.next();
    const std::size_t point = std::min(word.find('.'), word.size());
    const std::size_t line = std::min(word.find('-'), word.size());
    AnswerHead::Grown grown;
    grown.number = words.number_in<std::uint64_t>(word.substr(0, point));
    if (line <= point || line == word.size()) return grown;
    grown.from = words.number_in<std::uint64_t>(word.substr(point + 1, line - point - 1));
    const std::size_t plus = std::min(word.find('+', line), word.size() - 1);
    grown.to = words.number_in<std::uint64_t>(word.substr(line + 1, plus - line - 1));
    grown.begun = words.number_in<std::uint64_t>(word.substr(plus + 1));
    return grown;
}

}  // namespace

std::string identity_from_word(std::string word) {
    std::replace(word.begin(), word.end(), '_', ' ');
    return word;
}

std::string exchange_request(const store::Request& request, SendFile file, const std::string& new_log) {
    const std::string& records = request.records;
    const bool by_lines = records.size() <= most_by_lines && records.ends_with('\n');
    const auto lines = by_lines ? std::count(records.begin(), records.end(), '\n') : 0;
    const std::string plan = request.rewrite ? plan_of(request.splices) : std::string{};
    std::string text =
        "exchange " + std::to_string(static_cast<int>(file)) + (request.empty() ? " 0 " : " 1 ") +
        (request.known.log.empty() ? "-" : request.known.log) + " " +
        std::to_string(request.known.log_bytes) + " " + identity_word(request.known.file) + " " + new_log +
        " " + std::to_string(lines) + " " + std::to_string(records.size()) + " " +
        (request.rewrite ? std::to_string(plan.size()) : "-") + " " +
        std::to_string(request.rewrite ? bytes_after(request) : 0) + " " + (request.new_log ? "1 " : "0 ") +
        (request.put_aside.empty() ? "-" : request.put_aside);
    for (const std::string& name : request.copied_old) text += " " + name;
    return text + "\n" + records + plan;
}

std::optional<AnswerHead> answer_head(std::string_view text) {
    Words words(text);
    words.expect("ok");
    AnswerHead head;
    head.changed = words.next() == "1";
    head.now.log = words.next();
    head.now.log_bytes = words.number<std::uint64_t>();
    head.now.file = identity_from_word(std::string(words.next()));
    head.whole_log = words.next() == "1";
    head.log_bytes = words.number<std::uint64_t>();
    const std::string_view file = words.next();
    if (file != "-") head.file_bytes = words.number_in<std::uint64_t>(file);
    head.old_files = words.number<std::size_t>();
    while (words.ok() && words.has_more()) head.old.push_back(grown_of(words));
    const bool grew = std::all_of(head.old.begin(), head.old.end(),
                                  [](const AnswerHead::Grown& one) { return one.to > one.from; });
    if (!words.ok() || !grew) return std::nullopt;
    return head;
}

std::optional<std::uint64_t> bytes_announced(std::string_view text) {
    Words words(text);
    words.expect("ok");
    const auto bytes = words.number<std::uint64_t>();
    return words.ok() ? std::optional(bytes) : std::nullopt;
}

std::optional<std::vector<store::Sign>> signs_of(std::string_view text) {
    Words words(text);
    words.expect("ok");
    std::vector<store::Sign> signs;
    if (!words.has_more()) return signs;
    words.next();  // the file that was touched just now
    const Duration now = seconds_of(words, words.next());
    words.next();
    while (words.ok() && words.has_more()) {
        store::Sign sign;
        const std::string_view name = words.next();
        sign.age = std::max(now - seconds_of(words, words.next()), Duration{0});
        sign.lease = store::lease_of_text(std::string(words.next()));
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), sign.worker);
        if (error == std::errc{} && end == name.data() + name.size()) signs.push_back(sign);
    }
    if (!words.ok()) return std::nullopt;
    return signs;
}

std::optional<store::MasterTime> time_of(std::string_view text) {
    Words words(text);
    words.expect("ok");
    store::MasterTime time;
    time.now = words.number<std::int64_t>() * micros_per_second;
    const std::string_view zone = words.next();  // "+0130"
    if (zone.size() != 5) return std::nullopt;
    const auto hours = words.number_in<std::int64_t>(zone.substr(1, 2));
    const auto minutes = words.number_in<std::int64_t>(zone.substr(3, 2));
    time.east_of_utc =
        (std::chrono::hours(hours) + std::chrono::minutes(minutes)) * (zone[0] == '-' ? -1 : 1);
    if (!words.ok()) return std::nullopt;
    return time;
}

namespace {

constexpr int most_fetches = 5;
constexpr int most_views = 20;  // as many as local_store.cpp
constexpr std::chrono::seconds release_patience{5};

class HeldThere final : public store::ListStore::Held {
  public:
    explicit HeldThere(std::unique_ptr<RemoteHelper> helper) : helper_(std::move(helper)) {}
    ~HeldThere() override { helper_->end(release_patience); }
    int descriptor() const override { return helper_->descriptor(); }

  private:
    std::unique_ptr<RemoteHelper> helper_;
};

// Ends the identity of a list that somebody edited while it was sent.
constexpr std::string_view torn = " torn";

std::string lease_word(Duration lease) {
    std::string text = store::text_of_lease(lease);
    text.resize(text.find(' '));
    return text;
}

std::string beat_request(text::WorkerId worker, Duration lease) {
    return "beat " + std::to_string(worker) + " " + lease_word(lease) + "\n";
}

// See Meanwhile.
std::string signs_while_waiting(const std::map<text::WorkerId, Duration>& given) {
    std::string signs;
    for (const auto& [worker, lease] : given) signs += " " + std::to_string(worker) + "=" + lease_word(lease);
    return std::to_string(store::between_signs(given).count()) + signs;
}

bool is_torn(const store::Answer& answer) {
    return answer.now.file.ends_with(torn);
}

}  // namespace

SshStore::SshStore(std::string host, std::string file, std::function<void(const std::string&)> say,
                   std::vector<std::string> ssh)
    : say_(std::move(say)) {
    master_.ssh = std::move(ssh);
    master_.host = std::move(host);
    master_.list = std::move(file);
    waiting_.signs = [this] { return signs_while_waiting(given_); };
}

Status SshStore::open_as(OpenMode mode) {
    mode_ = mode;
    helper_.reset();
    auto helper = RemoteHelper::start(master_, say_, mode);
    if (!helper) return helper.error();
    helper_ = std::move(*helper);
    // The new helper knows no signs, and may wait for the lock at once.
    for (const auto& [worker, lease] : given_)
        if (auto given = helper_->ask(beat_request(worker, lease)); !given) return given.error();
    return success();
}

Result<std::string> SshStore::ask(const std::string& request) {
    if (!helper_ || !helper_->is_usable())
        if (const Status opened = open_as(mode_); !opened) return opened.error();
    return helper_->ask(request, waiting_);
}

Error SshStore::broken() {
    helper_.reset();
    return {ExitCode::unreachable,
            "the answer of the master " + master_.host + " makes no sense; connecting anew may help"};
}

Result<store::Answer> SshStore::exchange(const store::Request& request) {
    const SendFile send = request.send_file     ? SendFile::yes
                          : request.follows_log ? SendFile::no
                                                : SendFile::if_other;
    auto answer = exchange_once(request, send);
    if (!answer) return answer;
    const bool follows = answer->changed || answer->now.file == request.known.file ||
                         store::log_has_file(answer->log, answer->now.file);
    bool fetch = send == SendFile::no && !follows;
    for (int i = 0; i < most_fetches && (fetch || is_torn(*answer)); ++i, fetch = false)
        if (const Status fetched = fetch_list(*answer); !fetched) return fetched.error();
    return answer;
}

Result<store::Answer> SshStore::read() {
    for (int looks = 1;; ++looks) {
        auto words = ask("view\n");
        if (!words) return words.error();
        const auto head = answer_head(*words);
        if (!head || !head->file_bytes) return broken();
        auto answer = received(*head);
        if (!answer) return answer;
        const bool has_log = answer->now.log != "-";
        const bool is_that_log = !has_log || answer->log.starts_with("LOG " + answer->now.log + "\n");
        if ((!is_torn(*answer) && is_that_log) || looks == most_views) return answer;
    }
}

// What is new since the answer goes with it.
Status SshStore::fetch_list(store::Answer& answer) {
    store::Request more;
    more.known = answer.now;
    auto next = exchange_once(more, SendFile::yes);
    if (!next) return next.error();
    answer.now = next->now;
    if (next->whole_log) answer.log.clear();
    answer.whole_log = answer.whole_log || next->whole_log;
    answer.log += next->log;
    answer.file = std::move(next->file);
    answer.left_aside = std::move(next->left_aside);
    answer.old = std::move(next->old);
    return success();
}

Result<store::Answer> SshStore::exchange_once(const store::Request& request, SendFile file) {
    const Instant begun = instant_now();
    store::Request sent = request;
    // A crash cut the log's last line off: what is appended must not continue it.
    if (log_is_torn_ && !request.new_log && (request.rewrite || !request.records.empty()))
        sent.records.insert(0, "\n");
    auto words = ask(exchange_request(sent, file, store::random_word()));
    if (!words) return words.error();
    const auto head = answer_head(*words);
    if (!head) return broken();
    auto answer = received(*head);
    if (!answer) return answer;
    if (!answer->log.empty()) log_is_torn_ = !answer->log.ends_with('\n');
    if (answer->changed) log_is_torn_ = false;
    if (answer->changed && request.rewrite)
        answer->rewriting = store::rewriting_time(instant_now() - begun, head->old_files);
    return answer;
}

Result<store::Answer> SshStore::received(const AnswerHead& head) {
    store::Answer answer;
    answer.changed = head.changed;
    answer.now = head.now;
    answer.whole_log = head.whole_log;
    auto log = helper_->bytes(head.log_bytes);
    if (!log) return log.error();
    answer.log = std::move(*log);
    if (const Status old = receive_old(head, answer); !old) return old.error();
    if (!head.file_bytes) return answer;
    auto file = helper_->bytes(*head.file_bytes);
    if (!file) return file.error();
    auto identity = helper_->line();
    if (!identity) return identity.error();
    answer.file = std::move(*file);
    const std::size_t blank = std::min(identity->find(' '), identity->size());
    answer.left_aside = identity_from_word(identity->substr(std::min(blank + 1, identity->size())));
    // No list has such an identity, so that nothing can be changed by who knows this text.
    if (identity_from_word(identity->substr(0, blank)) != answer.now.file) answer.now.file += torn;
    return answer;
}

Status SshStore::receive_old(const AnswerHead& head, store::Answer& answer) {
    for (const AnswerHead::Grown& grown : head.old) {
        auto begun = helper_->bytes(grown.begun);
        if (!begun) return begun.error();
        auto bytes = helper_->bytes(grown.to - grown.from);
        if (!bytes) return bytes.error();
        if (auto old = store::whole_lines(grown.number, grown.from, std::move(*begun), std::move(*bytes)))
            answer.old.push_back(std::move(*old));
    }
    return success();
}

Result<std::string> SshStore::previous_log() {
    auto words = ask("previous\n");
    if (!words) return words.error();
    const auto bytes = bytes_announced(*words);
    return bytes ? helper_->bytes(*bytes) : broken();
}

Status SshStore::beat(text::WorkerId worker, Duration lease) {
    auto words = ask(beat_request(worker, lease));
    given_[worker] = lease;
    return words ? success() : Status(words.error());
}

Status SshStore::renew_signs() {
    const Instant now = instant_now();
    if (given_.empty() || now < signs_given_ + store::between_signs(given_)) return success();
    for (const auto& [worker, lease] : given_)
        if (auto words = ask(beat_request(worker, lease)); !words) return words.error();
    signs_given_ = now;
    if (waiting_.signed_at) waiting_.signed_at(now);
    return success();
}

Status SshStore::ask_for_turn(const std::string& name) {
    auto words = ask("turn " + name + "\n");
    return words ? success() : Status(words.error());
}

Status SshStore::remove_sign(text::WorkerId worker) {
    given_.erase(worker);
    auto words = ask("unsign " + std::to_string(worker) + "\n");
    return words ? success() : Status(words.error());
}

Result<std::vector<store::Sign>> SshStore::signs() {
    auto words = ask("signs\n");
    if (!words) return words.error();
    auto signs = signs_of(*words);
    if (!signs) return broken();
    return std::move(*signs);
}

Result<store::MasterTime> SshStore::time() {
    auto words = ask("time\n");
    if (!words) return words.error();
    const auto time = time_of(*words);
    if (!time) return broken();
    return *time;
}

// By a helper of its own, which keeps the lock until its input ends or the connection is dead: it writes to
// it every 15 s.
Result<std::unique_ptr<store::ListStore::Held>> SshStore::hold() {
    auto helper = RemoteHelper::start(master_, say_);
    if (!helper) return helper.error();
    auto words = (*helper)->ask("hold 15\n");
    if (!words) return words.error();
    return std::unique_ptr<Held>(std::make_unique<HeldThere>(std::move(*helper)));
}

namespace {

// "user@[::1]" as ssh takes it: it knows no brackets.
std::string without_brackets(std::string host) {
    const std::size_t open = host.find('[');
    if (open == std::string::npos || !host.ends_with(']')) return host;
    host.pop_back();
    return host.erase(open, 1);
}

}  // namespace

std::unique_ptr<store::ListStore> store_at(const store::ListPlace& place,
                                           std::function<void(const std::string&)> say) {
    if (place.host.empty()) return std::make_unique<store::LocalStore>(place.file, std::move(say));
    return std::make_unique<SshStore>(without_brackets(place.host), place.file, std::move(say));
}

}  // namespace wq::shared_list::ssh
