// Tensors on a device: what the host may not touch, what does not fit, what comes and goes.
#include <catch2/catch.hpp>

#include "core_engine/device/device_context.h"
#include "core_engine/device/emulated/emulated_device.h"
#include "core_engine/device/kernels/parameters.h"

using namespace msdbg::core;
using namespace msdbg::core::device;
using Catch::Matchers::Contains;

namespace {

std::shared_ptr<DeviceContext> contextOf(std::size_t bytes = 0) {
  return std::make_shared<DeviceContext>(
      emulated::makeEmulatedDevice(emulated::ThreadOrder::kForward, bytes));
}

}  // namespace

TEST_CASE("The host cannot read a device's bytes by mistake") {
  const auto context = contextOf();
  Tensor tensor = context->zeros(DType::Float32, {2, 3});
  CHECK(tensor.place() == Place::kDevice);
  CHECK(tensor.bytes() == 24);
  CHECK_THROWS_WITH(tensor.data<float>(), Contains("float32[2, 3] lie on a device"));
  CHECK_THROWS_AS(tensor.raw(), std::logic_error);
  CHECK_THROWS_AS(tensor.byteSpan(), std::logic_error);
  CHECK_THROWS_AS(tensor.at(0), std::logic_error);
  CHECK_THROWS_AS(tensor.clone(), std::logic_error);
  CHECK_THROWS_AS(tensor.cast(DType::Float64), std::logic_error);
  CHECK(tensor.part(3, {3}).place() == Place::kDevice);
  CHECK(context->pinned(DType::Float32, {4}).data<float>().size() == 4);
}

TEST_CASE("Values come and go") {
  const auto context = contextOf();
  const Tensor given = Tensor::of<float>({3}, std::vector<float>{1, 2, 3});
  const Tensor tensor = context->zeros(DType::Float32, {3}), other = context->zeros(DType::Float32, {3});
  CHECK(onHost(tensor, *context).orThrow().at(2) == 0);
  context->upload(given, tensor);
  context->copy(tensor, other);
  const Tensor back = onHost(other, *context).orThrow();
  CHECK((std::ranges::equal(back.byteSpan(), given.byteSpan())));
}

TEST_CASE("What does not fit on a device says what was wanted and what is free") {
  const auto context = contextOf(1 << 20);
  const Tensor small = context->zeros(DType::Float32, {1000});
  CHECK_THROWS_WITH(
      context->zeros(DType::Float32, {1000, 1000}),
      Contains("no memory on emulated device for float32[1000, 1000], 4.0 MB, of which 1.0 MB are free") &&
          Contains("--recompute"));
  CHECK_NOTHROW(context->zeros(DType::Float32, {1000}));
}

TEST_CASE("What is queued wrongly is said when the device is waited for, once") {
  const auto context = contextOf();
  float onTheHost[4] = {};
  context->device().copyOut(onTheHost, onTheHost, sizeof onTheHost);
  const Status status = context->wait();
  REQUIRE_FALSE(status.ok());
  CHECK_THAT(status.error().message(),
             Contains("copy from the device: 16 bytes that are none of the device's"));
  CHECK(context->wait().ok());
}

TEST_CASE("A sequence is done each time that it is asked for, and nothing of it before") {
  const auto context = contextOf();
  const Tensor x = context->zeros(DType::Float32, {4}), y = context->zeros(DType::Float32, {4});
  context->beginSequence();
  context->launch("map", 4,
                  MapParameters{reinterpret_cast<const float*>(x.address()),
                                reinterpret_cast<float*>(y.address()), 4, Unary::kExp});
  const auto sequence = context->endSequence();
  REQUIRE(sequence);
  CHECK(onHost(y, *context).orThrow().at(3) == 0);
  sequence->run();
  CHECK(onHost(y, *context).orThrow().at(3) == 1);
  context->upload(Tensor::of<float>({4}, std::vector<float>{0, 0, 0, 100}), x);
  sequence->run();
  CHECK(onHost(y, *context).orThrow().at(3) > 1e38);
}
