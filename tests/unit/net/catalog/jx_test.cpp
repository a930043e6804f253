#include "net/catalog/jx.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "net/catalog/flat_record.h"

namespace {

using namespace wq;
using net::catalog::JxExpression;

const Json record = Json::parse(R"({"project": "demo2", "port": 9113, "load": 1.5, "ssl": false, "none": null,
    "hosts": ["a", "b", "c"], "cores": {"total": 8, "inuse": 2}})");

std::string value_of(const std::string& text) {
    const auto expression = JxExpression::parse(text);
    if (!expression) return "parse: " + expression.error().message;
    const auto value = expression->value(record);
    return value ? value->dump() : "error: " + value.error().message;
}

bool matches(const std::string& text) {
    const auto expression = JxExpression::parse(text);
    const bool matches = expression->matches(record);
    EXPECT_EQ(expression->matches_flat(net::catalog::FlatRecord(record.dump())), matches) << text;
    return matches;
}

// A search compares hashes of these two before it looks at texts.
TEST(Jx, AProjectIsFoundHoweverItIsWritten) {
    for (const std::string project :
         {"\"demo\"", R"("d\u0065mo")", R"("a\"b")", R"("a\u0022b")", "\"caf\u00e9\"", "\"caf\xc3\xa9\"", "7",
          "null", "\"\"", "{\"a\":\"demo\"}"}) {
        const net::catalog::FlatRecord flat("{\"type\":\"t\",\"project\":" + project + "}");
        for (const std::string wanted :
             {"\"demo\"", R"("a\"b")", R"("d\u0065mo")", "\"caf\xc3\xa9\"", "7", "\"7\"", "null", "\"\""})
            for (const std::string& text : {"project==" + wanted, wanted + "==project and type==\"t\"",
                                            "not (project==" + wanted + ")"}) {
                const auto expression = JxExpression::parse(text);
                EXPECT_EQ(expression->matches_flat(flat), expression->matches(flat.json()))
                    << text << " " << project;
            }
    }
    const net::catalog::FlatRecord flat("{\"project\":\"" + std::string(600, 'p') + "\"}");
    EXPECT_TRUE(JxExpression::parse("project==\"" + std::string(600, 'p') + "\"")->matches_flat(flat));
    EXPECT_FALSE(flat.is_surely_not("name", 1));
    EXPECT_TRUE(flat.is_surely_not("type", 1)) << "it has none";
}

TEST(Jx, HasTheValuesOfJson) {
    EXPECT_EQ(value_of("null"), "null");
    EXPECT_EQ(value_of(" true # a remark\n"), "true");
    EXPECT_EQ(value_of("[1, -2.5e1, \"a\\n\\u00e9\", {\"k\": port}]"), "[1,-25.0,\"a\\né\",{\"k\":9113}]");
    EXPECT_EQ(value_of("{}"), "{}");
    EXPECT_EQ(value_of("[]"), "[]");
}

TEST(Jx, BindsOperatorsAsItsManualSays) {
    EXPECT_EQ(value_of("1+2*3-4/2%3"), "5");
    EXPECT_EQ(value_of("-2*-3"), "6");
    EXPECT_EQ(value_of("-hosts[0] == 1"), "error: the negative of a value of the type string");
    EXPECT_EQ(value_of("not 1 == 2 and 3 < 4"), "true");
    EXPECT_EQ(value_of("true or false and false"), "true");
    EXPECT_EQ(value_of("(true || false) && false"), "false");
    EXPECT_EQ(value_of("!ssl"), "true");
    EXPECT_EQ(value_of("1 != 2"), "true");
    EXPECT_EQ(value_of("7 % 4 + 7.5 / 2.5"), "6.0");
    EXPECT_EQ(value_of("\"a\" + \"b\""), "\"ab\"");
    EXPECT_EQ(value_of("[1] + [2]"), "[1,2]");
}

