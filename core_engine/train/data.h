// Data: where batches come from. A loader is deterministic per seed, epoch and global index; it holds no
// cursor, so any batch of any rank can be asked for in any order (replay does). Thread-safe to read.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core_engine/base/ids.h"
#include "core_engine/base/result.h"
#include "core_engine/tensor/batch.h"

namespace msdbg::core {

class DataLoader {
 public:
  virtual ~DataLoader() = default;
  /// Rows [rank*perRank, (rank+1)*perRank) of the global batch of this iteration. perRank is the loader's
  /// batch size.
  virtual Batch batch(Iteration iteration, Rank rank, int ranks) const = 0;
  virtual std::int64_t batchSize() const = 0;                    // rows per rank; at least 1
  virtual std::int64_t iterationsPerEpoch(int ranks) const = 0;  // 0: the rows are too few for the ranks
  virtual std::string description() const = 0;                   // "MNIST, 8000 images, from data/mnist"
};

/// kUsage: there is nothing to train or evaluate with; the loader has no rows in a batch, or no iterations in
/// an epoch.
Status checkLoader(const DataLoader& loader, int ranks);

/// What a model wants to be fed.
struct ImageSpec {
  std::int64_t channels = 1, height = 28, width = 28;
};
struct LoaderOptions {
  ImageSpec image = {};
  std::int64_t sequence = 0;                  // text: bytes in a row; 0: images are wanted
  std::int64_t vocabulary = 0;                // text: every byte must be below it; 0: any
  std::int64_t batch = 64;                    // rows per rank
  std::uint64_t seed = 0;                     // order of samples (and, for digits, the samples)
  std::int64_t firstSample = 0, samples = 0;  // a slice of the data set; 0 samples: all
  bool shuffle = true;  // false: in the order of the data set, wrapping around at its end (evaluation)
};
/// Images, scaled to the spec, pixels in [0, 1], labels Int64: `digits` (drawn; 8000 an epoch, new ones in
/// every epoch without a slice), `mnist:DIR` (IDX files, plain or .gz; train or t10k, whichever is there),
/// `cifar10:PATH` (cifar10.cpp); `NAME,flip,crop:…` mirrors and shifts them (augment_internal.h). Epochs have
/// orders of their own; rows that do not fill a global batch are left out. With a sequence: `words` (drawn)
/// or `text:FILE` (bytes as they are): "x" and "label" [rows, sequence] Int64, label the byte after each; a
/// row begins anywhere in the text, samples are its rows side by side. kUsage: unknown spec (the known ones
/// listed), impossible sizes or slice, a byte outside the vocabulary; kMissing / kDamaged: files (named).
Result<std::unique_ptr<DataLoader>> makeLoader(const std::string& spec, const LoaderOptions& options);

}  // namespace msdbg::core
