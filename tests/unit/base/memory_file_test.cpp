#include "base/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace wq {
namespace {

using Parts = std::array<std::string_view, 2>;

std::uint64_t serial_at(const char* mapped, const MemoryFile& memory) {
    std::uint64_t serial = 0;
    std::memcpy(&serial, mapped + memory.capacity(), sizeof serial);
    return serial;
}

TEST(MemoryFile, HasItsPartsAndThenItsSerial) {
    const auto memory = MemoryFile::with(Parts{"function", "arguments"});
    ASSERT_TRUE(memory.has_value());
    EXPECT_EQ(memory->size(), 17u);
    EXPECT_EQ(memory->copy(), "functionarguments");
    EXPECT_FALSE(MemoryFile::with(Parts{"a", "b"}, 0).has_value()) << "no descriptor is below 0";
}

TEST(MemoryFile, IsRefilledOnceNobodyElseHasIt) {
    auto memory = MemoryFile::with(Parts{"12345", "678"});
    ASSERT_TRUE(memory.has_value());
    const std::uint64_t before = memory->serial();
    std::optional<Descriptor> reader(std::in_place, ::open(memory->path().c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(reader->valid());
    EXPECT_FALSE(memory->refill(Parts{"abc", "def"})) << "it is open";
    const std::size_t bytes = memory->capacity() + sizeof before;
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, reader->get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    reader.reset();
    EXPECT_FALSE(memory->refill(Parts{"abc", "def"})) << "it is mapped";
    EXPECT_EQ(memory->copy(), "12345678");
    EXPECT_EQ(memory->serial(), before);
    EXPECT_EQ(serial_at(static_cast<const char*>(mapped), *memory), before);
    ::munmap(mapped, bytes);

    EXPECT_TRUE(memory->refill(Parts{"abc", "def"}));
    EXPECT_EQ(memory->copy(), "abcdef");
    EXPECT_NE(memory->serial(), before);
    const Descriptor again(::open(memory->path().c_str(), O_RDONLY | O_CLOEXEC));
    std::uint64_t serial = 0;
    ASSERT_EQ(::pread(again.get(), &serial, sizeof serial, 8), static_cast<ssize_t>(sizeof serial));
    EXPECT_EQ(serial, memory->serial());
}

TEST(MemoryFile, IsNotRefilledWithOtherSizes) {
    auto memory = MemoryFile::with(Parts{"12345", "678"});
    ASSERT_TRUE(memory.has_value());
    EXPECT_FALSE(memory->refill(Parts{"12345", "6789"}));
    EXPECT_FALSE(memory->refill(Parts{"123", ""}));
    EXPECT_TRUE(memory->refill(Parts{"1234", ""}));
    EXPECT_TRUE(memory->refill(Parts{"12345", "678"}));
    EXPECT_EQ(memory->copy(), "12345678");
}

}  // namespace
}  // namespace wq
