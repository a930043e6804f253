#include "slices/sources/survey.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "base/fields.h"
#include "base/units.h"
#include "slices/sources/h5_name.h"
#include "slices/sources/h5_rows.h"
#include "slices/sources/line_reader.h"
#include "slices/sources/record_file.h"

namespace wq::slices::sources {

namespace {

constexpr std::uint64_t most_named = 1000;  // problems of one rank

class Problems {
  public:
    void add(const std::string& problem) {
        if (++count_ > most_named) return;
        text_ += (text_.empty() ? "" : "; ") + problem;
    }
    std::string text() const {
        return count_ <= most_named ? text_ : text_ + "; and " + format_count(count_ - most_named) + " more";
    }

  private:
    std::uint64_t count_ = 0;
    std::string text_;
};

Status all_of(const Problems& problems) {
    if (problems.text().empty()) return success();
    return Error{ExitCode::bad_input, problems.text()};
}

// What one rank reports of a step that all take.
struct StepReport {
    std::uint64_t digest = 0;  // of what must be equal
    Status status = success();
    std::string found;

    std::string bytes() const {
        return bytes_of(digest, status ? ExitCode::ok : status.error().code,
                        status ? "" : status.error().message, found);
    }
    static StepReport of(const std::string& bytes) {
        StepReport report;
        std::uint8_t code = 0;
        std::string why;
        const bool sound = fields_are(bytes, report.digest, code, why, report.found);
        if (code != to_int(ExitCode::ok)) report.status = Error{static_cast<ExitCode>(code), why};
        if (!sound) report.status = Error{ExitCode::internal, "its findings cannot be read"};
        return report;
    }
};

// A rank whose step fails tells the others, which would wait for it otherwise.
template <class Step>
StepReport report_of(std::uint64_t digest, Step&& step) {
    StepReport report;
    report.digest = digest;
    try {
        report.status = step(report.found);
    } catch (const Failure& failure) {
        report.status = failure.error;
    } catch (const std::exception& error) {
        report.status = Error{ExitCode::unreachable, error.what()};
    }
    return report;
}

// What all have found; or the same error on all ranks.
Result<std::vector<std::string>> shared(const Party& party, const StepReport& mine) {
    const std::vector<std::string> all = party.gather(mine.bytes());
    std::vector<std::string> found;
    std::string problems;
    ExitCode code = ExitCode::ok;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        StepReport report = StepReport::of(all[rank]);
        const std::string who = "rank " + std::to_string(rank);
        if (report.digest != StepReport::of(all.front()).digest)
            return Error{ExitCode::usage, who + " has other works or options than rank 0"};
        found.push_back(std::move(report.found));
        if (report.status) continue;
        if (problems.empty()) code = report.status.error().code;
        problems += (problems.empty() ? "" : "; ") + (party.size == 1 ? "" : who + ": ") +
                    report.status.error().message;
    }
    if (!problems.empty()) return Error{code, problems};
    return found;
}

bool is_url(const std::string& work) {
    return work.find("://") != std::string::npos;
}

// "": it is there.
std::string missing(const std::string& work) {
    struct stat status {};
    if (::stat(work.c_str(), &status) == 0) return {};
    const int why = errno;
    const auto dataset = split_h5_name(work);
    if (dataset && ::stat(dataset->file.c_str(), &status) == 0) return {};
    return std::strerror(why);
}

// What a rank finds of one work.
struct Found {
    Kind kind = Kind::whole;
    SourceStamp stamp{};
    bool looked_for = false;
    std::string missing{};  // why, if it was looked for
};

template <class Opened>
Result<Found> counted(Kind kind, const Result<Opened>& opened, const SourceStamp& stamp) {
    if (!opened) return opened.error();
    return Found{kind, stamp, true, {}};
}

Result<Found> look_at(const std::string& work, const SurveyOptions& options) {
    Found found;
    if (is_url(work)) return found;
    if (options.counts) {
        if (const auto name = split_h5_name(work)) {
            const auto rows = H5Rows::open(*name);
            return counted(Kind::rows, rows, rows ? rows->stamp() : SourceStamp{});
        }
        if (options.record_bytes > 0) {
            const auto file = RecordFile::open(work, options.record_bytes);
            return counted(Kind::records, file, file ? file->stamp() : SourceStamp{});
        }
        if (options.lines) {
            const auto file = SourceFile::open(work);
            return counted(Kind::lines, file, file ? file->stamp(0) : SourceStamp{});
        }
    }
    found.looked_for = options.must_exist.value_or(true);
    if (found.looked_for) found.missing = missing(work);
    return found;
}

template <class V>
void fields(Found& found, V& visit) {
    visit(found.kind, found.stamp, found.looked_for, found.missing);
}

std::uint64_t digest_of(const std::vector<std::string>& works, const SurveyOptions& options) {
    return crc32c(bytes_of(works, options.counts, options.record_bytes, options.lines, options.must_exist,
                           options.most_places));
}

// ---- the first step: each rank looks at each work whose number is its own, modulo their count ----

Status look_at_share(const std::vector<std::string>& works, const SurveyOptions& options, const Party& party,
                     std::string& bytes) {
    if (options.lines && options.record_bytes > 0)
        return Error{ExitCode::usage, "lines and record_bytes exclude each other"};
    ByteWriter out;
    Problems problems;
    for (std::size_t n = party.rank; n < works.size(); n += party.size) {
        const auto found = look_at(works[n], options);
        if (found)
            put_fields(out, *found);
        else
            problems.add(found.error().message);
    }
    bytes = out.take();
    return all_of(problems);
}

bool look_like_files(const std::vector<std::string>& works, const std::vector<Found>& found) {
    for (std::size_t n = 0; n < works.size(); ++n)
        if (found[n].looked_for && (found[n].missing.empty() || works[n].find('/') != std::string::npos))
            return true;
    return false;
}

Status check_there(const std::vector<std::string>& works, const std::vector<Found>& found) {
    Problems problems;
    for (std::size_t n = 0; n < works.size(); ++n)
        if (!found[n].missing.empty())
            problems.add("cannot read " + line_for_message(works[n], 1000) + ": " + found[n].missing);
    return all_of(problems);
}

// ---- the second: each reads as many bytes of the text files ----

Result<LinePart> index_part(const Surveyed& source, Interval bytes, std::size_t places) {
    const auto file = SourceFile::open(source.name, source.stamp);
    if (!file) return file.error();
    return index_lines(*file, bytes, places);
}

Status index_share(const std::vector<Surveyed>& sources, const SurveyOptions& options, const Party& party,
                   std::string& bytes) {
    std::uint64_t all = 0;
    for (const Surveyed& source : sources)
        if (source.kind == Kind::lines) all += source.stamp.bytes;
    const Interval mine = part_of_bytes(all, party.rank, party.size);
    ByteWriter out;
    Problems problems;
    std::uint64_t begin = 0;  // of the file, in all
    for (std::size_t n = 0; n < sources.size(); ++n) {
        if (sources[n].kind != Kind::lines) continue;
        const std::uint64_t end = begin + sources[n].stamp.bytes;
        const Interval part{std::max(mine.first, begin), std::min(mine.end, end)};
        if (part.first < part.end) {
            const double fraction = static_cast<double>(part.size()) / static_cast<double>(all);
            const auto places = static_cast<std::size_t>(fraction * static_cast<double>(options.most_places));
            const auto lines = index_part(sources[n], {part.first - begin, part.end - begin}, places);
            if (lines)
                write_part(out, n, *lines);
            else
                problems.add(lines.error().message);
        }
        begin = end;
    }
    bytes = out.take();
    return all_of(problems);
}

Status join_lines(std::vector<Surveyed>& sources, const std::vector<std::string>& reports) {
    auto parts = parts_in(reports, sources.size());
    if (!parts) return parts.error();
    for (std::size_t n = 0; n < sources.size(); ++n) {
        if (sources[n].kind != Kind::lines) continue;
        auto index = LineIndex::join(std::move((*parts)[n]), sources[n].stamp.bytes);
        if (!index) return index.error();
        sources[n].lines = std::move(*index);
        sources[n].stamp.records = sources[n].lines.lines();
    }
    return success();
}

}  // namespace

