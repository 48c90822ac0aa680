#include "core_engine/cuda/cudnn_convolutions.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core_engine/cuda/cuda_device.h"
#include "core_engine/cuda/cudnn_library.h"

namespace msdbg::core::device {
namespace {

using What = ConvolutionShape::What;

constexpr std::size_t kMostWorkspace = std::size_t{256} << 20;
constexpr float kOne = 1, kNone = 0;

const char* nameOf(What what, int algorithm) {
  static constexpr const char* kForward[] = {
      "implicit gemm", "implicit precomputed gemm", "gemm", "direct", "fft", "tiled fft",
      "winograd",      "separate winograd"};
  static constexpr const char* kInput[] = {"0", "1", "fft", "tiled fft", "winograd", "separate winograd"};
  static constexpr const char* kWeight[] = {"0",        "1", "fft", "3", "winograd", "separate winograd",
                                            "tiled fft"};
  const auto at = static_cast<std::size_t>(algorithm);
  switch (what) {
    case What::kForward:
      return at < std::size(kForward) ? kForward[at] : "?";
    case What::kInputGradient:
      return at < std::size(kInput) ? kInput[at] : "?";
    case What::kWeightGradient:
      return at < std::size(kWeight) ? kWeight[at] : "?";
  }
  return "?";
}

class Convolution : public Operation {
 public:
  Convolution(CudaDevice& device, Cudnn& library, const ConvolutionShape& shape)
      : m_device(device), m_library(library), m_shape(shape) {}
  ~Convolution() override;

  std::string implementation() const override;
  void run(const std::vector<const void*>& inputs, void* output) override;
  bool prepare(std::string& why);

 private:
  bool describe();
  bool outputFits();
  bool choose();
  template <typename Result, typename Ask, typename Size>
  bool chooseFrom(Ask ask, Size size);
  bool compute(const std::vector<const void*>& inputs, void* output, void* workspace);
  bool tensor(cudnnTensorDescriptor_t& tensor, std::int64_t n, std::int64_t c, std::int64_t h,
              std::int64_t w);
  bool passed(cudnnStatus_t status, const char* call);

