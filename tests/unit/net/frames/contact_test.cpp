#include "net/frames/contact.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/folder.h"

namespace wq::net::frames {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ContactTest : public ::testing::Test {
  protected:
    void put(const std::string& text) {
        std::ofstream(path, std::ios::binary) << text;
        ::chmod(path.c_str(), 0600);
    }
    std::string refused() const {
        const auto read = read_contact(path);
        return read.ok() ? "it was read" : read.error().message;
    }

    test::Folder made;
    std::string folder = made.path();
    std::string path = made / "contact";
};

Contact whole() {
    Contact contact;
    contact.addresses = {"10.0.0.7", "fd00::7", "127.0.0.1"};
    contact.port = 9123;
    contact.key = std::string("\0\xff key\n", 7);
    contact.tls = true;
    contact.certificate_digest = std::string(64, 'a');
    contact.name = "my run \"1\" \xc3\xa9";
    contact.pid = 4711;
    contact.host = "node3";
    contact.started = 1'700'000'000'000'000;
    return contact;
}

TEST_F(ContactTest, WhatIsWrittenIsRead) {
    ASSERT_TRUE(write_contact(path, whole()).ok());
    const Contact read = read_contact(path).or_throw();
    EXPECT_EQ(read.addresses, whole().addresses);
    EXPECT_EQ(read.port, 9123);
    EXPECT_EQ(read.key, whole().key);
    EXPECT_TRUE(read.tls);
    EXPECT_EQ(read.certificate_digest, whole().certificate_digest);
    EXPECT_EQ(read.name, whole().name);
    EXPECT_EQ(read.pid, 4711);
    EXPECT_EQ(read.host, "node3");
    EXPECT_EQ(read.started, whole().started);
    EXPECT_EQ(to_json(read), to_json(whole()));
}

TEST_F(ContactTest, IsForItsOwnerOnlyWhateverTheUmaskAndReplacesTheOldOneWhole) {
    const mode_t before = ::umask(0);
    put("old");
    ::chmod(path.c_str(), 0666);
    ASSERT_TRUE(write_contact(path, whole()).ok());
    ::umask(before);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.push_back(entry.path().filename());
    EXPECT_THAT(names, ElementsAre("contact")) << "nothing is left over";
}

TEST_F(ContactTest, NamesOfNoUtf8AreWrittenAllTheSame) {
    Contact contact = whole();
    contact.name = "caf\xe9";
    ASSERT_TRUE(write_contact(path, contact).ok());
    EXPECT_TRUE(read_contact(path).ok());
}

TEST_F(ContactTest, ReadableByOthersIsRefusedWithTheRemedy) {
    ASSERT_TRUE(write_contact(path, whole()).ok());
    for (const mode_t mode : {0640u, 0604u, 0620u, 0601u}) {
        ::chmod(path.c_str(), mode);
        EXPECT_THAT(refused(), AllOf(HasSubstr(path), HasSubstr("chmod 600 " + path)));
        EXPECT_EQ(read_contact(path).error().code, ExitCode::not_allowed);
    }
}

TEST_F(ContactTest, OfAnotherOwnerItIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
    ASSERT_TRUE(write_contact(path, whole()).ok());
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    ::chmod(folder.c_str(), 0755);
    EXPECT_TRUE(read_contact(path).ok()) << "root may";
    ASSERT_EQ(::seteuid(23456), 0);
    const std::string closed = refused();
    ASSERT_EQ(::seteuid(0), 0);
    EXPECT_THAT(closed, HasSubstr("Permission denied"));
    ASSERT_EQ(::chown(path.c_str(), 0, 12345), 0);
    ::chmod(path.c_str(), 0644);
    ASSERT_EQ(::seteuid(23456), 0);
    const std::string foreign = refused();
    ASSERT_EQ(::seteuid(0), 0);
    EXPECT_THAT(foreign, HasSubstr("belongs to another user (uid 0)"));
}

TEST_F(ContactTest, MissingTornOrSomethingElseIsNamed) {
    EXPECT_THAT(refused(), AllOf(HasSubstr(path), HasSubstr("no such file")));
    EXPECT_EQ(read_contact(path).error().code, ExitCode::unreachable);
    put("");
    EXPECT_THAT(refused(), AllOf(HasSubstr(path), HasSubstr("incomplete")));
    put("[1, 2]");
    EXPECT_THAT(refused(), HasSubstr("not a contact file"));
    put("{\"kind\": \"something else\"}");
    EXPECT_THAT(refused(), HasSubstr("not a contact file"));
    put(std::string(2u << 20, ' '));
    EXPECT_THAT(refused(), HasSubstr("too long"));
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    EXPECT_THAT(refused(), HasSubstr("is a folder; give the file"));
}

TEST_F(ContactTest, EveryBeginningOfItIsTorn) {
    const std::string text = to_json(whole());
    for (std::size_t bytes = 0; bytes + 2 < text.size(); ++bytes)
        EXPECT_FALSE(parse_contact(text.substr(0, bytes)).ok()) << bytes;
    EXPECT_TRUE(parse_contact(text).ok());
}

TEST_F(ContactTest, FieldsThatMakeNoSenseAreRefused) {
    const auto changed = [](const std::string& from, const std::string& to) {
        std::string text = to_json(whole());
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return parse_contact(text.replace(at, from.size(), to));
    };
    for (const auto& [from, to] :
         std::vector<std::pair<std::string, std::string>>{{"\"port\": 9123", "\"port\": 0"},
                                                          {"\"port\": 9123", "\"port\": 65536"},
                                                          {"\"port\": 9123", "\"port\": -1"},
                                                          {"\"port\": 9123", "\"port\": \"9123\""},
                                                          {"\"port\": 9123", "\"port\": 1e300"},
                                                          {"\"port\": 9123", "\"ports\": 9123"},
                                                          {"\"tls\": true", "\"tls\": 1"},
                                                          {"\"pid\": 4711", "\"pid\": null"},
                                                          {"\"addresses\": [", "\"addresses\": [7, "},
                                                          {"\"addresses\": [", "\"addresses\": [\"\", "},
                                                          {"\"addresses\"", "\"address\""},
                                                          {"\"key\": \"00ff", "\"key\": \"00fg"},
                                                          {"\"key\": \"00ff", "\"key\": \"0ff"},
                                                          {std::string(64, 'a'), std::string(63, 'a')},
                                                          {std::string(64, 'a'), std::string(64, 'G')}})
        EXPECT_EQ(changed(from, to).ok() ? "read" : "refused", "refused") << to;
    EXPECT_THAT(changed("\"version\": 1", "\"version\": 2").error().message,
                AllOf(HasSubstr("version 2"), HasSubstr("reads 1")));
    const std::string deep(100'000, '[');
    EXPECT_FALSE(parse_contact(deep).ok());
}

TEST_F(ContactTest, WhereItCannotBeWrittenItSaysSo) {
    EXPECT_THAT(write_contact(folder + "/none/contact", whole()).error().message,
                AllOf(HasSubstr("/none/contact"), HasSubstr("No such file")));
}

TEST_F(ContactTest, TellsAWorkerWhomToDialAndHowToTrust) {
    const TcpDialOptions options = dial_options(whole());
    EXPECT_THAT(options.managers, ElementsAre(HostPort{"10.0.0.7", 9123}, HostPort{"fd00::7", 9123},
                                              HostPort{"127.0.0.1", 9123}));
    EXPECT_EQ(options.key, whole().key);
    ASSERT_TRUE(options.tls.has_value());
    EXPECT_EQ(options.tls->by, TlsTrust::By::digest);
    Contact plain = whole();
    plain.tls = false;
    EXPECT_FALSE(dial_options(plain).tls.has_value());
    EXPECT_EQ(fresh_key().size(), 32u);
    EXPECT_NE(fresh_key(), fresh_key());
}

TEST_F(ContactTest, PasswordsAreVerbatimAndNeverEmpty) {
    put("secret \n");
    EXPECT_EQ(read_password(path).or_throw(), "secret \n");
    put("");
    EXPECT_THAT(read_password(path).error().message, AllOf(HasSubstr(path), HasSubstr("empty")));
    put(std::string((64u << 10) + 1, 'x'));
    EXPECT_THAT(read_password(path).error().message, HasSubstr("more than 64 KiB"));
    EXPECT_THAT(read_password(folder + "/none").error().message, HasSubstr("No such file"));
    put("secret");
    std::string told;
    const auto warn = [&](const std::string& line) { told = line; };
    std::filesystem::permissions(path, std::filesystem::perms(0644));
    EXPECT_EQ(read_password(path, warn).or_throw(), "secret");
    EXPECT_THAT(told, AllOf(HasSubstr(path), HasSubstr("others may read it: chmod 600")));
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    std::filesystem::permissions(path, std::filesystem::perms(0660));
    EXPECT_EQ(static_cast<bool>(read_password(path)), status.st_gid == status.st_uid);
    const bool is_root = ::chown(path.c_str(), status.st_uid, status.st_uid + 1) == 0;
    EXPECT_TRUE(!is_root || !read_password(path)) << "another group may write";
    std::filesystem::permissions(path, std::filesystem::perms(0602));
    const auto writable = read_password(path);
    ASSERT_FALSE(writable);
    EXPECT_EQ(writable.error().code, ExitCode::not_allowed);
    EXPECT_THAT(writable.error().message, HasSubstr("others may change it"));
}

}  // namespace
}  // namespace wq::net::frames
