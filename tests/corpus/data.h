// Batches for the corpus: drawn anew for every iteration and rank, the same in every run. Easy to learn, so
// that a healthy training does learn within a few iterations. Pure functions.
#pragma once

#include <functional>
#include <vector>

#include "dump/session/msdbg.h"

namespace msdbg::corpus {

struct At {
  std::int64_t iteration = 0, rank = 0;
};
/// `count` iterations of this rank (or --steps).
std::vector<At> iterations(Session& run, std::int64_t count);

/// x [rows, features] in clouds around one centre for each class, label [rows].
struct Points {
  std::int64_t rows = 16, features = 8, classes = 4;
  double noise = 0.5;  // deviation around a centre; the centres' own is 1
};
Batch points(At at, const Points& shape = {});

/// x [rows, features] normal, y [rows, 1]: a smooth function of x of about [-1, 1].
struct Curve {
  std::int64_t rows = 16, features = 4;
};
Batch curve(At at, const Curve& shape = {});

/// x [rows, channels, size, size] in [0, 1]: stripes whose distance is the class, in noise; label [rows].
struct Pictures {
  std::int64_t rows = 8, channels = 1, size = 8, classes = 3;
};
Batch pictures(At at, const Pictures& shape = {});

/// x, label [rows, length] Int64: a walk over the words in which the next one is mostly the one after the
/// last; words from `used` on never occur.
struct Words {
  std::int64_t rows = 4, length = 6, used = 10;
};
Batch words(At at, const Words& shape = {});

/// x [8, 8] Int64, words below 18 of which each of three kinds has six; label [8], the kind of a row's words.
Batch topics(At at);

/// points(), and near [16, 16]: 1 for a point itself and most of its own class, else 0.
Batch neighbours(At at);
/// x, noise [16, 4] and time [16, 1] of (0, 1), that tells how much noise there is.
Batch diffused(At at);
/// x [16, 4]; y [16, 1], whether there is an object; box [16, 1], its size, 0 where there is none.
Batch objects(At at);

/// The tensor of that name in a batch.
Tensor& tensorOf(Batch& batch, std::string_view name);
/// The batch with every element of a float32 tensor replaced by change(value, flat index).
Batch changed(Batch batch, std::string_view name, const std::function<float(float, std::size_t)>& change);
/// The batch with floating tensors in float64.
Batch wide(Batch batch);

/// A float32 tensor whose element i is value(i).
Tensor filled(const Shape& shape, const std::function<double(std::int64_t)>& value);

// What people write by hand because the interface has it not.

/// Mean of the squared difference: a scalar.
Value meanSquare(Value prediction, Value target);
/// Class indices [N] as rows of 0 and 1, [N, classes].
Value classRows(Value label, std::int64_t classes);

}  // namespace msdbg::corpus
