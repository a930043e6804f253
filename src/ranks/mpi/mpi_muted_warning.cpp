#include "ranks/mpi/mpi_muted_warning.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdarg>
#include <string_view>

namespace wq::ranks::mpi {

namespace {

// What libopen-pal's opal_show_vhelp holds: the function that shows a topic of a file of texts.
using Show = int (*)(const char* file, const char* topic, int framed, va_list values);

// A version that has a function of this name, not a place for one, must not be written to.
Show* place_of_show() {
    void* const place = ::dlsym(RTLD_DEFAULT, "opal_show_vhelp");
    Dl_info library{};
    void* entry = nullptr;
    if (place == nullptr || ::dladdr1(place, &library, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr)
        return nullptr;
    const auto& symbol = *static_cast<const ElfW(Sym)*>(entry);
    const bool holds_function = ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size == sizeof(Show);
    return holds_function ? static_cast<Show*>(place) : nullptr;
}

// The library's place has no room for a context.
Show* place = nullptr;
Show before = nullptr;

int show_others(const char* file, const char* topic, int framed, va_list values) {
    if (topic != nullptr && std::string_view(topic).starts_with("module:untested")) return 0;
    return before(file, topic, framed, values);
}

}  // namespace

MutedWarning::MutedWarning() noexcept {
    place = place_of_show();
    if (place == nullptr || *place == show_others) return;
    before = *place;
    *place = show_others;
}

MutedWarning::~MutedWarning() {
    if (place != nullptr) *place = before;
}

}  // namespace wq::ranks::mpi
