// What is fuzzed: one function for each kind of untrusted input. Each reads the bytes as msdbg would and
// aborts where an answer breaks a promise (what was accepted is written and read back the same); crashes,
// overflows and leaks are the sanitizers' to find. Any bytes are allowed. One thread.
#pragma once

#include <cstddef>
#include <span>

namespace msdbg::fuzz {

using Bytes = std::span<const std::byte>;

void fuzzGraph(Bytes input);    // graphs/HASH.pb
void fuzzRunInfo(Bytes input);  // run.json
void fuzzJournal(Bytes input);  // rank_R/journal
void fuzzSegment(Bytes input);  // segment_NNNNNN.h5, whole
void fuzzChunk(Bytes input);    // 3 bytes that say how, then the stored bytes of a chunk
void fuzzConfig(Bytes input);   // recording.json, and the text of one rule

/// What fuzzSegment does; whether the bytes were accepted.
bool readSegment(Bytes input);

struct Target {
  const char* name;  // of its corpus: tests/fuzz/corpus/<name>
  void (*run)(Bytes input);
};
inline constexpr Target kTargets[] = {{"graph", fuzzGraph},     {"run_info", fuzzRunInfo},
                                      {"journal", fuzzJournal}, {"segment", fuzzSegment},
                                      {"chunk", fuzzChunk},     {"config", fuzzConfig}};

/// Aborts, so that a fuzzer keeps the input and a test fails.
void require(bool promise, const char* what);

}  // namespace msdbg::fuzz
