#include "node/process/fetch_url.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/descriptor.h"
#include "base/fields.h"

namespace wq::node::process {

namespace {

constexpr const char* fetch_name = "wq:fetch";

// Two names of one library: Debian builds it with OpenSSL and with GnuTLS.
void* load() {
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
        if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    return nullptr;
}

struct Curl {
    decltype(&curl_easy_init) init = nullptr;
    decltype(&curl_easy_setopt) setopt = nullptr;
    decltype(&curl_easy_perform) perform = nullptr;
    decltype(&curl_easy_strerror) strerror = nullptr;

    explicit Curl(void* library) {
        take(library, "curl_easy_init", init);
        take(library, "curl_easy_setopt", setopt);
        take(library, "curl_easy_perform", perform);
        take(library, "curl_easy_strerror", strerror);
    }
    bool whole() const {
        return init != nullptr && setopt != nullptr && perform != nullptr && strerror != nullptr;
    }

  private:
    template <class F>
    static void take(void* library, const char* name, F& function) {
        function = reinterpret_cast<F>(dlsym(library, name));
    }
};

struct Target {
    Descriptor file;
    int error = 0;
};

std::size_t append_bytes(const char* bytes, std::size_t, std::size_t size, void* to) {
    auto& target = *static_cast<Target*>(to);
    for (std::size_t done = 0; done < size;) {
        const ssize_t wrote = ::write(target.file.get(), bytes + done, size - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            target.error = wrote < 0 ? errno : EIO;
            return done;  // fewer than given: curl stops
        }
        done += static_cast<std::size_t>(wrote);
    }
    return size;
}

FetchEnd not_written(const std::string& path, int error) {
    const bool full = error == ENOSPC || error == EDQUOT;
    return {full ? FetchEnd::Kind::disk_full : FetchEnd::Kind::failed, path + ": " + std::strerror(error)};
}

}  // namespace

FetchEnd fetch_url(const Fetch& fetch) {
    const auto failed = [&](const std::string& why) {
        return FetchEnd{FetchEnd::Kind::failed, fetch.url + ": " + why};
    };
    ::signal(SIGPIPE, SIG_IGN);  // a closed connection becomes an ordinary error
    void* const library = load();
    if (library == nullptr)
        return failed(
            "the worker's host has no libcurl (Debian: apt-get install libcurl4; RHEL: dnf install "
            "libcurl)");
    const Curl curl(library);
    void* const handle = curl.whole() ? curl.init() : nullptr;
    if (handle == nullptr) return failed("libcurl cannot begin");
    Target target{Descriptor(::open(fetch.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)), 0};
    if (!target.file.valid()) return not_written(fetch.path, errno);

    std::array<char, CURL_ERROR_SIZE> error{};
    const long timeout = static_cast<long>(fetch.timeout.count());
    curl.setopt(handle, CURLOPT_URL, fetch.url.c_str());
    curl.setopt(handle, CURLOPT_USERAGENT, "work_queue");
    curl.setopt(handle, CURLOPT_ERRORBUFFER, error.data());
    curl.setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl.setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
    curl.setopt(handle, CURLOPT_MAXREDIRS, 20L);
    curl.setopt(handle, CURLOPT_FAILONERROR, 1L);
    curl.setopt(handle, CURLOPT_CONNECTTIMEOUT, timeout);
    curl.setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl.setopt(handle, CURLOPT_LOW_SPEED_TIME, timeout);
    curl.setopt(handle, CURLOPT_WRITEFUNCTION, &append_bytes);
    curl.setopt(handle, CURLOPT_WRITEDATA, &target);
    const CURLcode code = curl.perform(handle);
    // A network file system may report an error only now.
    if (::close(target.file.release()) != 0 && target.error == 0) target.error = errno;
    if (target.error != 0) return not_written(fetch.path, target.error);
    if (code != CURLE_OK) return failed(error[0] != '\0' ? error.data() : curl.strerror(code));
    return {};  // not unloaded: the process ends now
}

template <class V>
void fields(Fetch& fetch, V& visit) {
    visit(fetch.url, fetch.path, fetch.timeout);
}

Call call_of(const Fetch& fetch) {
    return {fetch_name, bytes_of(fetch)};
}

FetchEnd fetch_end_of(std::string_view result) {
    if (result.empty()) return {FetchEnd::Kind::failed, "it came to no end"};
    const auto kind = result[0] == 'd'   ? FetchEnd::Kind::done
                      : result[0] == 'f' ? FetchEnd::Kind::disk_full
                                         : FetchEnd::Kind::failed;
    return {kind, std::string(result.substr(1))};
}

FunctionTable built_in_functions() {
    FunctionTable table;
    table.add(fetch_name, {[](std::string_view arguments) {
                               Fetch fetch;
                               if (!fields_are(arguments, fetch))
                                   throw std::invalid_argument("no arguments of a fetch");
                               const FetchEnd end = fetch_url(fetch);
                               const char kind = end.kind == FetchEnd::Kind::done        ? 'd'
                                                 : end.kind == FetchEnd::Kind::disk_full ? 'f'
                                                                                         : 'm';
                               return kind + end.why;
                           },
                           nullptr});
    return table;
}

}  // namespace wq::node::process
