#include "core_engine/cuda/cuda_device.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "core_engine/cuda/cublas_products.h"
#include "core_engine/cuda/cuda_sequence.h"
#include "core_engine/cuda/cudnn_convolutions.h"
#include "core_engine/cuda/kernels.h"

namespace msdbg::core::device {
namespace {

constexpr std::uint32_t kMostThreads = 1024;
constexpr std::uintptr_t kOperationAlignment = 16;  // what kernels of the libraries load at once

/// 13000 -> "13.0"
std::string runtimeVersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// What a call can refuse by itself; all else may come from work that was queued before.
bool isOfTheCall(cudaError_t status) {
  switch (status) {
    case cudaErrorInvalidValue:
    case cudaErrorMemoryAllocation:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorNoKernelImageForDevice:
      return true;
    default:
      return false;
  }
}

template <typename Prepare>
std::unique_ptr<Operation> prepared(std::string& why, Prepare prepare) {
  try {
    return prepare();
  } catch (const std::exception& e) {
    why = e.what();
    return nullptr;
  }
}

}  // namespace

CudaDevice::CudaDevice(int ordinal) : m_ordinal(ordinal) {}

std::unique_ptr<CudaDevice> CudaDevice::open(int number, std::string& why) {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess || count == 0) {
    why = "there is no CUDA device here: " +
          std::string(status == cudaErrorInsufficientDriver
                          ? "no NVIDIA driver, or one that is too old"
                          : cudaGetErrorString(status == cudaSuccess ? cudaErrorNoDevice : status));
    return nullptr;
  }
  std::unique_ptr<CudaDevice> device(new CudaDevice((number % count + count) % count));
  if (!device->prepare(why)) return nullptr;
  return device;
}

bool CudaDevice::prepare(std::string& why) {
  cudaDeviceProp properties{};
  cudaFuncAttributes attributes{};
  if (passed(cudaSetDevice(m_ordinal), "cudaSetDevice") &&
      passed(cudaGetDeviceProperties(&properties, m_ordinal), "cudaGetDeviceProperties") &&
      // no code for this GPU: better said now than at the first kernel
      passed(cudaFuncGetAttributes(&attributes, firstKernel().function), "cudaFuncGetAttributes") &&
      passed(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking), "cudaStreamCreate") &&
      passed(cudaEventCreate(&m_begin), "cudaEventCreate") &&
      passed(cudaEventCreate(&m_end), "cudaEventCreate") &&
      passed(m_staging.open(m_stream), "pinned memory for copies")) {
    m_products = std::make_unique<CublasProducts>();
    m_convolutions = std::make_unique<CudnnConvolutions>();
    findFacts(properties);
    return true;
  }
  why = m_failure;
  return false;
}

void CudaDevice::findFacts(const cudaDeviceProp& properties) {
  int driver = 0, runtime = 0;
  passed(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  passed(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  m_facts.name = properties.name;
  m_facts.architecture = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
  m_facts.libraries = {{"driver", runtimeVersionText(driver)},
                       {"runtime", runtimeVersionText(runtime)},
                       {"cublasLt", m_products->version()},
                       {"cudnn", m_convolutions->version()}};
}

CudaDevice::~CudaDevice() {
  makeCurrent();
  if (m_stream) cudaStreamSynchronize(m_stream);
  m_convolutions.reset();
  m_products.reset();
  cudaFree(m_workspace);
  if (m_begin) cudaEventDestroy(m_begin);
  if (m_end) cudaEventDestroy(m_end);
  if (m_stream) cudaStreamDestroy(m_stream);
}

// --- failures ---

void CudaDevice::fail(const std::string& what) {
  if (m_failure.empty()) m_failure = "CUDA: " + what;
}

bool CudaDevice::passed(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return true;
  cudaGetLastError();  // said here: not to be found once more by wait()
  std::string where = call;
  if (m_last && !isOfTheCall(status))
    where += std::string(where.empty() ? "" : ", ") + "in or before " + m_last;
  fail(cudaGetErrorString(status) + (where.empty() ? "" : " (" + where + ")"));
  return false;
}

std::string CudaDevice::wait() {
  makeCurrent();
  if (passed(cudaStreamSynchronize(m_stream), m_last ? "" : "cudaStreamSynchronize"))
    passed(cudaGetLastError(), "a call before");
  m_last = nullptr;
  return std::exchange(m_failure, {});
}

void CudaDevice::makeCurrent() { passed(cudaSetDevice(m_ordinal), "cudaSetDevice"); }

// --- memory ---

void* CudaDevice::allocate(std::size_t bytes) {
  makeCurrent();
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, std::max<std::size_t>(bytes, 1));
  if (status == cudaSuccess) return memory;
  if (status == cudaErrorMemoryAllocation)
    cudaGetLastError();  // the answer says it
  else
    passed(status, "cudaMalloc");
  return nullptr;
}

void CudaDevice::release(void* memory) {
  makeCurrent();
  passed(cudaFree(memory), "cudaFree");
}

void* CudaDevice::allocatePinned(std::size_t bytes) {
  makeCurrent();
  void* memory = nullptr;
  const cudaError_t status = cudaMallocHost(&memory, std::max<std::size_t>(bytes, 1));
  if (status == cudaSuccess) return memory;
  if (status == cudaErrorMemoryAllocation)
    cudaGetLastError();
  else
    passed(status, "cudaMallocHost");
  return nullptr;
}

void CudaDevice::releasePinned(void* memory) {
  makeCurrent();
  passed(cudaFreeHost(memory), "cudaFreeHost");
}

std::size_t CudaDevice::freeBytes() {
  makeCurrent();
  std::size_t free = 0, total = 0;
  return passed(cudaMemGetInfo(&free, &total), "cudaMemGetInfo") ? free : 0;
}

void* CudaDevice::workspace(std::size_t bytes) {
  if (bytes <= m_workspaceBytes) return m_workspace;
  // What is queued may still use the old one; cudaFree waits for it.
  release(std::exchange(m_workspace, nullptr));
  m_workspaceBytes = 0;
  m_workspace = allocate(bytes);
  if (m_workspace) m_workspaceBytes = bytes;
  return m_workspace;
}

// --- copies ---

void CudaDevice::copyIn(void* to, const void* fromHost, std::size_t bytes) {
  makeCurrent();
  passed(m_staging.copy(to, fromHost, bytes), "copy to the device");
}

void CudaDevice::copyOut(void* toHost, const void* from, std::size_t bytes) {
  makeCurrent();
  if (bytes > 0)
    passed(cudaMemcpyAsync(toHost, from, bytes, cudaMemcpyDeviceToHost, m_stream), "copy from the device");
}

void CudaDevice::copyWithin(void* to, const void* from, std::size_t bytes) {
  makeCurrent();
  if (bytes > 0)
    passed(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, m_stream), "copy within the device");
}

