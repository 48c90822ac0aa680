#include "core_engine/cuda/cublas_products.h"

#include <cublasLt.h>

#include <array>
#include <limits>

#include "core_engine/cuda/cuda_device.h"
#include "core_engine/cuda/shared_library.h"

namespace msdbg::core::device {

#define MSDBG_CUBLASLT(X)                 \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtGetVersion)                   \
  X(cublasLtGetStatusName)                \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatrixLayoutSetAttribute)     \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmulAlgoConfigGetAttribute) \
  X(cublasLtMatmul)

struct CublasLt {
  SharedLibrary file{"libcublasLt.so." MSDBG_TEXT(CUBLAS_VER_MAJOR)};
  bool usable = false;
  cublasLtHandle_t handle = nullptr;
#define MSDBG_MEMBER(name) decltype(&::name) name = nullptr;
  MSDBG_CUBLASLT(MSDBG_MEMBER)
#undef MSDBG_MEMBER

  CublasLt() {
#define MSDBG_FIND(name) &&file.find(#name, name)
    usable = static_cast<bool>(file) MSDBG_CUBLASLT(MSDBG_FIND);
#undef MSDBG_FIND
  }
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;
  ~CublasLt() {
    if (handle) cublasLtDestroy(handle);
  }
};

namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;
constexpr std::uint32_t kAlignment = 16;  // CudaDevice::accepts() sees to it

class Product : public Operation {
 public:
  Product(CudaDevice& device, CublasLt& library, const ProductShape& shape)
      : m_device(device), m_library(library), m_shape(shape) {}
  ~Product() override {
    for (const cublasLtMatrixLayout_t layout : {m_a, m_b, m_y})
      if (layout) m_library.cublasLtMatrixLayoutDestroy(layout);
    if (m_multiply) m_library.cublasLtMatmulDescDestroy(m_multiply);
  }

  std::string implementation() const override { return m_implementation; }
  void run(const std::vector<const void*>& inputs, void* output) override;
  bool prepare(std::string& why);

 private:
  bool describe(const void* anyBias);
  bool choose();
  bool isFixed(const cublasLtMatmulHeuristicResult_t& result) const;
  bool layout(cublasLtMatrixLayout_t& layout, std::int64_t rows, std::int64_t columns, std::int64_t stride);
  bool passed(cublasStatus_t status, const char* call);
  template <typename T>
  bool set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    return passed(m_library.cublasLtMatmulDescSetAttribute(m_multiply, attribute, &value, sizeof value),
                  "cublasLtMatmulDescSetAttribute");
  }
  template <typename T>
  T configured(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) const {
    T value{};
    std::size_t written = 0;
    m_library.cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof value, &written);
    return value;
  }
  std::string textOf(const cublasLtMatmulAlgo_t& algorithm) const;

  CudaDevice& m_device;
  CublasLt& m_library;
  ProductShape m_shape;
  cublasLtMatmulDesc_t m_multiply = nullptr;
  cublasLtMatrixLayout_t m_a = nullptr, m_b = nullptr, m_y = nullptr;
  cublasLtMatmulAlgo_t m_algorithm{};
  std::string m_implementation, m_failure;
};

bool Product::passed(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return true;
  m_failure = std::string(call) + ": " + m_library.cublasLtGetStatusName(status);
  return false;
}

/// Of a matrix that is stored row-major as [columns][rows] here: cuBLASLt counts columns as we count rows.
bool Product::layout(cublasLtMatrixLayout_t& layout, std::int64_t rows, std::int64_t columns,
                     std::int64_t stride) {
  const auto batch = static_cast<std::int32_t>(m_shape.batch);
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    return passed(m_library.cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value),
                  "cublasLtMatrixLayoutSetAttribute");
  };
  return passed(m_library.cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                                     static_cast<std::uint64_t>(columns), rows),
                "cublasLtMatrixLayoutCreate") &&
         set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch) &&
         set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
}

/// y^T = op(b)^T op(a)^T, column by column: the same memory as our y = op(a) op(b), row by row. So b comes
/// first, and the bias runs along its result's rows, as the library's does. PEDANTIC: no TF32 and no
/// emulation, whatever environment variables say.
bool Product::describe(const void* anyBias) {
  const auto& [m, n, k, batch, strideA, strideB, transposeA, transposeB, bias, scale] = m_shape;
  const cublasOperation_t forB = transposeB ? CUBLAS_OP_T : CUBLAS_OP_N,
                          forA = transposeA ? CUBLAS_OP_T : CUBLAS_OP_N;
  if (!passed(m_library.cublasLtMatmulDescCreate(&m_multiply, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F),
              "cublasLtMatmulDescCreate") ||
      !set(CUBLASLT_MATMUL_DESC_TRANSA, forB) || !set(CUBLASLT_MATMUL_DESC_TRANSB, forA))
    return false;
  if (bias && (!set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS) ||
               !set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, anyBias)))
    return false;
  return (transposeB ? layout(m_b, k, n, strideB) : layout(m_b, n, k, strideB)) &&
         (transposeA ? layout(m_a, m, k, strideA) : layout(m_a, k, m, strideA)) && layout(m_y, n, m, m * n);
}

