// Device: what a GPU is to the engine. Only plain arguments: no header of CUDA and no type of the engine
// crosses it, so that a module which is opened at run time implements it (core_engine/cuda), and an emulated
// device (emulated/) does so without a GPU. Work is queued and done in order; what fails is kept and said by
// wait(). Used from one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace msdbg::core::device {

/// What decides bits and what a report names.
struct DeviceFacts {
  std::string name;                                            // "NVIDIA H200"
  std::string architecture;                                    // "sm_90"
  std::vector<std::pair<std::string, std::string>> libraries;  // "driver" -> "13.0", "cublasLt" -> "13.0.2"
};

/// Of a one-dimensional grid.
struct LaunchShape {
  std::uint32_t blocks = 1, threads = 1;  // threads of a block: at most 1024
};

/// y[b] = scale * op(a[b]) * op(b[b]) (+ bias, a row of n), float32, row-major; `batch` of them, where a
/// stride of 0 (in elements) takes one matrix for all.
struct ProductShape {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  std::int64_t strideA = 0, strideB = 0;
  bool transposeA = false, transposeB = false, bias = false;
  float scale = 1;
};

/// A convolution of [images, channels, inH, inW] with [outputs, channels / groups, kernelH, kernelW],
/// float32.
struct ConvolutionShape {
  enum class What { kForward, kInputGradient, kWeightGradient } what = What::kForward;
  std::int64_t images = 1, channels = 1, inH = 1, inW = 1;
  std::int64_t outputs = 1, kernelH = 1, kernelW = 1, outH = 1, outW = 1;
  std::int64_t padTop = 0, padLeft = 0, padBottom = 0, padRight = 0;
  std::int64_t strideH = 1, strideW = 1, dilationH = 1, dilationW = 1, groups = 1;
  bool bias = false;  // of the forward pass, [outputs]
};

/// An operation of a library, prepared once. Arguments are addresses on the device.
class Operation {
 public:
  virtual ~Operation() = default;
  /// What the library chose, which decides bits: "cublasLt: algo 23, tile 20, …".
  virtual std::string implementation() const = 0;
  /// Inputs in the order of the operator (a, b, bias; x, w, bias; dy, w; dy, x), then the output.
  virtual void run(const std::vector<const void*>& inputs, void* output) = 0;
};

/// Launches, operations, copies within the device and fills that were queued once, to be done again as they
/// are.
class Sequence {
 public:
  virtual ~Sequence() = default;
  virtual void run() = 0;  // queues it
};

class Device {
 public:
  using Kernel = const void*;

  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;

  /// At 256 bytes at least; nullptr: there is none.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void* allocatePinned(std::size_t bytes) = 0;
  virtual void releasePinned(void* memory) = 0;
  virtual std::size_t freeBytes() = 0;

  virtual void copyIn(void* to, const void* fromHost,
                      std::size_t bytes) = 0;  // what it reads may change afterwards
  virtual void copyOut(void* toHost, const void* from, std::size_t bytes) = 0;  // there after wait()
  virtual void copyWithin(void* to, const void* from, std::size_t bytes) = 0;
  virtual void fillZero(void* to, std::size_t bytes) = 0;
  /// Until all is done. "" or what went wrong since the last call, with the kernel where that is known.
  virtual std::string wait() = 0;

  /// By its name in kernels/kernel_list.h; nullptr: there is none.
  virtual Kernel kernel(const char* name) = 0;
  /// `parameters`: the kernel's one argument, of so many bytes; copied.
  virtual void launch(Kernel kernel, const LaunchShape& shape, const void* parameters, std::size_t bytes) = 0;

  /// From here on nothing is done, but kept: no copies from or to the host, no memory, no wait() until the
  /// end, which gives it; nullptr and why not.
  virtual void beginSequence() = 0;
  virtual std::unique_ptr<Sequence> endSequence(std::string& why) = 0;

  /// Arguments lie at 16 bytes. An operation goes before its device. nullptr and why not.
  virtual std::unique_ptr<Operation> product(const ProductShape& shape, std::string& why) = 0;
  virtual std::unique_ptr<Operation> convolution(const ConvolutionShape& shape, std::string& why) = 0;

  /// Seconds that the device spent between two marks of begin and end.
  virtual void beginTimer() = 0;
  virtual double endTimer() = 0;  // waits
};

/// What the module exports, under the name kOpenName: the device of that number modulo how many there are;
/// nullptr and why not. `abi` is kAbi of the caller, another one is refused.
using OpenFunction = Device* (*)(int number, int abi, std::string* why);
inline constexpr char kOpenName[] = "msdbgOpenDevice";
inline constexpr int kAbi = 2;

}  // namespace msdbg::core::device
