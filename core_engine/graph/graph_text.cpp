#include "core_engine/graph/graph_text.h"

#include "core_engine/base/text.h"

namespace msdbg::core {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

std::string intsText(std::span<const std::int64_t> values) {
  std::vector<std::string> parts;
  for (const std::int64_t value : values) parts.push_back(std::to_string(value));
  return "[" + join(parts, ",") + "]";
}

std::string tensorText(const Tensor& tensor) {
  if (!tensor.valid()) return "?";
  if (tensor.elements() == 1) return formatDouble(tensor.at(0));
  return std::string(dtypeName(tensor.dtype())) + intsText(tensor.shape().dims());
}

template <typename T, typename Text>
std::string listText(const std::vector<T>& values, Text&& text) {
  std::vector<std::string> parts;
  for (const T& value : values) parts.push_back(text(value));
  return "[" + join(parts, ",") + "]";
}

std::string inputsText(const Graph& graph, const Node& node) {
  std::vector<std::string> parts;
  for (const TensorId id : node.inputs) parts.push_back(graph.tensor(id).fullName());
  return "(" + join(parts, ", ") + ")";
}

std::string attributesText(const Attributes& attributes) {
  if (attributes.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [name, value] : attributes) parts.push_back(name + "=" + attributeText(value));
  return " {" + join(parts, ", ") + "}";
}

std::string outputsText(const Graph& graph, const Node& node) {
  std::vector<std::string> parts;
  for (const TensorId id : node.outputs) {
    const TensorInfo& info = graph.tensor(id);
    parts.push_back(std::string(dtypeName(info.dtype)) + intsText(info.shape.dims()));
  }
  return " -> " + join(parts, ", ");
}

std::string placeText(const Graph& graph, const Node& node) {
  const Frame* frame = graph.userFrame(node.frames);
  if (!frame) return "";
  return " @ " + frame->file.substr(frame->file.rfind('/') + 1) + ":" + std::to_string(frame->line);
}

}  // namespace

std::string attributeText(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return formatDouble(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return quoted(*text);
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) return intsText(*integers);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* numbers = std::get_if<std::vector<double>>(&value))
    return listText(*numbers, [](double number) { return formatDouble(number); });
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return listText(*texts, quoted);
  return tensorText(std::get<TensorValue>(value).tensor);
}

std::string qualifiedType(const Node& node) {
  return node.isOwn() ? node.opType : node.domain + "." + node.opType;
}

std::string_view plainType(const Node& node) {
  std::string_view type = std::string_view(node.opType).substr(0, node.opType.find('.'));
  if (type.size() > 1 && type.ends_with('_')) type.remove_suffix(1);
  return type;
}

std::string nodeWithLine(const Graph& graph, const Node& node) {
  const Frame* frame = graph.userFrame(node.frames);
  return node.name + (frame ? " (" + frame->file + ":" + std::to_string(frame->line) + ")" : "");
}

std::string graphText(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes())
    text += "%" + std::to_string(node.id.value) + " = " + qualifiedType(node) + inputsText(graph, node) +
            attributesText(node.attributes) + outputsText(graph, node) + "  # " + node.name +
            placeText(graph, node) + "\n";
  return text;
}

}  // namespace msdbg::core
