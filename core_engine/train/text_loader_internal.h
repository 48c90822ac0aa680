// Text as bytes: rows of a fixed length from somewhere in it, labelled by the byte that follows each. A
// loader is immutable; any thread may ask.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core_engine/train/data.h"

namespace msdbg::core {

/// `text:FILE` or `words`: whether makeTextLoader knows the spec.
bool isTextSpec(std::string_view spec);
/// Rows of options.sequence bytes. kUsage: no sequence was asked for, a slice outside; kMissing, kIo,
/// kDamaged: the file (named), or too little of it.
Result<std::unique_ptr<DataLoader>> makeTextLoader(const std::string& spec, const LoaderOptions& options);

/// Sentences of common words, about `bytes` bytes of them, the same for the same seed.
std::string drawnWords(std::uint64_t seed, std::size_t bytes);

}  // namespace msdbg::core
