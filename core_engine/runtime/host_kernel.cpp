#include "core_engine/runtime/host_kernel.h"

#include "core_engine/runtime/host_view.h"

namespace msdbg::core {
namespace {

class HostKernel : public KernelImpl {
 public:
  HostKernel(std::unique_ptr<KernelImpl> kernel, DeviceMemory& device)
      : m_kernel(std::move(kernel)), m_view(&device) {}

  std::string name() const override { return m_kernel->name(); }
  std::string implementation() const override { return m_kernel->implementation(); }
  Status run(const KernelArgs& args) override {
    return m_view.onHost(args.inputs, args.outputs,
                         [&](std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs) {
                           return m_kernel->run({args.node, inputs, outputs, args.state});
                         });
  }

 private:
  std::unique_ptr<KernelImpl> m_kernel;
  HostView m_view;
};

}  // namespace

std::unique_ptr<KernelImpl> onDevice(std::unique_ptr<KernelImpl> hostKernel, DeviceMemory& device) {
  return std::make_unique<HostKernel>(std::move(hostKernel), device);
}

}  // namespace msdbg::core