  CudaDevice& m_device;
  Cudnn& m_library;
  ConvolutionShape m_shape;
  cudnnTensorDescriptor_t m_x = nullptr, m_y = nullptr, m_bias = nullptr;
  cudnnFilterDescriptor_t m_w = nullptr;
  cudnnConvolutionDescriptor_t m_convolution = nullptr;
  int m_algorithm = 0;
  std::size_t m_workspace = 0;
  std::string m_failure;
};

Convolution::~Convolution() {
  for (const cudnnTensorDescriptor_t tensor : {m_x, m_y, m_bias})
    if (tensor) m_library.cudnnDestroyTensorDescriptor(tensor);
  if (m_w) m_library.cudnnDestroyFilterDescriptor(m_w);
  if (m_convolution) m_library.cudnnDestroyConvolutionDescriptor(m_convolution);
}

bool Convolution::passed(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return true;
  m_failure = std::string(call) + ": " + m_library.cudnnGetErrorString(status);
  return false;
}

// --- what is computed ---

bool Convolution::tensor(cudnnTensorDescriptor_t& tensor, std::int64_t n, std::int64_t c, std::int64_t h,
                         std::int64_t w) {
  return passed(m_library.cudnnCreateTensorDescriptor(&tensor), "cudnnCreateTensorDescriptor") &&
         passed(m_library.cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT,
                                                     static_cast<int>(n), static_cast<int>(c),
                                                     static_cast<int>(h), static_cast<int>(w)),
                "cudnnSetTensor4dDescriptor");
}

bool Convolution::describe() {
  const ConvolutionShape& s = m_shape;
  const auto i = [](std::int64_t value) { return static_cast<int>(value); };
  return tensor(m_x, s.images, s.channels, s.inH, s.inW) &&
         tensor(m_y, s.images, s.outputs, s.outH, s.outW) &&
         (!s.bias || tensor(m_bias, 1, s.outputs, 1, 1)) &&
         passed(m_library.cudnnCreateFilterDescriptor(&m_w), "cudnnCreateFilterDescriptor") &&
         passed(m_library.cudnnSetFilter4dDescriptor(m_w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, i(s.outputs),
                                                     i(s.channels / s.groups), i(s.kernelH), i(s.kernelW)),
                "cudnnSetFilter4dDescriptor") &&
         passed(m_library.cudnnCreateConvolutionDescriptor(&m_convolution),
                "cudnnCreateConvolutionDescriptor") &&
         passed(m_library.cudnnSetConvolution2dDescriptor(
                    m_convolution, i(s.padTop), i(s.padLeft), i(s.strideH), i(s.strideW), i(s.dilationH),
                    i(s.dilationW), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                "cudnnSetConvolution2dDescriptor") &&
         passed(m_library.cudnnSetConvolutionGroupCount(m_convolution, i(s.groups)),
                "cudnnSetConvolutionGroupCount") &&
         passed(m_library.cudnnSetConvolutionMathType(m_convolution, CUDNN_FMA_MATH),
                "cudnnSetConvolutionMathType");
}

/// cuDNN pads alike on both sides. Padding below and at the right only decides how many outputs there are:
/// where that comes out the same, so does the rest.
bool Convolution::outputFits() {
  int n = 0, c = 0, h = 0, w = 0;
  if (!passed(m_library.cudnnGetConvolution2dForwardOutputDim(m_convolution, m_x, m_w, &n, &c, &h, &w),
              "cudnnGetConvolution2dForwardOutputDim"))
    return false;
  if (n == m_shape.images && c == m_shape.outputs && h == m_shape.outH && w == m_shape.outW) return true;
  m_failure = m_shape.padTop != m_shape.padBottom || m_shape.padLeft != m_shape.padRight
                  ? "cuDNN pads alike on both sides"
                  : "cuDNN counts other outputs";
  return false;
}

// --- which algorithm ---

/// The math type of the descriptor stays what it is: FMA. So algorithms of tensor cores are none for us.
template <typename Result, typename Ask, typename Size>
bool Convolution::chooseFrom(Ask ask, Size size) {
  std::array<Result, 16> results{};
  int found = 0;
  if (!passed(ask(static_cast<int>(results.size()), &found, results.data()),
              "cuDNN's choice of an algorithm"))
    return false;
  for (int i = 0; i < found; ++i) {
    const Result& result = results[static_cast<std::size_t>(i)];
    const bool plain = result.mathType == CUDNN_FMA_MATH || result.mathType == CUDNN_DEFAULT_MATH;
    if (result.status != CUDNN_STATUS_SUCCESS || result.determinism != CUDNN_DETERMINISTIC || !plain)
      continue;
    if (size(result.algo, &m_workspace) != CUDNN_STATUS_SUCCESS || m_workspace > kMostWorkspace) continue;
    m_algorithm = static_cast<int>(result.algo);
    return true;
  }
  m_failure = "cuDNN has no deterministic algorithm for it that needs little memory";
  return false;
}

bool Convolution::choose() {
  Cudnn& c = m_library;
  switch (m_shape.what) {
    case What::kForward:
      return chooseFrom<cudnnConvolutionFwdAlgoPerf_t>(
          [&](auto... to) {
            return c.cudnnGetConvolutionForwardAlgorithm_v7(c.handle, m_x, m_w, m_convolution, m_y, to...);
          },
          [&](auto... to) {
            return c.cudnnGetConvolutionForwardWorkspaceSize(c.handle, m_x, m_w, m_convolution, m_y, to...);
          });
    case What::kInputGradient:
      return chooseFrom<cudnnConvolutionBwdDataAlgoPerf_t>(
          [&](auto... to) {
            return c.cudnnGetConvolutionBackwardDataAlgorithm_v7(c.handle, m_w, m_y, m_convolution, m_x,
                                                                 to...);
          },
          [&](auto... to) {
            return c.cudnnGetConvolutionBackwardDataWorkspaceSize(c.handle, m_w, m_y, m_convolution, m_x,
                                                                  to...);
          });
    case What::kWeightGradient:
      return chooseFrom<cudnnConvolutionBwdFilterAlgoPerf_t>(
          [&](auto... to) {
            return c.cudnnGetConvolutionBackwardFilterAlgorithm_v7(c.handle, m_x, m_y, m_convolution, m_w,
                                                                   to...);
          },
          [&](auto... to) {
            return c.cudnnGetConvolutionBackwardFilterWorkspaceSize(c.handle, m_x, m_y, m_convolution, m_w,
                                                                    to...);
          });
  }
  return false;
}

bool Convolution::prepare(std::string& why) {
  if (describe() && outputFits() && choose()) {
    // Not the next algorithm, which would need less: how much memory is free must not decide bits.
    if (m_workspace == 0 || m_device.workspace(m_workspace)) return true;
    m_failure = "no memory for cuDNN's workspace of " + std::to_string(m_workspace) + " bytes";
  }
  why = m_failure;
  return false;
}

std::string Convolution::implementation() const {
  return "cudnn: algo " + std::to_string(m_algorithm) + " (" + nameOf(m_shape.what, m_algorithm) +
         "), workspace " + std::to_string(m_workspace);
}

// --- computing ---

bool Convolution::compute(const std::vector<const void*>& in, void* out, void* workspace) {
  Cudnn& c = m_library;
  switch (m_shape.what) {
    case What::kForward:
      return passed(c.cudnnConvolutionForward(c.handle, &kOne, m_x, in[0], m_w, in[1], m_convolution,
                                              static_cast<cudnnConvolutionFwdAlgo_t>(m_algorithm), workspace,
                                              m_workspace, &kNone, m_y, out),
                    "cudnnConvolutionForward") &&
             (!m_shape.bias ||
              passed(c.cudnnAddTensor(c.handle, &kOne, m_bias, in[2], &kOne, m_y, out), "cudnnAddTensor"));
    case What::kInputGradient:
      return passed(c.cudnnConvolutionBackwardData(c.handle, &kOne, m_w, in[1], m_y, in[0], m_convolution,
                                                   static_cast<cudnnConvolutionBwdDataAlgo_t>(m_algorithm),
                                                   workspace, m_workspace, &kNone, m_x, out),
                    "cudnnConvolutionBackwardData");
    case What::kWeightGradient:
      return passed(
          c.cudnnConvolutionBackwardFilter(c.handle, &kOne, m_x, in[1], m_y, in[0], m_convolution,
                                           static_cast<cudnnConvolutionBwdFilterAlgo_t>(m_algorithm),
                                           workspace, m_workspace, &kNone, m_w, out),
          "cudnnConvolutionBackwardFilter");
  }
  return false;
}

void Convolution::run(const std::vector<const void*>& inputs, void* output) {
  if (!m_device.accepts("convolution", inputs, m_shape.bias ? 3 : 2, output)) return;
  m_device.makeCurrent();
  if (compute(inputs, output, m_workspace ? m_device.workspace(m_workspace) : nullptr))
    m_device.queueing("a convolution of cuDNN");
  else
    m_device.fail(m_failure);
}

std::string cannotBe(const ConvolutionShape& s) {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  for (const std::int64_t size : {s.images, s.channels, s.inH, s.inW, s.outputs, s.kernelH, s.kernelW, s.outH,
                                  s.outW, s.strideH, s.strideW, s.dilationH, s.dilationW, s.groups})
    if (size <= 0 || size > most) return size <= 0 ? "the convolution is empty" : "cuDNN counts with 32 bits";
  if (std::min(s.padTop, s.padLeft) < 0 || std::max(s.padTop, s.padLeft) > most)
    return "cuDNN cannot pad like that";
  if (s.channels % s.groups != 0 || s.outputs % s.groups != 0)
    return "channels do not divide into the groups";
  if (s.bias && s.what != What::kForward) return "a gradient has no bias";
  return "";
}

bool openHandle(Cudnn& library, CudaDevice& device, std::string& why) {
  if (library.handle) return true;
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t status = library.cudnnCreate(&handle);
  if (status == CUDNN_STATUS_SUCCESS) status = library.cudnnSetStream(handle, device.stream());
  if (status == CUDNN_STATUS_SUCCESS) {
    library.handle = handle;
    return true;
  }
  if (handle) library.cudnnDestroy(handle);
  why = std::string("cudnnCreate: ") + library.cudnnGetErrorString(status);
  return false;
}

}  // namespace

CudnnConvolutions::CudnnConvolutions() : m_library(std::make_unique<Cudnn>()) {}
CudnnConvolutions::~CudnnConvolutions() = default;

std::string CudnnConvolutions::version() const {
  return m_library->usable ? versionText(m_library->cudnnGetVersion()) : "none";
}

std::unique_ptr<Operation> CudnnConvolutions::prepare(CudaDevice& device, const ConvolutionShape& shape,
                                                      std::string& why) {
  why = m_library->usable ? cannotBe(shape) : m_library->file.why();
  if (!why.empty()) return nullptr;
  device.makeCurrent();
  if (!openHandle(*m_library, device, why)) return nullptr;
  auto convolution = std::make_unique<Convolution>(device, *m_library, shape);
  if (!convolution->prepare(why)) return nullptr;
  return convolution;
}

}  // namespace msdbg::core::device
