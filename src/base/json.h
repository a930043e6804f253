// A value of JSON. Members of an object keep their order. The library that reads and writes the text takes
// seconds to compile: only json.cpp includes it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace wq {

class Json {
  public:
    struct Member;
    using Parts = std::vector<Json>;
    using Members = std::vector<Member>;

    // NOLINTBEGIN(google-explicit-constructor): implicit by design
    Json();
    Json(std::nullptr_t);
    Json(std::string text);
    Json(std::string_view text);
    Json(const char* text);
    template <class T>
    requires std::is_arithmetic_v<T> Json(T value)
        : value_(std::in_place_type<Widest<T>>, static_cast<Widest<T>>(value)) {}
    template <class T>
    Json(const std::vector<T>& parts) : Json(array()) {
        for (const T& part : parts) push_back(part);
    }
    Json(std::initializer_list<Member> members);  // an object; see array()
    // NOLINTEND(google-explicit-constructor)
    Json(const Json&);
    Json(Json&&) noexcept;
    Json& operator=(const Json&);
    Json& operator=(Json&&) noexcept;
    ~Json();
    // In braces alone, two texts would be taken for the ends of one.
    static Json array(std::initializer_list<Json> parts = {});
    static Json object();

    // Discarded: it is no JSON.
    static Json parse(std::string_view text);
    // The same of a text with comments. `wrong_at`: how many bytes were read until the first that is wrong;
    // npos: the text has the form of JSON, and a number is too large.
    static Json parse_commented(std::string_view text, std::size_t& wrong_at);
    // The next of several.
    static Json read_from(std::istream& text);
    static Json from_msgpack(std::string_view bytes);
    std::string to_msgpack() const;
    // In one line, or with this many blanks for each level. What is not UTF-8 is replaced.
    std::string dump(int indent = -1, bool ascii = false) const;

    bool is_null() const { return is<std::nullptr_t>(); }
    bool is_boolean() const { return is<bool>(); }
    bool is_number_unsigned() const { return is<std::uint64_t>(); }
    bool is_number_integer() const { return is<std::int64_t>() || is_number_unsigned(); }
    bool is_number_float() const { return is<double>(); }
    bool is_number() const { return is_number_integer() || is_number_float(); }
    bool is_string() const { return is<std::string>(); }
    bool is_array() const { return is<Parts>(); }
    bool is_object() const { return is<Members>(); }
    bool is_structured() const { return is_array() || is_object(); }
    bool is_discarded() const { return is<Discarded>(); }
    const char* type_name() const;

    bool boolean() const { return std::get<bool>(value_); }
    std::int64_t integer() const;  // of any number
    double number() const;         // of any number
    const std::string& text() const { return std::get<std::string>(value_); }
    // Of another type: none.
    const Parts& parts() const;
    const Members& members() const;
    Parts& parts() { return std::get<Parts>(value_); }
    Members& members() { return std::get<Members>(value_); }
    std::size_t size() const;

    // nullptr: no object, or one without this member.
    const Json* find(std::string_view key) const;
    // Makes an object of null, and the member if there is none.
    Json& operator[](std::string_view key);
    // Makes an array of null.
    Json& push_back(Json part);
    // Takes over all members.
    void update(const Json& object);
    // Numbers of unlike types are equal if their values are.
    bool operator==(const Json& other) const;

  private:
    struct Discarded {
        bool operator==(const Discarded&) const { return false; }
    };
    template <class T>
    using Widest = std::conditional_t<
        std::is_same_v<T, bool>, bool,
        std::conditional_t<std::is_floating_point_v<T>, double,
                           std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>>;
    template <class T>
    bool is() const {
        return std::holds_alternative<T>(value_);
    }
    void move_structured_to(Parts& others);

    std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Parts, Members,
                 Discarded>
        value_;
    friend class JsonBuilder;
};

struct Json::Member {
    std::string key;
    Json value = {};
    bool operator==(const Member&) const = default;
};

}  // namespace wq
