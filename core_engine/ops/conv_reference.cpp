#include "core_engine/ops/conv_reference.h"

namespace msdbg::core {

ConvSizes convSizes(const Shape& x, const Shape& weight, const Attributes& attributes) {
  const Result<Window> window = makeWindow("Conv", attributes, x[2], x[3], weight[2], weight[3]);
  const std::int64_t group = intAttribute(attributes, "group", 1);
  return {x[0], x[1] / group, weight[0] / group, group, window.value()};
}

Result<std::int64_t> checkConvGroup(std::string_view op, const Shape& x, const Shape& weight,
                                    const Attributes& attributes) {
  const std::int64_t group = intAttribute(attributes, "group", 1);
  if (group < 1 || weight[0] % group != 0)
    return inferError(op, "attribute group is " + std::to_string(group) +
                              ", but a divisor of the number of filters in W " + weight.text() +
                              " was expected");
  if (weight[1] > (std::int64_t{1} << 40) / group || x[1] != weight[1] * group)
    return inferError(op, "X is " + x.text() + " but W is " + weight.text() + ": " + std::to_string(x[1]) +
                              " input channels were expected in W's second dimension" +
                              (group == 1 ? "" : " times " + std::to_string(group) + " groups"));
  return group;
}

std::vector<AttributeDoc> convAttributes(std::string_view kernel) {
  std::vector<AttributeDoc> attributes = windowAttributes(kernel);
  attributes.push_back({"group", "int", "1", "groups of channels that are convolved each by itself"});
  return attributes;
}

}  // namespace msdbg::core
