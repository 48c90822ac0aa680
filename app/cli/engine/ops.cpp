// msdbg ops: every operator of the engine.
#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/table.h"
#include "core_engine/base/text.h"
#include "core_engine/cpu/kernel_factory.h"
#include "core_engine/ops/op_facts.h"

namespace msdbg::app {
namespace {

std::string list(const std::vector<std::string_view>& names) {
  return core::join(std::vector<std::string>(names.begin(), names.end()), ", ");
}

std::string attributesText(const core::OpDef& op) {
  std::vector<std::string> texts;
  for (const core::AttributeDoc& a : op.attributes)
    texts.push_back(std::string(a.name) + (a.defaultValue.empty() ? "" : "=" + std::string(a.defaultValue)));
  return core::join(texts, ", ");
}

// What runs it on this machine's CPU, in the order in which they are asked.
std::vector<std::string_view> kernelsOf(const core::OpDef& op) {
  std::vector<std::string_view> kernels;
  for (const core::cpu::KernelRow& row : core::cpu::builtinKernels())
    if (row.opType == op.name)
      kernels.push_back(row.dtypes == core::cpu::DTypes::kAny ? "cpu" : "cpu (float32)");
  kernels.push_back("reference");
  return kernels;
}

Json opJson(const core::OpDef& op) {
  Json attributes = Json::array();
  for (const core::AttributeDoc& a : op.attributes)
    attributes.push_back({{"name", a.name}, {"type", a.type}, {"default", a.defaultValue}, {"doc", a.doc}});
  const core::OpOrigin origin = core::originOf(op);
  return {{"name", op.name},
          {"doc", op.doc},
          {"domain", origin.domain},
          {"since", origin.since ? Json(origin.since) : Json()},
          {"dtypes", core::dataTypeNames(op)},
          {"inputs", op.inputNames},
          {"outputs", op.outputNames},
          {"min_inputs", op.minInputs},
          {"max_inputs", op.maxInputs},
          {"attributes", attributes},
          {"differentiable", op.gradient != nullptr},
          {"gradient_ops", core::gradientOpsOf(op)},
          {"kernels", kernelsOf(op)},
          {"activation", op.activation},
          {"counts_flops", op.flops != nullptr}};
}

void printTable() {
  Table table({"operator", "inputs", "outputs", "gradient", "attributes"});
  for (const core::OpDef& op : core::allOps())
    table.row({std::string(op.name), list(op.inputNames), list(op.outputNames), op.gradient ? "yes" : "",
               attributesText(op)});
  fmt::print("{}", table.text());
}

std::string cell(std::string_view text) {  // a bar would end the cell, a star begin emphasis
  std::string out;
  for (const char c : text) out += c == '|' || c == '*' ? std::string("\\") + c : std::string(1, c);
  return out;
}

std::string originText(const core::OpDef& op) {
  const core::OpOrigin origin = core::originOf(op);
  return origin.since ? fmt::format("{} {}", origin.domain, origin.since) : std::string(origin.domain);
}

std::string dtypesText(const core::OpDef& op) {
  switch (op.dataTypes) {
    case core::DataTypes::kAny:
      return "any";
    case core::DataTypes::kNumbers:
      return "any but bool";
    default:
      return list(core::dataTypeNames(op));
  }
}

std::string gradientText(const core::OpDef& op) {
  if (!op.gradient) return "";
  const auto own = core::gradientOpsOf(op);
  return own.empty() ? "by other operators" : list(own);
}

constexpr const char* kMarkdownHead =
    R"(# Operators

Written by `msdbg ops --markdown`; a test compares. From: `ai.onnx N` is ONNX's definition of operator set N, with what
the last column says about it; `msdbg` defines its own (gradients, optimizer updates, collectives). Dtypes are those of
the data; labels and indices are int64 or int32, masks and conditions bool. Gradient: what backward nodes are made of;
empty where gradients stop. Kernels: the first that takes the node runs it; `reference` takes every dtype of the row.

| operator | from | dtypes | inputs | outputs | attributes | gradient | kernels | definition |
|---|---|---|---|---|---|---|---|---|
)";

void printMarkdown() {
  fmt::print("{}", kMarkdownHead);
  for (const core::OpDef& op : core::allOps())
    fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", op.name, originText(op), dtypesText(op),
               list(op.inputNames), list(op.outputNames), cell(attributesText(op)), gradientText(op),
               list(kernelsOf(op)), cell(op.doc));
}

Command::Run setup(CLI::App& options, Context& context) {
  auto markdown = std::make_shared<bool>(false);
  options.add_flag("--markdown", *markdown,
                   "print core_engine/ops/OPERATORS.md: every definition, dtype and kernel");
  return [markdown, &context]() -> core::Result<int> {
    if (*markdown) return printMarkdown(), kExitFine;
    if (!context.json) return printTable(), kExitFine;
    Json json = document("ops");
    json["ops"] = Json::array();
    for (const core::OpDef& op : core::allOps()) json["ops"].push_back(opJson(op));
    printJson(json);
    return kExitFine;
  };
}

}  // namespace

Command opsCommand() {
  return {.name = "ops",
          .summary = "the operators of the engine",
          .examples = "  msdbg ops\n  msdbg ops --markdown > OPERATORS.md\n",
          .setup = setup};
}

}  // namespace msdbg::app
