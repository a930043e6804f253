#include "programs/worker/manager_calls.h"

#include <algorithm>
#include <utility>

#include "base/random_bits.h"
#include "base/shortage.h"
#include "base/units.h"
#include "net/contact/registry.h"
#include "records/journal/run_status.h"

namespace wq::programs::worker {

NamedCall::NamedCall(std::function<Found(int)> find,
                     std::function<Result<std::unique_ptr<net::frames::TcpDialer>>(Found)> dial)
    : dial_(std::move(dial)) {
    search_.post([this, find = std::move(find), stop = stop_.descriptor()]() -> Background::Then {
        return [this, found = find(stop)]() mutable { take(std::move(found)); };
    });
}

NamedCall::~NamedCall() {
    stop_.set();
}

void NamedCall::take(Found found) {
    auto line = dial_(std::move(found));
    if (line)
        line_ = std::move(*line);
    else
        failure_ = line.error();
}

void NamedCall::send(net::frames::PeerId peer, std::string frame) {
    if (line_) line_->send(peer, std::move(frame));
}

bool NamedCall::poll(std::vector<net::frames::Arrival>& inbox) {
    if (!line_ && !failure_) search_.finish();
    if (line_) return line_->poll(inbox);
    if (!failure_ || std::exchange(told_failure_, true)) return false;
    inbox.push_back(net::frames::Left{manager, failure_->message});
    return true;
}

void NamedCall::expect_until(Instant until) {
    if (line_) line_->expect_until(until);
}

void NamedCall::close(net::frames::PeerId peer) {
    if (line_) line_->close(peer);
}

std::vector<int> NamedCall::descriptors() const {
    return line_ ? line_->descriptors() : std::vector<int>{search_.descriptor()};
}

std::vector<net::frames::Note> NamedCall::take_notes() {
    return line_ ? line_->take_notes() : std::vector<net::frames::Note>{};
}

namespace {

Duration scaled(Duration time, double by) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::nano>(time) * by);
}

// Not scaled further, because the handshake needs CPU time: a process's first one took 0.2 s under ASan.
constexpr Duration shortest_handshake = std::chrono::seconds(2);
constexpr Duration longest_search = std::chrono::seconds(10);  // of catalog servers

void scale(net::frames::TcpLimits& limits, double by) {
    for (Duration* time :
         {&limits.keep_alive, &limits.silence, &limits.handshake, &limits.stalled, &limits.linger})
        *time = scaled(*time, by);
    limits.handshake = std::max(limits.handshake, shortest_handshake);
}

constexpr const char* what_proves =
    "give the worker --contact FILE of its manager, or --password FILE to both";

std::string nothing_proves(const std::string& whom) {
    return "WORK_QUEUE_REQUIRE_KEY is set, and nothing proves who " + whom + " is: " + what_proves;
}

bool proves(const net::frames::TcpDialOptions& dial) {
    return !dial.key.empty() || (dial.tls && dial.tls->by != net::frames::TlsTrust::By::unverified);
}

}  // namespace

ManagerCalls::ManagerCalls(const WorkerProgramOptions& options) : options_(&options) {}

Result<ManagerCalls> ManagerCalls::of(const WorkerProgramOptions& options,
                                      std::function<void(const std::string&)> warn) {
    ManagerCalls calls(options);
    calls.warn_ = warn ? std::move(warn) : [](const std::string&) {};
    if (!options.password_file.empty()) {
        auto password = net::frames::read_password(
            options.password_file, [&](const std::string& line) { calls.of_password_ = line; });
        if (!password) return password.error();
        calls.password_ = std::move(*password);
    }
    if (calls.by_name()) {
        auto pattern = net::contact::NamePattern::of(options.manager_regex);
        if (!pattern) return pattern.error();
        calls.pattern_ = std::move(*pattern);
        calls.finder_ = std::make_shared<net::contact::NameFinder>(options.catalogs);
    }
    return calls;
}

