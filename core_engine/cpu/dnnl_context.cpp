#include <omp.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <unordered_map>

#include "core_engine/cpu/dnnl_internal.h"

namespace msdbg::core::cpu {
namespace {

constexpr std::size_t kPage = 4096;

std::size_t wholePages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

dnnl::memory::dims dimsOf(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

/// One argument at run time. `user` points at the node's tensor; `inner`, in work memory, exists where
/// formats differ.
struct Port {
  DnnlArgument argument;
  dnnl::memory user, inner, scratchpad;
  std::optional<dnnl::reorder> reorder;  // user -> inner of inputs, inner -> user of outputs
  std::size_t offset = 0;                // of inner in the work memory

  Port(DnnlContext& context, const DnnlArgument& a)
      : argument(a), user(a.plain, context.engine(), DNNL_MEMORY_NONE) {
    inner = user;
    if (a.plain == a.wanted) return;
    inner = dnnl::memory(a.wanted, context.engine(), DNNL_MEMORY_NONE);
    const auto& [from, to] = a.output ? std::pair{inner, user} : std::pair{user, inner};
    const dnnl::reorder::primitive_desc description(from, to, userScratchpad());
    scratchpad = dnnl::memory(description.scratchpad_desc(), context.engine(), DNNL_MEMORY_NONE);
    reorder = dnnl::reorder(description);
  }
  void runReorder(dnnl::stream& stream) {
    if (!reorder) return;
    reorder->execute(stream, {{DNNL_ARG_FROM, argument.output ? inner : user},
                              {DNNL_ARG_TO, argument.output ? user : inner},
                              {DNNL_ARG_SCRATCHPAD, scratchpad}});
  }
};

class DnnlKernel : public KernelImpl {
 public:
  DnnlKernel(const CompileRequest& request, const dnnl::primitive& primitive,
             const dnnl::memory::desc& scratchpad, const std::vector<DnnlArgument>& arguments,
             const std::string& suffix, std::string implementation)
      : m_name("dnnl:" + request.node.opType + suffix),
        m_implementation(std::move(implementation)),
        m_threads(request.threads),
        m_context(request.dnnl),
        m_primitive(primitive),
        m_scratchpad(scratchpad, request.dnnl->engine(), DNNL_MEMORY_NONE) {
    for (const DnnlArgument& a : arguments) m_ports.emplace_back(*m_context, a);
    layOutWork();
    for (const Port& p : m_ports) m_arguments.emplace(p.argument.id, p.inner);
    m_arguments.emplace(DNNL_ARG_SCRATCHPAD, m_scratchpad);
  }

  std::string name() const override { return m_name; }
  std::string implementation() const override { return m_implementation; }

  Status run(const KernelArgs& args) override {
    const OmpThreads threads(m_threads);
    try {
      pointIntoWork();
      for (Port& p : m_ports) p.user.set_data_handle(dataOf(args, p.argument));
      execute();
    } catch (const dnnl::error& e) {
      return Error(ErrorCode::kInternal, args.node.name + ": oneDNN failed: " + e.what());
    }
    return Ok{};
  }

 private:
  /// Scratchpads come first and share their place: only one is in use at a time.
  void layOutWork() {
    std::size_t end = m_scratchpad.get_desc().get_size();
    for (const Port& p : m_ports)
      if (p.reorder) end = std::max(end, p.scratchpad.get_desc().get_size());
    for (Port& p : m_ports) {
      if (!p.reorder) continue;
      p.offset = wholePages(end);
      end = p.offset + p.inner.get_desc().get_size();
    }
    m_context->reserveWork(end);
  }

  /// set_data_handle() also clears the padding of blocked formats: only needed when the work memory has
  /// moved.
  void pointIntoWork() {
    std::byte* work = m_context->work();
    if (work == m_work) return;
    m_work = work;
    m_scratchpad.set_data_handle(work);
    for (Port& p : m_ports) {
      if (!p.reorder) continue;
      p.scratchpad.set_data_handle(work);
      p.inner.set_data_handle(work + p.offset);
    }
  }

  /// oneDNN wants a writable pointer for inputs too; it does not write there.
  static void* dataOf(const KernelArgs& args, const DnnlArgument& a) {
    return a.output ? args.outputs[a.tensor]->raw() : const_cast<void*>(args.inputs[a.tensor]->raw());
  }

  void execute() {
    dnnl::stream& stream = m_context->stream();
    for (Port& p : m_ports)
      if (!p.argument.output) p.runReorder(stream);
    m_primitive.execute(stream, m_arguments);
    for (Port& p : m_ports)
      if (p.argument.output) p.runReorder(stream);
    stream.wait();
  }

  std::string m_name, m_implementation;
  int m_threads;
  std::shared_ptr<DnnlContext> m_context;
  dnnl::primitive m_primitive;
  dnnl::memory m_scratchpad;
  std::vector<Port> m_ports;
  std::unordered_map<int, dnnl::memory> m_arguments;
  std::byte* m_work = nullptr;
};

}  // namespace

void DnnlContext::Free::operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{kPage}); }

void DnnlContext::reserveWork(std::size_t bytes) { m_wanted = std::max(m_wanted, wholePages(bytes) + kPage); }

std::byte* DnnlContext::work() {
  if (m_allocated < m_wanted) {
    m_work.reset(static_cast<std::byte*>(::operator new (m_wanted, std::align_val_t{kPage})));
    m_allocated = m_wanted;
  }
  return m_work.get();
}

OmpThreads::OmpThreads(int threads) : m_before(omp_get_max_threads()) {
  if (m_before != threads) omp_set_num_threads(threads);
}
OmpThreads::~OmpThreads() {
  if (omp_get_max_threads() != m_before) omp_set_num_threads(m_before);
}

dnnl::memory::desc rowMajor(const Shape& shape) {
  return {dimsOf(shape), dnnl::memory::data_type::f32, shape.strides()};
}
dnnl::memory::desc lyingAs(const Shape& shape, Layout layout) {
  if (layout == Layout::kRowMajor) return rowMajor(shape);
  return {dimsOf(shape), dnnl::memory::data_type::f32, dnnl::memory::format_tag::nChw16c};
}
bool hasAvx512Convolutions() {
  const auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);  // values are sets of features
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}
dnnl::memory::desc anyFormat(const Shape& shape) {
  return {dimsOf(shape), dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
}
dnnl::primitive_attr userScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Backend::Answer dnnlKernel(const CompileRequest& request, const dnnl::primitive& primitive,
                           const std::string& implementation, const dnnl::memory::desc& scratchpad,
                           std::vector<DnnlArgument> arguments, const std::string& suffix) {
  if (implementation.find("ref") != std::string::npos)
    return decline("oneDNN has only its slow reference implementation (" + implementation +
                   ") for these shapes");
  return {std::make_unique<DnnlKernel>(request, primitive, scratchpad, arguments, suffix, implementation),
          ""};
}

}  // namespace msdbg::core::cpu