TEST(Jx, LooksUpSymbolsAndParts) {
    EXPECT_EQ(value_of("cores[\"total\"] - cores[\"inuse\"]"), "6");
    EXPECT_EQ(value_of("hosts[-1]"), "\"c\"");
    EXPECT_EQ(value_of("hosts[1:]"), "[\"b\",\"c\"]");
    EXPECT_EQ(value_of("hosts[:-1]"), "[\"a\",\"b\"]");
    EXPECT_EQ(value_of("hosts[3]"), "error: the array has no element 3");
    EXPECT_EQ(value_of("cores[\"x\"]"), "error: the object has no member \"x\"");
    EXPECT_EQ(value_of("nosuch"), "error: nosuch is not in the record");
    EXPECT_EQ(value_of("[[1,2],[3]][0][1]"), "2");
}

TEST(Jx, ComparesValuesOfOneTypeOnly) {
    EXPECT_EQ(value_of("port == 9113.0"), "true");
    EXPECT_EQ(value_of("none == null"), "true");
    EXPECT_EQ(value_of("project == 1"), "false");
    EXPECT_EQ(value_of("project != 1"), "true");
    EXPECT_EQ(value_of("project < \"e\""), "true");
    EXPECT_EQ(value_of("hosts == [\"a\",\"b\",\"c\"]"), "true");
    EXPECT_EQ(value_of("cores == {\"inuse\": 2, \"total\": 8}"), "true");
    EXPECT_EQ(value_of("project < 1"), "error: no order of values of the types string and number");
}

// As CCTools' 9.9 was measured: a value that is not `true`, and an error anywhere, match nothing.
TEST(Jx, OnlyTrueMatches) {
    EXPECT_TRUE(matches("port==9113"));
    EXPECT_TRUE(matches("project==\"demo2\" and load > 1"));
    for (const char* const none : {"1", "project", "nosuch>2", "nosuch>2 or port==9113",
                                   "port==9113 or nosuch>2", "port==9113 and 1", "null", "error()"})
        EXPECT_FALSE(matches(none)) << none;
}

TEST(Jx, HasFunctions) {
    EXPECT_TRUE(matches("like(project, \"d.*\")"));
    EXPECT_FALSE(matches("like(project, \"d\")")) << "the whole text";
    EXPECT_TRUE(matches("like(project, \"de\" + \"mo[0-9]\")"));
    EXPECT_EQ(value_of("like(project, \"(\")"), "error: like(): missing ): (");
    EXPECT_EQ(value_of("len(hosts) + len(project) + len(cores)"), "10");
    EXPECT_EQ(value_of("keys(cores)"), "[\"total\",\"inuse\"]");
    EXPECT_EQ(value_of("values(cores)"), "[8,2]");
    EXPECT_EQ(value_of("items(cores)"), "[[\"total\",8],[\"inuse\",2]]");
    EXPECT_EQ(value_of("range(3) + range(4, 0, -2)"), "[0,1,2,4,2]");
    EXPECT_EQ(value_of("join(hosts) + join(hosts, \",\")"), "\"a b ca,b,c\"");
    EXPECT_EQ(value_of("[ceil(load), floor(load), ceil(port)]"), "[2.0,1.0,9113]");
    EXPECT_EQ(value_of("basename(\"/a/b\") + dirname(\"/a/b\") + dirname(\"/a\") + dirname(\"a\")"),
              "\"b/a/.\"");
    EXPECT_EQ(value_of("len()"), "error: len(): wrong number of arguments");
}

