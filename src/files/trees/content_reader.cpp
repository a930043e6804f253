#include "files/trees/content_reader.h"

#include <algorithm>

#include "files/trees/tree_format.h"

namespace wq::files::trees {

ContentReader::ContentReader(const Input& input) : from_(Bytes{}) {
    if (input.source == Source::folder)
        from_ = Bytes{empty_folder_stream(), {}, {}};
    else if (input.source == Source::buffer)
        from_ = Bytes{head_of_stream(input.from.size()), input.from, tail_of_stream()};
    else
        from_.emplace<TreeReader>(input.from, input.piece);
}

void ContentReader::Bytes::take(std::string& out, std::size_t most) {
    const auto from = [&](auto& part) {
        const std::size_t count = std::min(most, part.size());
        out.append(part.data(), count);
        part = part.substr(count);
        most -= count;
    };
    from(head);
    from(middle);
    from(tail);
}

Trouble ContentReader::read(std::string& out, std::size_t most) {
    if (auto* tree = std::get_if<TreeReader>(&from_)) return tree->read(out, most);
    std::get<Bytes>(from_).take(out, most);
    return std::nullopt;
}

bool ContentReader::done() const {
    if (const auto* tree = std::get_if<TreeReader>(&from_)) return tree->done();
    return std::get<Bytes>(from_).empty();
}

}  // namespace wq::files::trees
