// What the oneDNN kernels share. A primitive and its reorders are created once, in compile(); run() only
// points memory objects at tensors and executes. Scratchpads and tensors in oneDNN's own (blocked) formats
// lie in one piece of work memory per backend, sized to the kernel that needs most: kernels run one after
// another. Used from the training thread only; kernels share ownership of the context. Private: includes
// dnnl.hpp.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <vector>

#include "core_engine/cpu/kernel_factory.h"

namespace msdbg::core::cpu {

class DnnlContext {
 public:
  const dnnl::engine& engine() const { return m_engine; }
  dnnl::stream& stream() { return m_stream; }
  void reserveWork(std::size_t bytes);  // at compile time
  std::byte* work();                    // page-aligned; contents do not outlive a run()

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  dnnl::engine m_engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream m_stream{m_engine};
  std::size_t m_wanted = 0, m_allocated = 0;
  std::unique_ptr<std::byte, Free> m_work;
};

/// oneDNN takes the OpenMP default as its thread count, both when a primitive is created and when it runs.
class OmpThreads {
 public:
  explicit OmpThreads(int threads);
  ~OmpThreads();
  OmpThreads(const OmpThreads&) = delete;
  OmpThreads& operator=(const OmpThreads&) = delete;

 private:
  int m_before;
};

/// One tensor of a primitive: input or output `tensor` of the node, row-major at our side, `wanted` at
/// oneDNN's.
struct DnnlArgument {
  int id;  // DNNL_ARG_...
  bool output;
  std::size_t tensor;
  dnnl::memory::desc plain, wanted;
};

dnnl::memory::desc rowMajor(const Shape& shape);
/// Of a tensor as it lies.
dnnl::memory::desc lyingAs(const Shape& shape, Layout layout);
/// Whether convolutions want channels of 16: oneDNN uses AVX-512.
bool hasAvx512Convolutions();
/// Any format that oneDNN likes best.
dnnl::memory::desc anyFormat(const Shape& shape);
dnnl::primitive_attr userScratchpad();

/// Wraps the primitive; named "dnnl:<opType><suffix>". Declines oneDNN's own reference implementations
/// (slower than ours).
Backend::Answer dnnlKernel(const CompileRequest& request, const dnnl::primitive& primitive,
                           const std::string& implementation, const dnnl::memory::desc& scratchpad,
                           std::vector<DnnlArgument> arguments, const std::string& suffix = "");

/// f() -> Answer with the kernel's thread count set; what oneDNN throws becomes the reason for declining.
template <typename F>
Backend::Answer compileDnnl(const CompileRequest& request, const F& f) {
  const OmpThreads threads(request.threads);
  try {
    return f();
  } catch (const dnnl::error& e) {
    return decline(std::string("oneDNN: ") + e.what());
  }
}

}  // namespace msdbg::core::cpu