TEST(Jx, SaysWhereAnExpressionIsWrong) {
    EXPECT_EQ(value_of("port = 1"), "parse: column 6: unexpected '='");
    EXPECT_EQ(value_of("port & 1"), "parse: column 6: unexpected '&'");
    EXPECT_EQ(value_of("(1"), "parse: column 3: ')' is missing");
    EXPECT_EQ(value_of("\"a"), "parse: column 1: the text has no end");
    EXPECT_EQ(value_of("1 +"), "parse: column 4: a value is missing at the end");
    EXPECT_EQ(value_of("1x"), "parse: column 1: no number as in JSON");
    EXPECT_EQ(value_of(""), "parse: column 1: a value is missing at the end");
    EXPECT_EQ(value_of("[x for x in hosts]"), "parse: column 4: ',' or ']' is missing");
    EXPECT_EQ(value_of("nope(1)"), "parse: column 1: nope(): no such function");
    for (const char* const outside : {"fetch(\"/etc/passwd\")", "len(listdir(\"/\"))"})
        EXPECT_NE(value_of(outside).find("is left out: it reaches beyond the record"), std::string::npos)
            << outside;
}

// A comparison is decided in a record's text where that is the same.
TEST(Jx, AFlatRecordMatchesAsItsTree) {
    for (const char* const one : {"port==9113",
                                  "9113==port",
                                  "port!=9113",
                                  "port==9113.0",
                                  "port<9114",
                                  "9112<port",
                                  "port>=9114",
                                  "port==\"9113\"",
                                  "port<\"a\"",
                                  "project==\"demo2\"",
                                  "project!=\"demo2\"",
                                  "project==9113",
                                  "project!=9113",
                                  "project<1",
                                  "project<\"e\"",
                                  "load==1",
                                  "load>1",
                                  "ssl",
                                  "not ssl",
                                  "ssl==true",
                                  "nosuch==1",
                                  "nosuch!=1",
                                  "true",
                                  "false",
                                  "null",
                                  "like(project, \"demo.\")",
                                  "like(\"demo.\", project)",
                                  "like(port, \"9.*\")",
                                  "like(project, project)",
                                  "error()",
                                  "hosts==1",
                                  "hosts!=1",
                                  "nosuch or true",
                                  "false or ssl"})
        for (const std::string& both :
             {std::string(one), "not (" + std::string(one) + ")", std::string(one) + " and port==9113",
              "port==1 or (" + std::string(one) + ")"})
            matches(both);
}

// Strangers send expressions to a catalog server.
TEST(Jx, CostsABoundedAmount) {
    EXPECT_EQ(value_of(std::string(4097, ' ')), "parse: an expression has at most 4096 bytes");
    EXPECT_NE(value_of(std::string(200, '(')).find("more than 100 levels"), std::string::npos);
    EXPECT_NE(value_of(std::string(200, '-') + "1").find("more than 100 levels"), std::string::npos);
    EXPECT_NE(value_of(std::string(200, '!') + "ssl").find("more than 100 levels"), std::string::npos);
    std::string indexes = "hosts";
    for (int times = 0; times < 200; ++times) indexes += "[0]";
    EXPECT_NE(value_of(indexes).find("more than 100 levels"), std::string::npos);
    EXPECT_EQ(value_of("len(range(100000000))"), "error: the expression takes too many steps");
    EXPECT_EQ(value_of("1/0"), "error: a division by zero, or an integer that is too large");
    EXPECT_EQ(value_of("9223372036854775807+1"),
              "error: a division by zero, or an integer that is too large");
    std::string chain = "1";
    for (int times = 0; times < 2000; ++times) chain += "+1";
    EXPECT_EQ(value_of(chain), "2001") << "long chains are no depth";
    Json large = record;
    large["text"] = std::string(1 << 20, 'x');
    const auto doubled = JxExpression::parse("text + text").value().value(large);
    ASSERT_FALSE(doubled);
    EXPECT_EQ(doubled.error().message, "the expression takes too many steps");
    // A backtracking matcher would take for ever.
    large["text"] = std::string(5000, 'a');
    EXPECT_FALSE(JxExpression::parse("like(text, \"(a|a)*(a|a)*(a|aa)*b\")").value().matches(large));
}

}  // namespace
