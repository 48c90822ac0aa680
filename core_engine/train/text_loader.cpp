#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core_engine/base/philox.h"
#include "core_engine/train/text_loader_internal.h"

namespace msdbg::core {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kFilePrefix = "text:";
constexpr std::string_view kWords = "words";
constexpr std::size_t kDrawnBytes = 1 << 18;
constexpr std::uintmax_t kMostBytes = std::uintmax_t{4} << 30;

/// Windows of `sequence` bytes side by side are the samples; training rows begin anywhere in the slice.
class TextLoader : public DataLoader {
 public:
  TextLoader(std::string text, std::string name, const LoaderOptions& options)
      : m_text(std::move(text)), m_name(std::move(name)), m_options(options) {
    const std::int64_t windows = windowsOf(m_text.size(), options.sequence);
    m_samples = options.samples > 0 ? options.samples : windows - options.firstSample;
  }

  static std::int64_t windowsOf(std::size_t bytes, std::int64_t sequence) {
    return bytes == 0 ? 0 : static_cast<std::int64_t>(bytes - 1) / sequence;
  }

  Batch batch(Iteration iteration, Rank rank, int ranks) const override {
    const std::int64_t rows = m_options.batch, length = m_options.sequence;
    InputSource x{Tensor(DType::UInt8, {rows, length})}, label{Tensor(DType::UInt8, {rows, length})};
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t from = begin(iteration.value, rank.value * rows + row, rows * ranks);
      copyBytes(from, row, x.values);
      copyBytes(from + 1, row, label.values);
    }
    const auto tokens = [](InputSource& source) {
      Tensor input = makeInput(source, DType::Int64, source.values.shape()).orThrow();
      source.inputHash = hashTensor(input);
      return input;
    };
    Tensor words = tokens(x), next = tokens(label);
    return {iteration,
            {{"x", std::move(words)}, {"label", std::move(next)}},
            {{"x", std::move(x)}, {"label", std::move(label)}}};
  }

  std::int64_t batchSize() const override { return m_options.batch; }
  std::int64_t iterationsPerEpoch(int ranks) const override {
    return std::max<std::int64_t>(1, m_samples / (m_options.batch * ranks));
  }
  std::string description() const override {
    return m_name + ", " + std::to_string(m_samples) + " rows of " + std::to_string(m_options.sequence) +
           " bytes";
  }

 private:
  /// Where row `row` of the global batch begins: by seed, iteration and row, or (evaluation) one window after
  /// another.
  std::int64_t begin(std::int64_t iteration, std::int64_t row, std::int64_t globalRows) const {
    const std::int64_t length = m_options.sequence, first = m_options.firstSample * length;
    if (!m_options.shuffle) return first + (iteration * globalRows + row) % m_samples * length;
    const RandomStream random(m_options.seed, "data/text", iteration);
    const std::uint64_t places = static_cast<std::uint64_t>((m_samples - 1) * length + 1);
    return first + static_cast<std::int64_t>(random.uniform(static_cast<std::uint64_t>(row)) *
                                             static_cast<double>(places));
  }

  void copyBytes(std::int64_t from, std::int64_t row, Tensor& to) const {
    const std::int64_t length = m_options.sequence;
    std::uint8_t* out = to.data<std::uint8_t>().data() + row * length;
    for (std::int64_t i = 0; i < length; ++i)
      out[i] = static_cast<unsigned char>(m_text[static_cast<std::size_t>(from + i)]);
  }

  std::string m_text, m_name;
  LoaderOptions m_options;
  std::int64_t m_samples = 0;
};

Result<std::string> readFile(const fs::path& path) {
  const auto fail = [&](ErrorCode code, const std::string& what) {
    return Error(code, "data: " + path.string() + ": " + what);
  };
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return fail(fs::exists(path) ? ErrorCode::kIo : ErrorCode::kMissing, error.message());
  if (size > kMostBytes) return fail(ErrorCode::kUnsupported, "a text of more than 4 GiB");
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size)))
    return fail(ErrorCode::kIo, std::string("cannot be read: ") + std::strerror(errno));
  return text;
}

Status checkSlice(const std::string& name, std::int64_t windows, const LoaderOptions& o) {
  const std::int64_t wanted = std::max<std::int64_t>(o.samples, 1);
  if (o.firstSample >= 0 && o.samples >= 0 && o.firstSample < windows && wanted <= windows - o.firstSample)
    return Ok{};
  return Error(ErrorCode::kUsage, "data: " + name + " has " + std::to_string(windows) + " rows of " +
                                      std::to_string(o.sequence) + " bytes, but row " +
                                      std::to_string(o.firstSample) + " and " + std::to_string(wanted - 1) +
                                      " after it were asked for");
}

Status checkVocabulary(const std::string& name, std::string_view text, const LoaderOptions& o) {
  if (o.vocabulary == 0) return Ok{};
  const auto outside =
      std::ranges::find_if(text, [&](char c) { return static_cast<unsigned char>(c) >= o.vocabulary; });
  if (outside == text.end()) return Ok{};
  return Error(ErrorCode::kUsage, "data: " + name + " has the byte " +
                                      std::to_string(static_cast<unsigned char>(*outside)) + " at " +
                                      std::to_string(outside - text.begin()) + ", which a vocabulary of " +
                                      std::to_string(o.vocabulary) + " does not have; 256 has every byte");
}

}  // namespace

bool isTextSpec(std::string_view spec) { return spec == kWords || spec.starts_with(kFilePrefix); }

Result<std::unique_ptr<DataLoader>> makeTextLoader(const std::string& spec, const LoaderOptions& options) {
  if (options.sequence < 1)
    return Error(ErrorCode::kUsage, "data: " + spec +
                                        " is text, but this model looks at images; give digits "
                                        "or mnist:DIR");
  const bool drawn = spec == kWords;
  const std::string name = drawn ? "drawn words" : spec.substr(kFilePrefix.size());
  std::string text;
  if (drawn) {
    text = drawnWords(options.seed, kDrawnBytes);
  } else {
    MSDBG_ASSIGN(text, readFile(name));
  }
  MSDBG_TRY(checkVocabulary(name, text, options));
  MSDBG_TRY(checkSlice(name, TextLoader::windowsOf(text.size(), options.sequence), options));
  return std::unique_ptr<DataLoader>(std::make_unique<TextLoader>(std::move(text), name, options));
}

}  // namespace msdbg::core
