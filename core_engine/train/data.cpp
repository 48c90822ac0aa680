#include "core_engine/train/data.h"

#include <algorithm>
#include <span>

#include "core_engine/base/text.h"
#include "core_engine/train/image_loader_internal.h"
#include "core_engine/train/text_loader_internal.h"

namespace msdbg::core {
namespace {

constexpr std::string_view kKnown =
    "digits (drawn, needs no files), mnist:DIR (a folder with MNIST's IDX files, plain or .gz) and "
    "cifar10:PATH (CIFAR-10's binary files), with ,flip and ,crop behind the name; for text words (drawn) "
    "and "
    "text:FILE";

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

Error unknown(const std::string& spec) {
  return {ErrorCode::kUsage, "data '" + spec + "' is not known; known are " + std::string(kKnown)};
}

/// NAME[,flip][,crop][:PATH]
struct ImageText {
  std::string name, path;
  Augmentation augmentation;
};

Result<ImageText> parseImages(const std::string& spec) {
  const std::size_t colon = std::min(spec.find(':'), spec.size());
  ImageText text;
  const std::vector<std::string> words = split(spec.substr(0, colon), ',');
  text.name = words.front();
  text.path = colon < spec.size() ? spec.substr(colon + 1) : "";
  for (const std::string& word : std::span(words).subspan(1)) {
    if (word != "flip" && word != "crop") return unknown(spec);
    (word == "flip" ? text.augmentation.flip : text.augmentation.crop) = true;
  }
  return text;
}

Result<std::unique_ptr<ImageSource>> openSource(const std::string& spec, const ImageText& text,
                                                const LoaderOptions& options) {
  if (spec.find(':') == std::string::npos && text.name == "digits")
    return makeDigits(options.seed, options.image);
  if (text.path.empty()) return unknown(spec);
  if (text.name == "mnist") return openMnist(text.path);
  if (text.name == "cifar10") return openCifar10(text.path);
  return unknown(spec);
}

}  // namespace

Status checkLoader(const DataLoader& loader, int ranks) {
  const std::string name = "the loader (" + loader.description() + ") ";
  if (loader.batchSize() < 1)
    return Error(ErrorCode::kUsage, name + "says that a batch has " + std::to_string(loader.batchSize()) +
                                        " rows (batchSize()); at least 1 is needed");
  if (const std::int64_t iterations = loader.iterationsPerEpoch(ranks); iterations < 1)
    return Error(ErrorCode::kUsage,
                 name + "says that an epoch of " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
                     " has " + std::to_string(iterations) +
                     " iterations (iterationsPerEpoch()); at least 1 is needed: make its batches of " +
                     std::to_string(loader.batchSize()) + " rows smaller, or give it more rows");
  return Ok{};
}

Result<std::unique_ptr<DataLoader>> makeLoader(const std::string& spec, const LoaderOptions& options) {
  MSDBG_TRY(checkSizes(options));
  if (isTextSpec(spec)) return makeTextLoader(spec, options);
  if (options.sequence > 0)
    return Error(ErrorCode::kUsage, "data '" + spec + "' is no text, but this model reads text; known are " +
                                        std::string(kKnown));
  MSDBG_ASSIGN(const ImageText text, parseImages(spec));
  MSDBG_ASSIGN(std::unique_ptr<ImageSource> source, openSource(spec, text, options));
  return makeImageLoader(std::move(source), options, text.augmentation);
}

}  // namespace msdbg::core
