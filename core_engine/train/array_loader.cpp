#include "core_engine/train/array_loader.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core_engine/train/sample_order_internal.h"

namespace msdbg::core {
namespace {

Error usage(const std::string& what) { return {ErrorCode::kUsage, "data in memory: " + what}; }

std::string describe(const std::pair<std::string, Tensor>& array) {
  return array.first + " " + std::string(dtypeName(array.second.dtype())) + array.second.shape().text();
}

class ArrayLoader : public DataLoader {
 public:
  ArrayLoader(Arrays arrays, const SampleOrder::Settings& settings)
      : m_arrays(std::move(arrays)), m_order(settings) {}

  Batch batch(Iteration iteration, Rank rank, int ranks) const override {
    const std::int64_t rows = batchSize();
    std::vector<std::int64_t> samples;
    for (std::int64_t row = 0; row < rows; ++row)
      samples.push_back(m_order.sampleOf(iteration.value, rank.value * rows + row, ranks));
    Batch made{iteration, {}};
    for (const auto& [name, array] : m_arrays) made.tensors.emplace_back(name, rowsOf(array, samples));
    return made;
  }
  std::int64_t batchSize() const override { return m_order.settings().batch; }
  // None where the ranks together want more rows than there are: no row serves twice.
  std::int64_t iterationsPerEpoch(int ranks) const override {
    return m_order.settings().samples < batchSize() * ranks ? 0 : m_order.iterationsPerEpoch(ranks);
  }
  std::string description() const override {
    std::string text = "arrays in memory, " + std::to_string(m_order.settings().samples) + " samples";
    for (const auto& array : m_arrays) text += ", " + describe(array);
    return text;
  }

 private:
  static Tensor rowsOf(const Tensor& array, const std::vector<std::int64_t>& samples) {
    std::vector<std::int64_t> dims(array.shape().dims().begin(), array.shape().dims().end());
    const std::size_t bytes = array.bytes() / static_cast<std::size_t>(dims[0]);
    dims[0] = static_cast<std::int64_t>(samples.size());
    Tensor rows(array.dtype(), Shape(std::move(dims)));
    std::byte* to = rows.byteSpan().data();
    for (const std::int64_t sample : samples) {
      std::memcpy(to, array.byteSpan().data() + static_cast<std::size_t>(sample) * bytes, bytes);
      to += bytes;
    }
    return rows;
  }

  Arrays m_arrays;
  SampleOrder m_order;
};

Status checkArrays(const Arrays& arrays) {
  if (arrays.empty()) return usage("there are no arrays");
  std::set<std::string_view> names;
  for (const auto& array : arrays) {
    const auto& [name, values] = array;
    if (!values.valid() || values.shape().rank() < 1 || values.elements() == 0)
      return usage(describe(array) + " has no samples: dimension 0 counts them");
    if (!names.insert(name).second) return usage("there are two arrays " + name);
    if (values.shape()[0] != arrays[0].second.shape()[0])
      return usage(describe(arrays[0]) + " and " + describe(array) +
                   " differ in dimension 0, the number of samples");
  }
  return Ok{};
}

Result<std::int64_t> sliceLength(std::int64_t all, const ArrayLoaderOptions& o) {
  const std::int64_t available = all - o.firstSample;
  const std::int64_t samples = o.samples == 0 ? available : o.samples;
  if (o.firstSample >= 0 && samples >= 1 && samples <= available) return samples;
  return usage(std::to_string(samples) + " samples from " + std::to_string(o.firstSample) +
               " on were asked for, but there are " + std::to_string(all));
}

}  // namespace

Result<std::unique_ptr<DataLoader>> makeArrayLoader(Arrays arrays, const ArrayLoaderOptions& options) {
  MSDBG_TRY(checkArrays(arrays));
  MSDBG_ASSIGN(const std::int64_t samples, sliceLength(arrays[0].second.shape()[0], options));
  if (options.batch < 1 || options.batch > (1 << 24))
    return usage("a batch of " + std::to_string(options.batch) + " rows is not possible");
  if (options.batch > samples)
    return usage("a batch of " + std::to_string(options.batch) + " rows was asked for, but there are only " +
                 std::to_string(samples) + " samples");
  return std::unique_ptr<DataLoader>(std::make_unique<ArrayLoader>(
      std::move(arrays),
      SampleOrder::Settings{options.firstSample, samples, options.batch, options.seed, options.shuffle}));
}

}  // namespace msdbg::core
