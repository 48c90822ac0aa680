#include "core_engine/train/data.h"

#include <algorithm>

#include "core_engine/train/image_loader_internal.h"
#include "core_engine/train/text_loader_internal.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kKnown =
    "digits (drawn, needs no files) and mnist:DIR (a folder with MNIST's IDX files, plain or .gz); for text "
    "words (drawn) and text:FILE";

Status checkSizes(const LoaderOptions& o) {
  const auto fits = [](std::int64_t value, std::int64_t most) { return value >= 1 && value <= most; };
  if (!fits(o.batch, 1 << 24))
    return Error(ErrorCode::kUsage, "data: a batch of " + std::to_string(o.batch) + " rows is not possible");
  if (o.sequence != 0 && !fits(o.sequence, 1 << 20))
    return Error(ErrorCode::kUsage,
                 "data: rows of " + std::to_string(o.sequence) + " bytes are not possible");
  if (!fits(o.image.channels, 1024) || !fits(o.image.height, 4096) || !fits(o.image.width, 4096))
    return Error(ErrorCode::kUsage, "data: an image needs 1 to 1024 channels, and 1 to 4096 pixels a side");
  return Ok{};
}

Result<std::unique_ptr<ImageSource>> openSource(const std::string& spec, const LoaderOptions& options) {
  constexpr std::string_view kMnist = "mnist:";
  if (spec == "digits") return makeDigits(options.seed, options.image);
  if (spec.starts_with(kMnist) && spec.size() > kMnist.size()) return openMnist(spec.substr(kMnist.size()));
  return Error(ErrorCode::kUsage, "data '" + spec + "' is not known; known are " + std::string(kKnown));
}

}  // namespace

const Tensor* Batch::find(std::string_view name) const {
  const auto found = std::ranges::find_if(tensors, [&](const auto& entry) { return entry.first == name; });
  return found == tensors.end() ? nullptr : &found->second;
}

Result<std::unique_ptr<DataLoader>> makeLoader(const std::string& spec, const LoaderOptions& options) {
  MSDBG_TRY(checkSizes(options));
  if (isTextSpec(spec)) return makeTextLoader(spec, options);
  if (options.sequence > 0)
    return Error(ErrorCode::kUsage, "data '" + spec + "' is no text, but this model reads text; known are " +
                                        std::string(kKnown));
  MSDBG_ASSIGN(std::unique_ptr<ImageSource> source, openSource(spec, options));
  return makeImageLoader(std::move(source), options);
}

}  // namespace msdbg::core