Result<net::frames::Contact> ManagerCalls::contact_of_file() const {
    auto contact = net::frames::read_contact(options_->contact);
    if (contact || contact.error().code != ExitCode::unreachable) return contact;
    if (records::journal::end_of_run(options_->contact) == records::journal::RunEnd::over)
        return Error{ExitCode::ok, options_->contact + ": its run has ended"};
    return contact;
}

// Of the registry only: it does not block, and a manager that waits for us is called again at once.
Result<net::frames::Contact> ManagerCalls::registered_contact() {
    auto found = net::contact::find_registered(*pattern_, random_bits());
    if (!found) return found.error();
    return choose(std::move(*found));
}

// As the registry has it now: it may have another key.
net::frames::Contact ManagerCalls::contact_of_ours() {
    called_ = ours_;
    if (called_->record) return called_->listing.contact;
    if (const auto found = net::contact::find_registered(*pattern_, random_bits()))
        for (const net::contact::NamedManager& each : found->managers)
            if (place_of(each) == place_of(*called_)) return each.listing.contact;
    return called_->listing.contact;
}

// The first of those that were called least: one that does not accept us, whatever it says of its tasks, does
// not keep us from the others.
Result<net::frames::Contact> ManagerCalls::choose(net::contact::NamedManagers those) {
    found_ = std::move(those);
    const net::contact::NamedManagers& found = found_;
    remark_on(found);
    called_.reset();
    unproven_.clear();
    std::map<std::string, Calls> calls;
    std::uint64_t fewest = 0;
    for (const net::contact::NamedManager& each : found.managers) {
        if (options_->require_key && !is_proven(each.listing.contact)) {
            unproven_ = nothing_proves(quote_for_message(each.listing.contact.name));
            continue;
        }
        const Calls& so_far = calls[place_of(each)] = calls_[place_of(each)];
        if (called_ && so_far.count >= fewest) continue;
        called_ = each;
        fewest = so_far.count;
    }
    calls_ = std::move(calls);
    if (!called_)
        return Error{ExitCode::unreachable,
                     !unproven_.empty() ? unproven_
                                        : net::contact::none_matches(options_->manager_regex,
                                                                     finder_->catalogs(), found.trouble)};
    ++calls_[place_of(*called_)].count;
    return called_->listing.contact;
}

ManagerCalls::Refusal ManagerCalls::refusal() const {
    Refusal last{unproven_, true};
    for (const auto& [place, calls] : calls_)
        if (calls.refusal.empty())
            last.by_all = false;
        else
            last.line = calls.refusal;
    return last;
}

void ManagerCalls::remark_on(const net::contact::NamedManagers& found) {
    for (const std::string& line : net::contact::remarks_on(found))
        if (remarked_.size() < 10 && remarked_.insert(line).second) warn_(line);
}

net::frames::TcpDialOptions ManagerCalls::secured(net::frames::TcpDialOptions dial) const {
    if (!password_.empty()) dial.key = password_;
    net::frames::add_tls(dial, options_->ssl, options_->ssl_ca);
    scale(dial.limits, options_->time_scale);
    dial.connect = scaled(dial.connect, options_->time_scale);
    return dial;
}

bool ManagerCalls::is_proven(const net::frames::Contact& contact) const {
    return proves(secured(net::frames::dial_options(contact)));
}

Result<std::unique_ptr<net::frames::TcpDialer>> ManagerCalls::dial(net::frames::TcpDialOptions dial) {
    last_ = secured(std::move(dial));
    if (options_->require_key && !proves(last_))
        return Error{ExitCode::not_allowed, nothing_proves("the manager")};
    return net::frames::TcpDialer::open(last_);
}

