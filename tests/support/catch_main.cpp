// The only file that compiles Catch2's implementation and main.
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_FAST_COMPILE
#include <catch2/catch.hpp>
#include <cstdlib>

// What one test computed again is no answer to another: those of the cache itself say where theirs lies.
int main(int argc, char** argv) {
  setenv("MSDBG_CACHE_SIZE", "0", 1);
  return Catch::Session().run(argc, argv);
}
