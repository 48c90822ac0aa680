// A part of a test in a process of its own: with little memory, and with a death that does not end the test
// program. What must not crash, hang or take memory is tried there. The function runs in a fork, so it may
// use what the test has made, but no threads that were there before. Any thread may call.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace msdbg::test {

struct SmallProcess {
  std::size_t memory = 400u << 20;  // address space beyond what the process has already, in bytes; not under
                                    // sanitizers, whose own memory has no bounds
  int seconds = 60;                 // then it is taken to hang
};

/// What the function returned; or "killed by signal 11 (Segmentation fault)", "an exception: …".
std::string inSmallProcess(const std::function<std::string()>& function, const SmallProcess& limits = {});

}  // namespace msdbg::test
