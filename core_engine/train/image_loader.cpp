#include <algorithm>

#include "core_engine/train/image_loader_internal.h"

namespace msdbg::core {
namespace {

class ImageLoader : public DataLoader {
 public:
  ImageLoader(std::unique_ptr<ImageSource> source, const LoaderOptions& options,
              const Augmentation& augmentation)
      : m_source(std::move(source)),
        m_options(options),
        m_augmentation(augmentation),
        m_endless(m_source->endless() && options.samples == 0),
        m_order({options.firstSample,
                 options.samples > 0 ? options.samples : m_source->samples() - firstInside(), options.batch,
                 options.seed, options.shuffle}) {}

  Batch batch(Iteration iteration, Rank rank, int ranks) const override {
    const std::int64_t rows = m_options.batch;
    const ImageSpec &spec = m_options.image, size = m_source->size();
    InputSource pixels{Tensor(DType::UInt8, {rows, size.channels, size.height, size.width}), 255};
    InputSource labels{Tensor(DType::UInt8, {rows})};
    const std::size_t imageSize = static_cast<std::size_t>(size.channels * size.height * size.width);
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      const std::int64_t globalRow = rank.value * rows + static_cast<std::int64_t>(row);
      const auto image = pixels.values.data<std::uint8_t>().subspan(row * imageSize, imageSize);
      labels.values.data<std::uint8_t>()[row] =
          m_source->draw(sampleOf(iteration.value, globalRow, ranks), image);
      augmentRow(iteration.value, globalRow, ranks, image);
    }
    const Shape shape = {rows, spec.channels, spec.height, spec.width};
    Tensor x = makeInput(pixels, DType::Float32, shape).orThrow();
    Tensor label = makeInput(labels, DType::Int64, {rows}).orThrow();
    pixels.inputHash = hashTensor(x);
    labels.inputHash = hashTensor(label);
    return {iteration,
            {{"x", std::move(x)}, {"label", std::move(label)}},
            {{"x", std::move(pixels)}, {"label", std::move(labels)}}};
  }

  std::int64_t batchSize() const override { return m_options.batch; }
  std::int64_t iterationsPerEpoch(int ranks) const override { return m_order.iterationsPerEpoch(ranks); }
  std::string description() const override {
    return m_source->describe(m_order.settings().samples) + augmentationText(m_augmentation);
  }

 private:
  std::int64_t firstInside() const { return m_source->endless() ? 0 : m_options.firstSample; }

  // Which sample is row `row` of the global batch of the iteration.
  std::int64_t sampleOf(std::int64_t iteration, std::int64_t row, int ranks) const {
    if (m_endless) return m_options.firstSample + iteration * m_options.batch * ranks + row;
    return m_order.sampleOf(iteration, row, ranks);
  }

  void augmentRow(std::int64_t iteration, std::int64_t row, int ranks, std::span<std::uint8_t> image) const {
    if (!m_augmentation.any()) return;
    const std::int64_t perEpoch = iterationsPerEpoch(ranks);
    const std::int64_t place = iteration % perEpoch * m_options.batch * ranks + row;
    augment(image, m_source->size(), m_augmentation, m_options.seed, iteration / perEpoch, place);
  }

  std::unique_ptr<ImageSource> m_source;
  LoaderOptions m_options;
  Augmentation m_augmentation;
  bool m_endless;
  SampleOrder m_order;
};

Status checkOptions(const ImageSource& source, const LoaderOptions& o) {
  const auto usage = [](const std::string& what) { return Error(ErrorCode::kUsage, what); };
  const ImageSpec size = source.size();
  if (o.image.channels * o.image.height * o.image.width > kMostGrowth * size.height * size.width)
    return usage("data: " + std::to_string(o.image.channels) + " channels of " +
                 std::to_string(o.image.height) + " x " + std::to_string(o.image.width) +
                 " pixels are too many to be made from one of " + std::to_string(size.height) + " x " +
                 std::to_string(size.width));
  if (size.channels != 1 && size.channels != o.image.channels)
    return usage("data: the model looks at images of " + std::to_string(o.image.channels) +
                 (o.image.channels == 1 ? " channel, but " : " channels, but ") +
                 source.describe(source.samples()) + " have " + std::to_string(size.channels));
  if (o.firstSample < 0 || o.samples < 0) return usage("data: a slice cannot begin or count below 0");
  if (source.endless()) return Ok{};
  const std::int64_t available = source.samples() - o.firstSample;
  if (available > 0 && o.samples <= available) return Ok{};
  return usage("data: samples " + std::to_string(o.firstSample) + " to " +
               std::to_string(o.firstSample + std::max<std::int64_t>(o.samples, 1) - 1) +
               " were asked for, but " + source.describe(source.samples()) + " is all there is");
}

}  // namespace

Result<std::unique_ptr<DataLoader>> makeImageLoader(std::unique_ptr<ImageSource> source,
                                                    const LoaderOptions& options,
                                                    const Augmentation& augmentation) {
  MSDBG_TRY(checkOptions(*source, options));
  return std::unique_ptr<DataLoader>(std::make_unique<ImageLoader>(std::move(source), options, augmentation));
}

}  // namespace msdbg::core
