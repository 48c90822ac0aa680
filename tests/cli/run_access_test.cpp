#include "app/cli/run_access.h"

#include <catch2/catch.hpp>

namespace msdbg::test {

TEST_CASE("Iterations that are equally far apart are told by the first, the last and the distance", "[cli]") {
  const auto text = [](std::vector<std::int64_t> numbers) {
    return app::iterationsText(core::IterationSet(numbers));
  };
  CHECK(text({}) == "none");
  CHECK(text({0, 1, 2, 7}) == "0-2,7");
  CHECK(text({0, 10, 20}) == "0,10,20");
  CHECK(text({0, 10, 20, 30}) == "0-30 every 10");
  CHECK(text({0, 10, 20, 30, 31, 32, 50}) == "0,10,20,30-32,50");
  CHECK(text({5, 1000, 2000, 3000, 4000, 9000, 9001}) == "5,1000-4000 every 1000,9000-9001");
}

}  // namespace msdbg::test
