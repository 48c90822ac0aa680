// The parameters of the kernels (kernel_list.h): plain numbers and addresses on the device, filled by the
// factories of ../ and read by the kernels. Float32 unless said otherwise; counts and strides in elements.
#pragma once

#include <cstdint>

#include "core_engine/ops/element_formulas.h"

namespace msdbg::core::device {

constexpr int kMostDims = 8;

// Sizes that who launches a kernel has in common with it.
constexpr std::int64_t kGroup = 16;  // lanes of a sum: threads that speak by shuffles
constexpr std::int64_t kNormBlockRows =
    64;  // rows whose column sums are formed together (cpu/layer_norm.cpp)
constexpr std::int64_t kReductionPiece = 8192;  // elements of a run that are summed in lanes (cpu/reduce.cpp)
constexpr int kTileColumns = 32, kTileThreads = 256;  // of column_sums, a block
constexpr int kTransposeTile = 32;

// --- element-wise (elementwise.h) ---
enum class Unary : std::int32_t { kRelu, kSigmoid, kTanh, kExp, kLog, kSqrt, kErf, kGelu };
enum class Binary : std::int32_t { kAdd, kSub, kMul, kDiv, kReluGrad, kSigmoidGrad, kTanhGrad, kGeluGrad };

struct MapParameters {
  const float* x;
  float* y;
  std::int64_t count;
  Unary op;
};
/// dims, outermost first, are of the result; a stride of 0 repeats. Innermost runs as in BroadcastPlan.
struct CombineParameters {
  const float *a, *b;
  float* y;
  std::int64_t count;
  Binary op;
  std::int32_t rank;  // 0: all lie alike
  std::int64_t dims[kMostDims], stridesA[kMostDims], stridesB[kMostDims];
};

// --- copies (copies.h) ---
struct TransposeParameters {
  const void* x;
  void* y;
  std::int64_t count;
  std::int32_t elementBytes, rank;                   // 1, 2, 4, 8
  std::int64_t dims[kMostDims], strides[kMostDims];  // of the result; of x in the result's order
};
/// Of elements of 4 bytes: dimension `rows` is contiguous in x, `columns` in y; the others, outermost first.
struct TransposeTilesParameters {
  const void* x;
  void* y;
  std::int64_t rows, columns, rowTo, columnFrom, outer;  // strides of a row in y, of a column in x
  std::int32_t rank;
  std::int64_t dims[kMostDims], from[kMostDims], to[kMostDims];
};
/// A part of a whole along an axis: rows of `width` elements at `offset` in rows of `row`.
struct PartCopyParameters {
  const void* from;
  void* to;
  std::int64_t count, width, row, offset;  // count: of the part
  std::int32_t elementBytes, toWhole;
};
enum class Conversion : std::int32_t { kDoubleToFloat, kFloatToDouble, kByteToFloat, kInt64ToFloat };
struct CastParameters {
  const void* x;
  void* y;
  std::int64_t count;
  Conversion conversion;
};

// --- lines (lines.h): rows of `length`, one group of 16 each ---
struct LineParameters {
  const float *first, *second;
  float* y;
  std::int64_t rows, length;
};
struct LayerNormParameters {
  const float *x, *scale, *shift;  // shift may be nullptr
  float *y, *mean, *inverse;
  std::int64_t rows, length;
  double epsilon;
};
struct LayerNormGradParameters {
  const float *dy, *x, *scale, *mean, *inverse;
  float *dx, *dScale, *dB;
  double* sums;  // [blocks of 64 rows][2][length]
  std::int64_t rows, length;
};
struct CrossEntropyParameters {
  const float* logits;
  const std::int64_t* labels;
  float *loss, *logProb;
  std::int64_t rows, classes;
  std::int64_t* alarm;  // becomes 1 + a row whose label is none
};
struct CrossEntropyGradParameters {
  const float* logProb;
  const std::int64_t* labels;
  const float* dy;  // of the loss
  float* dx;
  std::int64_t rows, classes;
  std::int64_t* alarm;
};

// --- reductions (reductions.h) ---
/// results() of them; runs of `runLength` elements (stride 1) at outer offsets, each cut into pieces of 8192.
struct InnerReductionParameters {
  const float* x;
  double* pieces;  // [results][offsets][pieces of a run]
  float* y;
  std::int64_t results, offsets, runLength, piecesOfRun;
  const std::int64_t* offsetsAt;  // [offsets]
  double divisor;
  std::int32_t squares, keptRank;
  std::int64_t keptDims[kMostDims], keptStrides[kMostDims];
};
/// One result a thread: elements one after another.
struct OuterReductionParameters {
  const float* x;
  float* y;
  std::int64_t results, offsets, runLength, runStride, width;  // width: results that lie side by side
  const std::int64_t* offsetsAt;                               // [offsets]
  double divisor;
  std::int32_t keptRank;
  std::int64_t keptDims[kMostDims], keptStrides[kMostDims];
};
/// dx = dy / divisor, repeated: dims of dx, strides of dy (0 where reduced).
struct SpreadParameters {
  const float* dy;
  float* dx;
  std::int64_t count;
  double divisor;
  std::int32_t rank;
  std::int64_t dims[kMostDims], strides[kMostDims];
};

// --- BatchNormalization (batch_norm.h): x is [images][channels][plane] ---
struct BatchNormParameters {
  const float *x, *scale, *shift, *runningMean, *runningVariance;
  float *y, *nextMean, *nextVariance, *savedMean,
      *savedInverse;         // all but y: only where trained, else nullptr
  double *parts, *moments;   // [images][channels], [2][channels]
  NormalSettings* settings;  // [channels]
  std::int64_t images, channels, plane;
  double epsilon, share;  // share of the running values that stays; 1: all
  std::int32_t usesBatch;
};
struct BatchNormGradParameters {
  const float *dy, *x, *scale, *mean, *inverse;
  float *dx, *dScale, *dB;
  double *sums, *products;  // [images][channels]
  NormalGradSettings* settings;
  std::int64_t images, channels, plane;
  std::int32_t training;
};

// --- pooling (pooling.h) ---
struct PoolParameters {
  const float *x, *dy;
  float *y, *dx;
  std::int64_t planes, inH, inW, outH, outW, kernelH, kernelW, strideH, strideW, padTop, padLeft;
};

// --- Gather (gather.h): data [outer][size][inner], indices [count] of int32 or int64 ---
struct GatherParameters {
  const void *data, *indices;
  void* y;
  std::int64_t outer, size, inner, count;
  std::int32_t elementBytes, wideIndices;
  std::int64_t* alarm;  // becomes 1 + the place of an index that is none
};
struct GatherGradParameters {
  const float* dy;
  const void* indices;
  float* dx;
  std::int64_t *order, *sorted;  // [count] places by index, then by place; their indices
  std::int64_t outer, size, inner, count;
  std::int32_t wideIndices;
  std::int64_t* alarm;
};

// --- Dropout (dropout.h) ---
struct DropoutParameters {
  const float* x;
  float* y;
  bool* mask;
  std::int64_t count, first;  // first: of the rank, in the global batch
  double ratio, scale;
  std::uint32_t key0, key1;
  const std::int64_t* iteration;
  std::uint32_t nameLow;
  std::int32_t training;
};
struct DropoutGradParameters {
  const float* dy;
  const bool* mask;
  float* dx;
  std::int64_t count;
  double scale;
};

// --- updates (updates.h) ---
/// Whether this iteration updates: always where microStep is nullptr, else where it is every - 1.
struct UpdateTime {
  const std::int64_t* microStep;
  std::int64_t every;
};
struct SgdParameters {
  const float *p, *g, *rate, *state;
  float *next, *nextState;  // states: nullptr without momentum
  std::int64_t count;
  SgdSettings settings;  // but the rate
  double rateFactor;
  UpdateTime time;
};
struct AdamParameters {
  const float *p, *g, *rate, *mean, *square;
  const std::int64_t* step;
  float *next, *nextMean, *nextSquare;
  std::int64_t count;
  AdamSettings settings;
  UpdateTime time;
};
struct AccumulateParameters {
  const float *g, *sum;
  const std::int64_t* microStep;
  float* next;
  std::int64_t count;
  double steps;
};
struct StepParameters {
  const std::int64_t* step;
  std::int64_t* next;
  std::int64_t modulo;
  UpdateTime time;
};

// --- statistics (statistics.h): blocks of 64 KiB, those of many tensors in one launch ---
constexpr std::int64_t kStatisticsBlock = 16384;  // elements
constexpr int kStatisticsThreads = 192, kTotalThreads = 192;
/// Numbers that are added up in the order of the blocks.
enum StatisticsSum { kSum, kSumAbs, kSumSquares, kSumAbsChange, kSumAbsPrevious, kStatisticsSums };
enum StatisticsCount {
  kFinite,
  kNaNs,
  kPosInfs,
  kNegInfs,
  kZeros,
  kNegatives,
  kSkipped,
  kOutside,
  kInRange,
  kStatisticsCounts
};
enum StatisticsMost { kMinusLeast, kLargest, kLargestChange, kStatisticsMosts };
/// Of a block, or of all blocks of a tensor: BlockMoments and BlockChange in an order that suits threads.
struct StatisticsRecord {
  double mean, squaredDeviations;
  double sums[kStatisticsSums];
  double most[kStatisticsMosts];
  std::int64_t counts[kStatisticsCounts];
};
/// What goes to the host, before the hashes of the blocks.
struct StatisticsTotal {
  StatisticsRecord record;
  std::int64_t deadUnits;
};
/// One tensor of a batch; its blocks lie one behind the other among those of the batch.
struct StatisticsTensor {
  const std::uint32_t *x, *previous;  // float32; previous: nullptr where the change is not wanted
  std::int64_t count, firstBlock, blocks;
  StatisticsTotal* answer;  // behind it: std::uint64_t[blocks][2]
  float start, end;         // the range has the float32 numbers from start to end
  bool inRange;             // wanted
  std::int64_t* active;     // [units], elements > 0; nullptr: not wanted, or there is one unit
  std::int64_t units, inner, elementsOfUnit;  // the tensor as [outer, units, inner]
};
struct StatisticsParameters {
  const StatisticsTensor* tensors;
  const std::uint32_t* tensorOfBlock;  // of the batch
  StatisticsRecord* records;           // likewise
  std::int64_t firstBlock;             // of the launch
  double rtol, atol;
};
struct StatisticsTotalsParameters {
  const StatisticsTensor* tensors;
  const StatisticsRecord* records;
};

}  // namespace msdbg::core::device