/// Parts of a product that is split over k lie apart and are added up by a kernel of their own, in one order.
/// Added up in place they would be in the order in which they are done.
constexpr std::uint32_t kFixedOrder =
    CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;

bool Product::isFixed(const cublasLtMatmulHeuristicResult_t& result) const {
  return result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= kWorkspace &&
         (configured<std::uint32_t>(result.algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) & ~kFixedOrder) == 0;
}

bool Product::choose() {
  cublasLtMatmulPreference_t preference = nullptr;
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return passed(m_library.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
                  "cublasLtMatmulPreferenceSetAttribute");
  };
  constexpr std::uint64_t noTensorCores =
      ~static_cast<std::uint64_t>(CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK);
  std::array<cublasLtMatmulHeuristicResult_t, 16> results{};
  int found = 0;
  const bool asked =
      passed(m_library.cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate") &&
      prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace) &&
      prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kFixedOrder) &&
      prefer(CUBLASLT_MATMUL_PREF_IMPL_MASK, noTensorCores) &&
      prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kAlignment) &&
      prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kAlignment) &&
      prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kAlignment) &&
      prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kAlignment) &&
      passed(m_library.cublasLtMatmulAlgoGetHeuristic(m_library.handle, m_multiply, m_b, m_a, m_y, m_y,
                                                      preference, static_cast<int>(results.size()),
                                                      results.data(), &found),
             "cublasLtMatmulAlgoGetHeuristic");
  if (preference) m_library.cublasLtMatmulPreferenceDestroy(preference);
  if (!asked) return false;
  for (int i = 0; i < found; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = results[static_cast<std::size_t>(i)];
    if (!isFixed(result)) continue;
    m_algorithm = result.algo;
    m_implementation = textOf(result.algo);
    return true;
  }
  m_failure = "cuBLASLt has no algorithm of a fixed order for it";
  return false;
}

std::string Product::textOf(const cublasLtMatmulAlgo_t& algorithm) const {
  const auto part = [](const char* name, auto value) { return std::string(name) + std::to_string(value); };
  return part("cublasLt: algo ", configured<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID)) +
         part(", tile ", configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID)) +
         part(", stages ", configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID)) +
         part(", splitk ", configured<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM)) +
         part(", reduction ", configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME)) +
         part(", swizzle ", configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING)) +
         part(", option ", configured<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION)) +
         part(", inner ", configured<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID)) +
         part(", cluster ", configured<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID));
}

bool Product::prepare(std::string& why) {
  const void* workspace = m_device.workspace(kWorkspace);
  if (!workspace) m_failure = "no memory for cuBLASLt's workspace";
  // An address for the bias already now: without one the library may decline.
  if (workspace && describe(workspace) && choose()) return true;
  why = m_failure;
  return false;
}

void Product::run(const std::vector<const void*>& inputs, void* output) {
  if (!m_device.accepts("product", inputs, m_shape.bias ? 3 : 2, output)) return;
  m_device.makeCurrent();
  constexpr float none = 0;
  const bool done =
      (!m_shape.bias || set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, inputs[2])) &&
      passed(m_library.cublasLtMatmul(m_library.handle, m_multiply, &m_shape.scale, inputs[1], m_b, inputs[0],
                                      m_a, &none, output, m_y, output, m_y, &m_algorithm,
                                      m_device.workspace(kWorkspace), kWorkspace, m_device.stream()),
             "cublasLtMatmul");
  if (done)
    m_device.queueing("cublasLtMatmul");
  else
    m_device.fail(m_failure);
}

std::string cannotBe(const ProductShape& s) {
  if (s.m <= 0 || s.n <= 0 || s.k <= 0 || s.batch <= 0) return "the product is empty";
  if (s.batch > std::numeric_limits<std::int32_t>::max()) return "cuBLASLt counts matrices with 32 bits";
  return "";
}

}  // namespace

CublasProducts::CublasProducts() : m_library(std::make_unique<CublasLt>()) {}
CublasProducts::~CublasProducts() = default;

std::string CublasProducts::version() const {
  return m_library->usable ? versionText(m_library->cublasLtGetVersion()) : "none";
}

std::unique_ptr<Operation> CublasProducts::prepare(CudaDevice& device, const ProductShape& shape,
                                                   std::string& why) {
  why = m_library->usable ? cannotBe(shape) : m_library->file.why();
  if (!why.empty()) return nullptr;
  device.makeCurrent();
  if (!m_library->handle) {
    const cublasStatus_t status = m_library->cublasLtCreate(&m_library->handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
      why = std::string("cublasLtCreate: ") + m_library->cublasLtGetStatusName(status);
      return nullptr;
    }
  }
  auto product = std::make_unique<Product>(device, *m_library, shape);
  if (!product->prepare(why)) return nullptr;
  return product;
}

}  // namespace msdbg::core::device