// Throws what BackgroundThread() throws.
std::unique_ptr<net::frames::TcpDialer> ManagerCalls::search() {
    const Duration limit = scaled(longest_search, options_->time_scale);
    return std::make_unique<NamedCall>(
        [finder = finder_, pattern = *pattern_, seed = random_bits(), limit](int stop) {
            return finder->find(pattern, seed, instant_now() + limit, stop);
        },
        [this](NamedCall::Found found) -> Result<std::unique_ptr<net::frames::TcpDialer>> {
            if (!found) {
                called_.reset();
                calls_.clear();
                unproven_.clear();
                return found.error();
            }
            const auto contact = choose(std::move(*found));
            if (!contact) return contact.error();
            return dial(net::frames::dial_options(*contact));
        });
}

bool ManagerCalls::is_refused(const net::frames::TcpDialer& line) {
    const auto failure = line.failure();
    const bool refused = failure && failure->code == ExitCode::not_allowed;
    if (!called_ || !called_->record) return refused;
    calls_[place_of(*called_)].refusal =
        refused ? "the catalog's manager " + line_for_message(called_->listing.contact.name) +
                      " refuses this worker; " + what_proves + ":\n" + failure->message
                : std::string();
    return false;
}

bool ManagerCalls::others_left() {
    if (!called_) return false;
    const std::uint64_t count = calls_[place_of(*called_)].count;
    return std::any_of(calls_.begin(), calls_.end(),
                       [&](const auto& each) { return each.second.count < count; });
}

void ManagerCalls::note_welcome() {
    if (!called_) return;
    ours_ = called_;
    calls_[place_of(*called_)] = {};
    if (!called_->record || proves(last_)) return;
    const std::string line = "anyone may announce " + quote_for_message(called_->listing.contact.name) +
                             " to a catalog, and run commands here: " + what_proves;
    if (remarked_.insert(line).second) warn_(line);
}

Result<net::frames::Contact> ManagerCalls::contact_of(wq::worker::Whom whom) {
    if (!by_name()) return contact_of_file();
    if (whom == wq::worker::Whom::ours && ours_) return contact_of_ours();
    return whom == wq::worker::Whom::next ? choose(std::move(found_)) : registered_contact();
}

Result<wq::worker::Call> ManagerCalls::begin(wq::worker::Whom whom) {
    wq::worker::Call call;
    std::unique_ptr<net::frames::TcpDialer> dialer;
    const bool searches = whom == wq::worker::Whom::any || (whom == wq::worker::Whom::ours && !ours_);
    if (by_name() && !options_->catalogs.empty() && searches) {
        try {
            dialer = search();
        } catch (const std::exception& error) {
            return Error{ExitCode::unreachable, unexpected(error).message};
        }
        call.address = quote_for_message(options_->manager_regex);
    } else {
        net::frames::TcpDialOptions options;
        options.managers = options_->managers;
        if (options.managers.empty()) {
            const auto found = contact_of(whom);
            if (!found) return found.error();
            options = net::frames::dial_options(*found);
        }
        for (const net::frames::HostPort& manager : options.managers)
            call.address += (call.address.empty() ? "" : ";") + net::frames::to_text(manager);
        auto opened = dial(std::move(options));
        if (!opened) return opened.error();
        dialer = std::move(*opened);
    }
    const net::frames::TcpDialer* const line = dialer.get();
    call.transport = std::move(dialer);
    call.manager = net::frames::TcpDialer::manager;
    call.not_allowed = [this, line] { return is_refused(*line); };
    call.heard = [line](Instant) { return line->last_heard(); };
    call.local_address = [line] { return line->local_address(); };
    call.welcomed = [this] { note_welcome(); };
    call.name = [this] { return called_ ? called_->listing.contact.name : std::string(); };
    call.others_left = [this] { return others_left(); };
    call.to_anyone = [this] { return called_ && called_->record; };
    return call;
}

std::string ManagerCalls::warning() const {
    if (!of_password_.empty()) return of_password_;
    if (!options_->ssl || !options_->ssl_ca.empty() || !options_->contact.empty() || !password_.empty())
        return {};
    return "--ssl alone encrypts but does not check who the manager is: add --ssl-ca FILE, --password FILE "
           "or "
           "--contact FILE";
}

}  // namespace wq::programs::worker
