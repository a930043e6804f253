#include "base/json.h"

#include <istream>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace wq {

namespace {

using Library = nlohmann::ordered_json;

// Of members with one name the last counts, in the place of the first.
void unite(Json::Members& members) {
    std::unordered_map<std::string_view, std::size_t> places;
    std::size_t count = 0;
    for (Json::Member& member : members) {
        if (const auto known = places.find(member.key); known != places.end()) {
            members[known->second].value = std::move(member.value);
            continue;
        }
        if (&member != &members[count]) members[count] = std::move(member);
        places.emplace(members[count].key, count);
        ++count;
    }
    members.resize(count);
}

Library to_library(const Json& value) {
    if (value.is_null()) return nullptr;
    if (value.is_boolean()) return value.boolean();
    if (value.is_number_unsigned()) return static_cast<std::uint64_t>(value.integer());
    if (value.is_number_integer()) return value.integer();
    if (value.is_number_float()) return value.number();
    if (value.is_string()) return value.text();
    if (value.is_discarded()) return Library::value_t::discarded;
    Library made = value.is_array() ? Library::array() : Library::object();
    for (const Json& part : value.parts()) made.push_back(to_library(part));
    for (const auto& [key, member] : value.members())
        made.get_ref<Library::object_t&>().emplace_back(key, to_library(member));
    return made;
}

}  // namespace

struct JsonSyntax {
    bool whole = true;  // nothing may follow
    bool comments = false;
    Library::input_format_t format = Library::input_format_t::json;
};

// What the library's parser calls.
class JsonBuilder {
  public:
    template <class Input>
    Json built_of(Input&& input, JsonSyntax syntax = {}) {
        if (!Library::sax_parse(std::forward<Input>(input), this, syntax.format, syntax.whole,
                                syntax.comments))
            root_.value_.emplace<Json::Discarded>();
        return std::move(root_);
    }
    std::size_t wrong_at() const { return wrong_at_; }

    bool null() { return put(nullptr); }
    bool boolean(bool value) { return put(value); }
    bool number_integer(std::int64_t value) { return put(value); }
    bool number_unsigned(std::uint64_t value) { return put(value); }
    bool number_float(double value, const std::string&) { return put(value); }
    bool string(std::string& text) { return put(std::move(text)); }
    bool binary(Library::binary_t& bytes) {  // of msgpack; as the library writes them
        return put({{"bytes", static_cast<const std::vector<std::uint8_t>&>(bytes)},
                    {"subtype", bytes.has_subtype() ? Json(bytes.subtype()) : nullptr}});
    }
    bool start_object(std::size_t) { return open(Json::object()); }
    bool start_array(std::size_t) { return open(Json::array()); }
    bool key(std::string& name) {
        open_.back()->members().push_back({std::move(name)});
        return true;
    }
    bool end_object() {
        unite(open_.back()->members());
        return end_array();
    }
    bool end_array() {
        open_.pop_back();
        return true;
    }
    bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& why) {
        constexpr int first_of_other_errors = 200;
        if (why.id < first_of_other_errors) wrong_at_ = at;
        return false;
    }

  private:
    bool put(Json value) {
        place() = std::move(value);
        return true;
    }
    bool open(Json value) {
        Json& here = place();
        here = std::move(value);
        open_.push_back(&here);
        return true;
    }
    Json& place() {
        if (open_.empty()) return root_;
        Json& in = *open_.back();
        return in.is_array() ? in.parts().emplace_back() : in.members().back().value;
    }

    Json root_;
    std::vector<Json*> open_;  // each is the last part of the one before
    std::size_t wrong_at_ = std::string_view::npos;
};

// Not in the class, where a member is no complete type yet: clang instantiates what destroys members there.
Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(std::string text) : value_(std::in_place_type<std::string>, std::move(text)) {}
Json::Json(std::string_view text) : Json(std::string(text)) {}
Json::Json(const char* text) : Json(std::string(text)) {}
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;

// Without recursion: a stranger's text may be as deep as it is long.
Json::~Json() {
    Parts left;
    move_structured_to(left);
    while (!left.empty()) {
        Json one = std::move(left.back());
        left.pop_back();
        one.move_structured_to(left);
    }
}

void Json::move_structured_to(Parts& others) {
    const auto move = [&](Json& part) {
        if (part.is_structured()) others.push_back(std::move(part));
    };
    if (is_array())
        for (Json& part : parts()) move(part);
    if (is_object())
        for (Member& member : members()) move(member.value);
}

Json::Json(std::initializer_list<Member> members) : value_(Members(members)) {}

Json Json::array(std::initializer_list<Json> parts) {
    Json made;
    made.value_ = Parts(parts);
    return made;
}

Json Json::object() {
    return std::initializer_list<Member>{};
}

Json Json::parse(std::string_view text) {
    return JsonBuilder().built_of(text);
}

Json Json::parse_commented(std::string_view text, std::size_t& wrong_at) {
    JsonBuilder builder;
    Json made = builder.built_of(text, {.comments = true});
    wrong_at = builder.wrong_at();
    return made;
}

Json Json::read_from(std::istream& text) {
    return JsonBuilder().built_of(text, {.whole = false});
}

Json Json::from_msgpack(std::string_view bytes) {
    return JsonBuilder().built_of(bytes, {.format = Library::input_format_t::msgpack});
}

std::string Json::to_msgpack() const {
    std::string bytes;
    Library::to_msgpack(to_library(*this), bytes);
    return bytes;
}

std::string Json::dump(int indent, bool ascii) const {
    return to_library(*this).dump(indent, ' ', ascii, Library::error_handler_t::replace);
}

const char* Json::type_name() const {
    constexpr const char* names[] = {"null",   "boolean", "number", "number",   "number",
                                     "string", "array",   "object", "discarded"};
    return names[value_.index()];
}

std::int64_t Json::integer() const {
    if (is_number_float()) return static_cast<std::int64_t>(number());
    return is_number_unsigned() ? static_cast<std::int64_t>(std::get<std::uint64_t>(value_))
                                : std::get<std::int64_t>(value_);
}

double Json::number() const {
    if (is_number_float()) return std::get<double>(value_);
    return is_number_unsigned() ? static_cast<double>(std::get<std::uint64_t>(value_))
                                : static_cast<double>(std::get<std::int64_t>(value_));
}

std::size_t Json::size() const {
    return is_array() ? parts().size() : members().size();
}

const Json::Parts& Json::parts() const {
    static const Parts none;
    return is_array() ? std::get<Parts>(value_) : none;
}

const Json::Members& Json::members() const {
    static const Members none;
    return is_object() ? std::get<Members>(value_) : none;
}

const Json* Json::find(std::string_view key) const {
    for (const Member& member : members())
        if (member.key == key) return &member.value;
    return nullptr;
}

Json& Json::operator[](std::string_view key) {
    if (is_null()) value_.emplace<Members>();
    if (const Json* const found = find(key)) return const_cast<Json&>(*found);
    return members().emplace_back(Member{std::string(key)}).value;
}

Json& Json::push_back(Json part) {
    if (is_null()) value_.emplace<Parts>();
    return parts().emplace_back(std::move(part));
}

void Json::update(const Json& object) {
    for (const auto& [key, value] : object.members()) (*this)[key] = value;
}

bool Json::operator==(const Json& other) const {
    if (!is_number() || !other.is_number()) return value_ == other.value_;
    if (is_number_float() || other.is_number_float()) return number() == other.number();
    return integer() == other.integer();
}

}  // namespace wq
