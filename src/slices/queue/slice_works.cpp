#include "slices/queue/slice_works.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "api/setup_error.h"
#include "base/units.h"
#include "slices/queue/pass.h"
#include "slices/sources/h5_name.h"
#include "slices/sources/h5_row_reader.h"
#include "slices/sources/line_reader.h"
#include "slices/sources/record_file.h"

namespace wq::slices::queue {

namespace {

// Lines are found from the last known place before them: with 8 places a slice, a sixteenth of it is read in
// vain.
constexpr std::int64_t places_a_slice = 8;
constexpr std::int64_t least_places = 10'000;
constexpr std::int64_t most_places = 1'000'000;  // 16 MB on each rank

std::string stripped(const std::string& work) {
    constexpr const char* blanks = " \t\r\n";
    const std::size_t first = work.find_first_not_of(blanks);
    if (first == std::string::npos) return {};
    return work.substr(first, work.find_last_not_of(blanks) + 1 - first);
}

sources::SurveyOptions survey_options(const SliceOptions& options) {
    sources::SurveyOptions survey;
    survey.record_bytes = options.record_bytes;
    survey.lines = options.lines;
    survey.must_exist = options.must_exist;
    survey.counts = options.num_slices.value_or(0) > 0 && !options.records;
    // Works that the program counts may be anything.
    if (options.records && !options.must_exist) survey.must_exist = false;
    const std::int64_t slices = std::clamp<std::int64_t>(options.num_slices.value_or(0), 0, most_places);
    survey.most_places =
        static_cast<std::size_t>(std::clamp(slices * places_a_slice, least_places, most_places));
    return survey;
}

const char* reader_of(sources::Kind kind) {
    return kind == sources::Kind::rows      ? "rows: read them with RowReader"
           : kind == sources::Kind::records ? "records: read them with RecordReader"
                                            : "lines: read them with LineReader";
}

template <class Reader>
Result<std::unique_ptr<sources::RecordReader>> owned(Result<Reader> reader) {
    if (!reader) return reader.error();
    return std::unique_ptr<sources::RecordReader>(std::make_unique<Reader>(std::move(*reader)));
}

}  // namespace

SliceWorks SliceWorks::find(const std::vector<std::string>& works, const SliceOptions& options,
                            const sources::Party& party) {
    SliceWorks found;
    std::vector<std::string> names;
    for (const std::string& work : works) {
        found.names_.push_back(stripped(work));
        names.push_back(options.prefix + found.names_.back());
    }
    sources::Survey survey = api::checked(sources::survey(names, survey_options(options), party));
    for (std::size_t n = 0; n < names.size(); ++n) found.by_name_.emplace(names[n], n);
    found.sources_ = std::move(survey.sources);
    found.whole_files_ = survey.whole_files;
    found.whole_names_ = survey.whole_names;
    found.are_files_ = survey.are_files;
    return found;
}

plan::Plan SliceWorks::cut(const SliceOptions& options) const {
    std::vector<plan::PlanSource> sources;
    for (std::size_t n = 0; n < names_.size(); ++n) {
        const bool asks = options.num_slices && options.records;
        sources.push_back({names_[n], asks ? options.records(sources_[n].name) : sources_[n].records()});
    }
    return api::checked(plan_of(std::move(sources), options));
}

std::string SliceWorks::remark() const {
    const auto uncut = [](std::uint64_t count, const char* what, const char* remedy) {
        return count_of(count, what) + (count == 1 ? " is" : " are") + " not cut: " + remedy;
    };
    if (whole_files_ > 0)
        return uncut(whole_files_, "file", "set lines for text files, or record_bytes for binary records");
    if (whole_names_ == 0) return {};
    return uncut(whole_names_, "work",
                 "num_slices needs records, a function that says how many each work has");
}

const sources::Surveyed* SliceWorks::find(const std::string& work) const {
    const auto found = by_name_.find(work);
    return found == by_name_.end() ? nullptr : &sources_[found->second];
}

Result<WorkIs> SliceWorks::inspect(const Slice& slice) {
    struct stat status {};
    if (::stat(slice.work.c_str(), &status) != 0) return WorkIs::nothing;
    return S_ISREG(status.st_mode) ? WorkIs::file : WorkIs::other;
}

sources::RecordSpan SliceWorks::place(const Slice& slice) const {
    sources::RecordSpan place{{slice.start.value_or(0), slice.end.value_or(0)}, {}};
    const sources::Surveyed* source = find(slice.work);
    if (source != nullptr) place.from = source->lines.place_before(place.records.first);
    return place;
}

Result<Whereabouts> SliceWorks::whereabouts(const Slice& slice, const ReadAs& as) const {
    Whereabouts known{{}, place(slice)};
    const sources::Surveyed* source = find(slice.work);
    if (source == nullptr || source->kind == sources::Kind::whole) return known;
    if (source->kind != as.kind)
        return Error{ExitCode::usage,
                     line_for_message(slice.work) + " is cut into " + reader_of(source->kind)};
    known.planned = source->stamp;
    return known;
}

Result<sources::SourceFile> file_of(const Slice& slice, const std::optional<sources::SourceStamp>& planned) {
    const auto dataset = sources::split_h5_name(slice.work);
    return sources::SourceFile::open(dataset ? dataset->file : slice.work, planned);
}

Result<std::unique_ptr<sources::RecordReader>> SliceWorks::open(const Slice& slice, const ReadAs& as) {
    const auto known = whereabouts(slice, as);
    if (!known) return known.error();
    return open_here(slice, as, *known);
}

Result<std::unique_ptr<sources::RecordReader>> open_here(const Slice& slice, const ReadAs& as,
                                                         const Whereabouts& known) {
    const auto records = slice.start ? std::optional(known.place.records) : std::nullopt;
    if (as.kind == sources::Kind::rows) {
        const auto name = sources::split_h5_name(slice.work);
        if (!name)
            return Error{ExitCode::usage,
                         line_for_message(slice.work) + " names no dataset, as FILE.h5:/path does"};
        auto rows = sources::H5Rows::open(*name, known.planned);
        if (!rows) return rows.error();
        return owned(sources::H5RowReader::open(std::move(*rows), records));
    }
    if (as.kind == sources::Kind::records) {
        auto file = sources::RecordFile::open(slice.work, as.record_bytes, known.planned);
        if (!file) return file.error();
        return owned(sources::BinaryReader::open(std::move(*file), records));
    }
    auto file = sources::SourceFile::open(slice.work, known.planned);
    if (!file) return file.error();
    return owned(sources::LineReader::open(std::move(*file), records, known.place.from));
}

}  // namespace wq::slices::queue