Result<Survey> survey(const std::vector<std::string>& works, const SurveyOptions& options,
                      const Party& party) {
    const std::uint64_t digest = digest_of(works, options);
    const auto looked = shared(party, report_of(digest, [&](std::string& bytes) {
                                   return look_at_share(works, options, party, bytes);
                               }));
    if (!looked) return looked.error();
    std::vector<Found> found(works.size());
    for (std::size_t rank = 0; rank < looked->size(); ++rank) {
        ByteReader in((*looked)[rank]);
        for (std::size_t n = rank; n < works.size(); n += looked->size()) get_fields(in, found[n]);
        if (!in.at_end())
            return Error{ExitCode::internal,
                         "the findings of rank " + std::to_string(rank) + " cannot be read"};
    }
    Survey all;
    all.are_files = options.must_exist.value_or(look_like_files(works, found));
    if (all.are_files)
        if (const Status there = check_there(works, found); !there) return there.error();
    for (std::size_t n = 0; n < works.size(); ++n) {
        all.sources.push_back({works[n], found[n].kind, found[n].stamp, {}});
        if (!options.counts || found[n].kind != Kind::whole) continue;
        const bool file = found[n].looked_for && found[n].missing.empty();
        ++(file ? all.whole_files : all.whole_names);
    }
    if (!options.counts || !options.lines) return all;
    const auto indexed = shared(party, report_of(digest, [&](std::string& bytes) {
                                    return index_share(all.sources, options, party, bytes);
                                }));
    if (!indexed) return indexed.error();
    if (const Status joined = join_lines(all.sources, *indexed); !joined) return joined.error();
    return all;
}

}  // namespace wq::slices::sources
