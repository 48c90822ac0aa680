// Values that were computed again, kept for later: what comes back is what was kept, or nothing.
#include "replay/tensor/value_cache.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

using namespace msdbg::core;
using msdbg::replay::ValueCache;
namespace fs = std::filesystem;

namespace {

const std::string kRun(32, 'a'), kOther(32, 'b');

Tensor counted(std::int64_t elements, float from) {
  Tensor tensor(DType::Float32, {elements});
  for (float& each : tensor.data<float>()) each = from++;
  return tensor;
}

std::vector<fs::path> filesIn(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

bool isKept(const ValueCache& cache, const Tensor& value) {
  const auto found = cache.find(hashTensor(value), value.dtype(), value.shape());
  return found && std::ranges::equal(found->byteSpan(), value.byteSpan());
}

}  // namespace

TEST_CASE("A value comes back by its hash, for its run, its dtype and its shape alone") {
  const msdbg::test::TempDir folder;
  ValueCache cache(folder.path(), kRun, 1 << 20);
  const Tensor value = counted(100, 1);
  CHECK_FALSE(isKept(cache, value));
  REQUIRE(cache.keep(hashTensor(value), value).ok());
  REQUIRE(cache.keep(hashTensor(value), value).ok());  // once more changes nothing
  CHECK(isKept(cache, value));
  CHECK_FALSE(isKept(ValueCache(folder.path(), kOther, 1 << 20), value));
  CHECK_FALSE(cache.find(hashTensor(value), DType::Float64, value.shape()));
  CHECK_FALSE(cache.find(hashTensor(value), value.dtype(), {50}));
  CHECK(filesIn(folder.path()).size() == 1);
}

TEST_CASE("A value that was damaged in the cache is none") {
  const msdbg::test::TempDir folder;
  ValueCache cache(folder.path(), kRun, 1 << 20);
  const Tensor value = counted(100, 1);
  REQUIRE(cache.keep(hashTensor(value), value).ok());
  const fs::path file = filesIn(folder.path()).front();
  SECTION("a flipped bit") {
    std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(200).put('\x7f');
  }
  SECTION("a cut file") { fs::resize_file(file, 396); }
  CHECK_FALSE(isKept(cache, value));
}

TEST_CASE("What was not used for longest goes first, and nothing that is not the cache's") {
  const msdbg::test::TempDir folder;
  ValueCache cache(folder.path(), kRun, 1000);  // two values of 400 bytes
  const Tensor first = counted(100, 1), second = counted(100, 2), third = counted(100, 3);
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const Tensor* value : {&first, &second}) {
    REQUIRE(cache.keep(hashTensor(*value), *value).ok());
    fs::last_write_time(folder.path() / kRun / hashTensor(*value).text(), long_ago);
  }
  std::ofstream(folder.path() / "thesis.txt") << std::string(5000, 'x');
  CHECK(isKept(cache, first));  // and was used now
  REQUIRE(cache.keep(hashTensor(third), third).ok());
  cache.trim();
  CHECK(isKept(cache, first));
  CHECK(isKept(cache, third));
  CHECK_FALSE(isKept(cache, second));
  CHECK(fs::exists(folder.path() / "thesis.txt"));
  const Tensor large = counted(1000, 1);
  REQUIRE(cache.keep(hashTensor(large), large).ok());
  CHECK_FALSE(isKept(cache, large));
}

TEST_CASE("The user says where computed values are kept, how many, or that none are") {
  const msdbg::test::TempDir folder;
  setenv("MSDBG_CACHE", folder.path().c_str(), 1);
  const auto withSize = [](const char* size) {
    setenv("MSDBG_CACHE_SIZE", size, 1);
    auto cache = ValueCache::ofUser(kRun);
    setenv("MSDBG_CACHE_SIZE", "0", 1);
    return cache;
  };
  auto cache = withSize("1MB");
  REQUIRE(cache.ok());
  const Tensor value = counted(100, 1);
  REQUIRE(cache->keep(hashTensor(value), value).ok());
  CHECK(fs::exists(folder.path() / "values" / kRun / hashTensor(value).text()));
  CHECK(withSize("0").error().code() == ErrorCode::kUnavailable);
  CHECK_THAT(withSize("much").error().message(), Catch::Contains("MSDBG_CACHE_SIZE"));
  setenv("MSDBG_CACHE_SIZE", "1MB", 1);
  CHECK(ValueCache::ofUser("../../etc").error().code() == ErrorCode::kUnavailable);
  CHECK(ValueCache::ofUser("").error().code() == ErrorCode::kUnavailable);
  setenv("MSDBG_CACHE_SIZE", "0", 1);
  unsetenv("MSDBG_CACHE");
}
