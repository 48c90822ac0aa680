// Gemm and MatMul on oneDNN's matmul primitive, which takes row-major matrices, transposed ones too, as they
// are.
#include "core_engine/cpu/dnnl_internal.h"
#include "core_engine/cpu/parallel.h"
#include "core_engine/ops/broadcast.h"

namespace msdbg::core::cpu {
namespace {

using dnnl::memory;

memory::desc matrix(std::int64_t rows, std::int64_t columns, bool transposed) {
  const memory::dims strides = transposed ? memory::dims{1, rows} : memory::dims{columns, 1};
  return {{rows, columns}, memory::data_type::f32, strides};
}

struct Product {
  memory::desc a, b, y;
  std::optional<memory::desc> bias;  // input 2
  float scale = 1;
};

Backend::Answer makeProduct(const CompileRequest& r, const Product& product) {
  dnnl::primitive_attr attributes = userScratchpad();
  if (product.scale != 1) attributes.set_output_scales(0, {product.scale});
  const dnnl::matmul::desc description =
      product.bias ? dnnl::matmul::desc(product.a, product.b, *product.bias, product.y)
                   : dnnl::matmul::desc(product.a, product.b, product.y);
  const dnnl::matmul::primitive_desc p(description, attributes, r.dnnl->engine());
  std::vector<DnnlArgument> arguments{{DNNL_ARG_SRC, false, 0, product.a, p.src_desc()},
                                      {DNNL_ARG_WEIGHTS, false, 1, product.b, p.weights_desc()},
                                      {DNNL_ARG_DST, true, 0, product.y, p.dst_desc()}};
  if (product.bias) arguments.push_back({DNNL_ARG_BIAS, false, 2, *product.bias, p.bias_desc()});
  return dnnlKernel(r, dnnl::matmul(p), p.impl_info_str(), p.scratchpad_desc(), std::move(arguments));
}

/// Y = product + beta * C for the forms of Gemm that are no plain bias.
class AddScaledC : public KernelImpl {
 public:
  AddScaledC(std::unique_ptr<KernelImpl> product, float beta, const Shape& c, const Shape& y, int threads)
      : m_product(std::move(product)), m_beta(beta), m_strides(broadcastStrides(c, y)), m_threads(threads) {}

  std::string name() const override { return m_product->name(); }
  std::string implementation() const override { return m_product->implementation(); }

  Status run(const KernelArgs& args) override {
    MSDBG_TRY(m_product->run(args));
    const Shape& shape = args.outputs[0]->shape();
    const float* c = args.inputs[2]->data<float>().data();
    float* y = args.outputs[0]->data<float>().data();
    parallelRanges(shape[0], 1, m_threads, shape.elements(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) addRow(c + i * m_strides[0], y + i * shape[1], shape[1]);
    });
    return Ok{};
  }

 private:
  void addRow(const float* c, float* y, std::int64_t n) const {
    for (std::int64_t j = 0; j < n; ++j) y[j] = y[j] + m_beta * c[j * m_strides[1]];
  }

  std::unique_ptr<KernelImpl> m_product;
  float m_beta;
  std::vector<std::int64_t> m_strides;
  int m_threads;
};

bool isRow(const Shape& c, std::int64_t n) { return c == Shape{n} || c == Shape{1, n}; }

Backend::Answer makeGemm(const CompileRequest& r) {
  const Attributes& attributes = r.node.attributes;
  const bool transA = intAttribute(attributes, "transA", 0) != 0,
             transB = intAttribute(attributes, "transB", 0) != 0;
  const double alpha = floatAttribute(attributes, "alpha", 1), beta = floatAttribute(attributes, "beta", 1);
  const Shape &a = r.input(0).shape, &y = r.output().shape;
  const std::int64_t m = y[0], n = y[1], k = a[transA ? 0 : 1];
  Product product{
      matrix(m, k, transA), matrix(k, n, transB), matrix(m, n, false), {}, static_cast<float>(alpha)};
  if (!r.hasInput(2)) return makeProduct(r, product);
  const Shape& c = r.input(2).shape;
  if (alpha == 1 && beta == 1 && isRow(c, n)) {
    product.bias = matrix(1, n, false);
    return makeProduct(r, product);
  }
  Backend::Answer answer = makeProduct(r, product);
  if (answer.kernel)
    answer.kernel =
        std::make_unique<AddScaledC>(std::move(answer.kernel), static_cast<float>(beta), c, y, r.threads);
  return answer;
}

/// The shape with ones in front, up to `rank` dimensions.
Shape padded(const Shape& shape, std::size_t rank) {
  std::vector<std::int64_t> dims(rank - shape.rank(), 1);
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return Shape(std::move(dims));
}

Backend::Answer makeMatMul(const CompileRequest& r) {
  const Shape &givenA = r.input(0).shape, &givenB = r.input(1).shape;
  const Shape a = givenA.rank() == 1 ? Shape{1, givenA[0]} : givenA;
  const Shape b = givenB.rank() == 1 ? Shape{givenB[0], 1} : givenB;
  const std::size_t rank = std::max(a.rank(), b.rank());
  if (rank > DNNL_MAX_NDIMS)
    return decline("oneDNN has at most " + std::to_string(DNNL_MAX_NDIMS) + " dimensions");
  const Shape left = padded(a, rank), right = padded(b, rank);
  Shape y = left;
  for (std::size_t d = 0; d + 2 < rank; ++d) y[d] = std::max(left[d], right[d]);
  y[rank - 1] = right[rank - 1];
  return makeProduct(r, {rowMajor(left), rowMajor(right), rowMajor(y), {}, 1});
}

}  // namespace

Backend::Answer gemmKernel(const CompileRequest& r) {
  return compileDnnl(r, [&] { return makeGemm(r); });
}
Backend::Answer matMulKernel(const CompileRequest& r) {
  return compileDnnl(r, [&] { return makeMatMul(r); });
}

}  // namespace msdbg::core::cpu
