// msdbg_cuda_check MODULE [fault]: what the CUDA module computes, against the same in double. Exit status 77:
// there is no GPU. fault: also what wait() says of a kernel that writes where it must not, which ends CUDA in
// this process.
#include <dlfcn.h>

#include <limits>

#include "core_engine/cuda/check.h"
#include "core_engine/device/kernels/parameters.h"

namespace msdbg::core::device::check {

void checkOperation(Device& device, Report& report, const std::string& what, Operation& operation,
                    const std::vector<Floats>& inputs, const std::vector<double>& expected,
                    double tolerance) {
  std::vector<std::unique_ptr<OnDevice>> places;
  std::vector<const void*> arguments;
  for (const Floats& input : inputs) {
    places.push_back(std::make_unique<OnDevice>(device, input));
    arguments.push_back(places.back()->get());
  }
  const Floats unset(expected.size(), std::numeric_limits<float>::quiet_NaN());
  const OnDevice first(device, unset), second(device, unset);
  operation.run(arguments, first.get());
  operation.run(arguments, second.get());
  std::string failure;
  const Floats y = first.read(failure);
  if (!failure.empty()) return report.line(false, what, failure);
  const double error = errorOf(y, expected);
  const bool same = sameBits(y, second.read(failure));
  char number[32];
  std::snprintf(number, sizeof number, "%.1e", error);
  report.line(error <= tolerance && same && failure.empty(), what,
              std::string("error ") + number + (same ? "" : ", other bits the second time") + " [" +
                  operation.implementation() + "]");
}

namespace {

/// Sources are overwritten as soon as copyIn returns.
void checkCopies(Device& device, Report& report, std::size_t bytes, bool pinned) {
  const std::size_t count = bytes / sizeof(float);
  const Floats values = someFloats(static_cast<std::int64_t>(count), 7);
  Floats pageable(count);
  auto* host = static_cast<float*>(pinned ? device.allocatePinned(bytes) : pageable.data());
  void* a = device.allocate(bytes);
  void* b = device.allocate(bytes);
  std::memcpy(host, values.data(), bytes);
  device.copyIn(a, host, bytes);
  std::memset(host, 0, bytes);
  device.copyWithin(b, a, bytes);
  device.copyOut(host, b, bytes);
  std::string failure = device.wait();
  const bool there = std::memcmp(host, values.data(), bytes) == 0;
  device.fillZero(b, bytes);
  device.copyOut(host, b, bytes);
  failure += device.wait();
  const bool zero = Floats(host, host + count) == Floats(count, 0);
  report.line(there && zero && failure.empty(),
              "copies of " + std::to_string(bytes) + " bytes, " + (pinned ? "pinned" : "pageable"), failure);
  device.release(a);
  device.release(b);
  if (pinned) device.releasePinned(host);
}

void checkSmallCopies(Device& device, Report& report) {
  constexpr std::size_t copies = 3000, bytes = 20000;  // more than the staging memory holds
  auto* memory = static_cast<std::byte*>(device.allocate(copies * bytes));
  std::vector<std::byte> expected(copies * bytes), source(bytes), got(copies * bytes);
  for (std::size_t i = 0; i < copies; ++i) {
    std::memset(source.data(), static_cast<int>(i % 251), bytes);
    std::memcpy(&expected[i * bytes], source.data(), bytes);
    device.copyIn(memory + i * bytes, source.data(), bytes);
  }
  device.copyOut(got.data(), memory, got.size());
  const std::string failure = device.wait();
  report.line(got == expected && failure.empty(), "many small copies", failure);
  device.release(memory);
}

void checkMemory(Device& device, Report& report) {
  for (const bool pinned : {false, true})
    for (const std::size_t bytes :
         {std::size_t{4}, std::size_t{65536}, std::size_t{65540}, std::size_t{50000000}})
      checkCopies(device, report, bytes, pinned);
  checkSmallCopies(device, report);

  void* none = device.allocate(0);
  report.line(none && reinterpret_cast<std::uintptr_t>(none) % 256 == 0, "an allocation of 0 bytes");
  device.release(none);
  const bool refused = !device.allocate(std::size_t{1} << 46);
  std::string failure = device.wait();
  report.line(refused && failure.empty(), "out of memory is an answer, no failure", failure);
  const std::size_t before = device.freeBytes();
  void* some = device.allocate(std::size_t{64} << 20);
  report.line(some && device.freeBytes() + (std::size_t{32} << 20) < before, "free memory",
              std::to_string(before));
  device.release(some);
}

void checkLaunches(Device& device, Report& report) {
  report.line(!device.kernel("no_such_kernel"), "a kernel that there is none of");
  const Device::Kernel map = device.kernel("map");
  if (!map) return report.line(false, "kernel map is there");

  const Floats x = someFloats(100000, 9);
  Floats expected = x;
  for (float& value : expected) value = value <= 0 ? 0 : value;
  const OnDevice in(device, x), out(device, Floats(x.size()));
  MapParameters p{static_cast<const float*>(in.get()), static_cast<float*>(out.get()), 100000, Unary::kRelu};
  device.beginTimer();
  device.launch(map, {256, 256}, &p, sizeof p);
  p.count = 0;  // was copied
  const double seconds = device.endTimer();
  std::string failure;
  const Floats y = out.read(failure);
  report.line(sameBits(y, expected) && failure.empty(), "kernel map", failure);
  report.line(seconds > 0 && seconds < 1, "timer", std::to_string(seconds));

  for (const LaunchShape& shape : {LaunchShape{0, 32}, LaunchShape{1, 0}, LaunchShape{1, 1025}}) {
    device.launch(map, shape, &p, sizeof p);
    failure = device.wait();
    report.line(!failure.empty() && device.wait().empty(), "a launch that cannot be is said once", failure);
  }
  device.launch(map, {}, &p, 4);
  report.line(!(failure = device.wait()).empty(), "parameters of another size", failure);
}

void checkFault(Device& device, Report& report) {
  MapParameters p{nullptr, reinterpret_cast<float*>(std::uintptr_t{256}), 1, Unary::kRelu};
  device.launch(device.kernel("map"), {}, &p, sizeof p);
  const std::string failure = device.wait();
  report.line(failure.find("kernel map") != std::string::npos, "a fault names its kernel", failure);
}

int run(const char* module, bool fault) {
  void* library = dlopen(module, RTLD_NOW | RTLD_LOCAL);
  const auto open = library ? reinterpret_cast<OpenFunction>(dlsym(library, kOpenName)) : nullptr;
  if (!open) {
    std::printf("cannot open the module: %s\n", dlerror());
    return 1;
  }
  Report report;
  std::string why;
  report.line(!open(0, kAbi + 1, &why) && !why.empty(), "another interface is refused", why);
  const std::unique_ptr<Device> device(open(0, kAbi, &why));
  if (!device) {
    std::printf("skipped: %s\n", why.c_str());
    return why.find("no CUDA device") != std::string::npos ? 77 : 1;
  }
  std::printf("%s, %s", device->facts().name.c_str(), device->facts().architecture.c_str());
  for (const auto& [name, version] : device->facts().libraries)
    std::printf(", %s %s", name.c_str(), version.c_str());
  std::printf("\n");
  checkMemory(*device, report);
  checkLaunches(*device, report);
  checkProducts(*device, report);
  checkConvolutions(*device, report);
  if (fault) checkFault(*device, report);
  return report.finish();
}

}  // namespace
}  // namespace msdbg::core::device::check

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: msdbg_cuda_check MODULE [fault]\n");
    return 1;
  }
  return msdbg::core::device::check::run(argv[1], argc > 2 && std::string(argv[2]) == "fault");
}
