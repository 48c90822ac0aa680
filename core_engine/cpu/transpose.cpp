// Transpose of any dtype: contiguous runs are copied, else tiles keep reads and writes in the cache. What has
// 4 bytes is moved as float32, in registers: no arithmetic touches it.
#include <cstring>

#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/cpu/tile_kernels.h"
#include "core_engine/ops/broadcast.h"

namespace msdbg::core::cpu {
namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::int64_t kTile = 32;

/// The result's dimensions with the strides of input and output (in elements); joined where both walk on
/// alike.
struct Walk {
  Ints dims, from, to;
};

Ints inputStrides(const CompileRequest& r) {
  const Ints own = r.input(0).shape.strides(), perm = intsAttribute(r.node.attributes, "perm", {});
  Ints strides(own.rbegin(), own.rend());
  for (std::size_t d = 0; d < perm.size(); ++d) strides[d] = own[static_cast<std::size_t>(perm[d])];
  return strides;
}

Walk planWalk(const Shape& out, const Ints& strides) {
  const Ints outStrides = out.strides();
  Walk w;
  for (std::size_t d = 0; d < out.rank(); ++d) {
    if (out[d] == 1) continue;
    if (!w.dims.empty() && w.from.back() == strides[d] * out[d]) {
      w.dims.back() *= out[d];
      w.from.back() = strides[d];
      w.to.back() = outStrides[d];
    } else {
      w.dims.push_back(out[d]);
      w.from.push_back(strides[d]);
      w.to.push_back(outStrides[d]);
    }
  }
  if (w.dims.empty()) w = {{1}, {1}, {1}};
  return w;
}

/// A walk split into tiles of `rows` (contiguous in the input) x `columns` (contiguous in the output).
struct TilePlan {
  Walk outer;
  std::int64_t rows = 1, rowTo = 0;  // rows == 1: the innermost dimension is contiguous in both
  std::int64_t columns = 1, columnFrom = 1;
  std::int64_t elements = 1;
};

TilePlan planTiles(Walk w) {
  TilePlan p;
  for (std::int64_t d : w.dims) p.elements *= d;
  p.columns = w.dims.back();
  p.columnFrom = w.from.back();
  w.dims.pop_back(), w.from.pop_back(), w.to.pop_back();
  const auto contiguous = std::find(w.from.begin(), w.from.end(), 1) - w.from.begin();
  if (p.columnFrom != 1 && contiguous < static_cast<std::ptrdiff_t>(w.dims.size())) {
    p.rows = w.dims[static_cast<std::size_t>(contiguous)];
    p.rowTo = w.to[static_cast<std::size_t>(contiguous)];
    for (Ints* v : {&w.dims, &w.from, &w.to}) v->erase(v->begin() + contiguous);
  }
  p.outer = std::move(w);
  return p;
}

/// The offsets of the outer places in turn: adding strides is quicker than dividing a number into places.
class Places {
 public:
  Places(const Walk& walk, std::int64_t first) : m_walk(walk), m_at(walk.dims.size()) {
    for (std::size_t d = m_at.size(); d-- > 0; first /= walk.dims[d]) m_at[d] = first % walk.dims[d];
    for (std::size_t d = 0; d < m_at.size(); ++d) {
      from += m_at[d] * walk.from[d];
      to += m_at[d] * walk.to[d];
    }
  }
  void next() {
    for (std::size_t d = m_at.size(); d-- > 0;) {
      from += m_walk.from[d];
      to += m_walk.to[d];
      if (++m_at[d] < m_walk.dims[d]) return;
      from -= m_walk.from[d] * m_walk.dims[d];
      to -= m_walk.to[d] * m_walk.dims[d];
      m_at[d] = 0;
    }
  }
  std::int64_t from = 0, to = 0;

 private:
  const Walk& m_walk;
  Ints m_at;
};

template <typename T>
void copyElements(const TilePlan& p, const T* from, T* to, std::int64_t rows, std::int64_t firstColumn,
                  std::int64_t lastColumn) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = firstColumn; j < lastColumn; ++j) to[i * p.rowTo + j] = from[i + j * p.columnFrom];
}

template <typename T>
void copyColumns(const TilePlan& p, const T* from, T* to, std::int64_t rows) {
  for (std::int64_t column = 0; column < p.columns; column += kTile)
    copyElements(p, from, to, rows, column, std::min(column + kTile, p.columns));
}
void copyColumns(const TilePlan& p, const float* from, float* to, std::int64_t rows) {
  const std::int64_t wholeRows = rows / kTransposeBlock * kTransposeBlock,
                     wholeColumns = p.columns / kTransposeBlock * kTransposeBlock;
  for (std::int64_t j = 0; j < wholeColumns; j += kTransposeBlock)
    for (std::int64_t i = 0; i < wholeRows; i += kTransposeBlock)
      transposeBlockTile(from + i + j * p.columnFrom, p.columnFrom, to + i * p.rowTo + j, p.rowTo);
  copyElements(p, from, to, wholeRows, wholeColumns, p.columns);
  copyElements(p, from + wholeRows, to + wholeRows * p.rowTo, rows - wholeRows, 0, p.columns);
}

template <typename T>
void copyTile(const TilePlan& p, const T* from, T* to, std::int64_t rows) {
  if (p.columnFrom == 1)
    std::memcpy(to, from, static_cast<std::size_t>(p.columns) * sizeof(T));
  else
    copyColumns(p, from, to, rows);
}

template <typename T>
void transposeAll(const TilePlan& p, int threads, const void* x, void* y) {
  const std::int64_t bands = (p.rows + kTile - 1) / kTile;
  const std::int64_t count = Shape(p.outer.dims).elements() * bands;
  parallelRanges(count, 1, threads, p.elements, [&](std::int64_t begin, std::int64_t end) {
    Places place(p.outer, begin / bands);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i % bands * kTile;
      copyTile(p, static_cast<const T*>(x) + place.from + row, static_cast<T*>(y) + place.to + row * p.rowTo,
               std::min(kTile, p.rows - row));
      if ((i + 1) % bands == 0) place.next();
    }
  });
}

using TransposeLoop = void (*)(const TilePlan&, int, const void*, void*);
TransposeLoop loopFor(std::size_t elementSize) {
  switch (elementSize) {
    case 1:
      return transposeAll<std::uint8_t>;
    case 4:
      return transposeAll<float>;
    default:
      return transposeAll<std::uint64_t>;
  }
}

}  // namespace

Backend::Answer transposeKernel(const CompileRequest& r) {
  const TilePlan plan = planTiles(planWalk(r.output().shape, inputStrides(r)));
  const TransposeLoop loop = loopFor(dtypeSize(r.output().dtype));
  return functionKernel(r, [plan, loop, threads = r.threads](const KernelArgs& args) -> Status {
    loop(plan, threads, args.inputs[0]->raw(), args.outputs[0]->raw());
    return Ok{};
  });
}

}  // namespace msdbg::core::cpu