void CudaDevice::fillZero(void* to, std::size_t bytes) {
  makeCurrent();
  if (bytes > 0) passed(cudaMemsetAsync(to, 0, bytes, m_stream), "fill");
}

// --- kernels ---

Device::Kernel CudaDevice::kernel(const char* name) { return findKernel(name); }

void CudaDevice::launch(Kernel kernel, const LaunchShape& shape, const void* parameters, std::size_t bytes) {
  if (!kernel) return fail("launch of a kernel that there is none of");
  const auto& entry = *static_cast<const KernelEntry*>(kernel);
  if (shape.blocks == 0 || shape.threads == 0 || shape.threads > kMostThreads)
    return fail("launch of " + std::to_string(shape.blocks) + " blocks of " + std::to_string(shape.threads) +
                " threads (" + entry.label + ")");
  if (bytes != entry.parameterBytes)
    return fail("parameters of " + std::to_string(bytes) + " bytes instead of " +
                std::to_string(entry.parameterBytes) + " (" + entry.label + ")");
  makeCurrent();
  void* arguments[] = {const_cast<void*>(parameters)};  // the call copies what they point to
  const cudaError_t status =
      cudaLaunchKernel(entry.function, dim3(shape.blocks), dim3(shape.threads), arguments, 0, m_stream);
  if (passed(status, isOfTheCall(status) ? entry.label : "launch")) m_last = entry.label;
}

void CudaDevice::beginSequence() {
  makeCurrent();
  passed(cudaStreamBeginCapture(m_stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
}

std::unique_ptr<Sequence> CudaDevice::endSequence(std::string& why) {
  makeCurrent();
  cudaGraph_t graph = nullptr;
  if (const cudaError_t status = cudaStreamEndCapture(m_stream, &graph); status != cudaSuccess || !graph) {
    cudaGetLastError();
    why = std::string("cudaStreamEndCapture: ") + cudaGetErrorString(status);
    return nullptr;
  }
  return CudaSequence::make(*this, graph, why);
}

// --- operations of libraries ---

bool CudaDevice::accepts(const char* what, const std::vector<const void*>& inputs, std::size_t wanted,
                         const void* output) {
  if (inputs.size() != wanted) {
    fail(std::string(what) + ": " + std::to_string(inputs.size()) + " inputs instead of " +
         std::to_string(wanted));
    return false;
  }
  const auto usable = [](const void* p) {
    return p && reinterpret_cast<std::uintptr_t>(p) % kOperationAlignment == 0;
  };
  if (std::all_of(inputs.begin(), inputs.end(), usable) && usable(output)) return true;
  fail(std::string(what) + ": an argument is missing or not aligned at 16 bytes");
  return false;
}

std::unique_ptr<Operation> CudaDevice::product(const ProductShape& shape, std::string& why) {
  return prepared(why, [&] { return m_products->prepare(*this, shape, why); });
}

std::unique_ptr<Operation> CudaDevice::convolution(const ConvolutionShape& shape, std::string& why) {
  return prepared(why, [&] { return m_convolutions->prepare(*this, shape, why); });
}

// --- timer ---

void CudaDevice::beginTimer() {
  makeCurrent();
  passed(cudaEventRecord(m_begin, m_stream), "cudaEventRecord");
}

double CudaDevice::endTimer() {
  makeCurrent();
  float milliseconds = 0;
  const bool done = passed(cudaEventRecord(m_end, m_stream), "cudaEventRecord") &&
                    passed(cudaEventSynchronize(m_end), "cudaEventSynchronize") &&
                    passed(cudaEventElapsedTime(&milliseconds, m_begin, m_end), "cudaEventElapsedTime");
  return done ? static_cast<double>(milliseconds) / 1000 : 0;
}

}  // namespace msdbg::core::device
