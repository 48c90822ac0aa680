// msdbg ops: every operator of the engine.
#include <fmt/format.h>

#include "app/cli/command.h"
#include "app/cli/json_output.h"
#include "app/cli/table.h"
#include "core_engine/base/text.h"
#include "core_engine/ops/op.h"

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

Json opJson(const core::OpDef& op) {
  Json attributes = Json::array();
  for (const core::AttributeDoc& a : op.attributes)
    attributes.push_back({{"name", a.name}, {"type", a.type}, {"default", a.defaultValue}, {"doc", a.doc}});
  return {{"name", op.name},
          {"doc", op.doc},
          {"inputs", op.inputNames},
          {"outputs", op.outputNames},
          {"min_inputs", op.minInputs},
          {"max_inputs", op.maxInputs},
          {"attributes", attributes},
          {"differentiable", op.gradient != nullptr},
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

std::string cell(std::string_view text) {  // a bar would end the cell
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

void printMarkdown() {
  fmt::print(
      "| operator | inputs | outputs | attributes | gradient | definition |\n|---|---|---|---|---|---|\n");
  for (const core::OpDef& op : core::allOps())
    fmt::print("| {} | {} | {} | {} | {} | {} |\n", op.name, list(op.inputNames), list(op.outputNames),
               cell(attributesText(op)), op.gradient ? "yes" : "", cell(op.doc));
}

Command::Run setup(CLI::App& options, Context& context) {
  auto markdown = std::make_shared<bool>(false);
  options.add_flag("--markdown", *markdown, "print a Markdown table with every definition");
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
          .examples = "  msdbg ops\n  msdbg ops --markdown > operators.md\n",
          .setup = setup};
}

}  // namespace msdbg::app
