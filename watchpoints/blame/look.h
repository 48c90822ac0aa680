// What a rule sees of a node in one iteration of one rank: rows and, where stored, values of its inputs and
// outputs, and how to say what is wrong with them. Everything is read when it is asked for, once. Used from
// one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "watchpoints/blame/blame.h"
#include "watchpoints/meaning/meaning.h"
#include "watchpoints/step.h"

namespace msdbg::watch {

/// Name as a command takes it: no ":0".
std::string shownName(const core::TensorInfo& tensor);

class Look {
 public:
  Look(Source& source, core::Rank rank, core::Iteration iteration, const core::Node& node,
       core::TensorId output, Wrong wrong)
      : m_source(source),
        m_rank(rank),
        m_iteration(iteration),
        m_node(asBlamed(nodeOn(source, rank, iteration, node))),
        m_output(output),
        m_wrong(wrong) {}

  const core::Node& node() const { return m_node; }
  const core::Graph& graph() const { return m_source.graph(); }
  Wrong wrong() const { return m_wrong; }
  std::size_t inputs() const { return m_node.inputs.size(); }
  std::size_t outputs() const { return m_node.outputs.size(); }
  const core::TensorInfo& info(std::size_t input) const { return graph().tensor(m_node.inputs.at(input)); }
  const core::TensorInfo& outputInfo() const { return graph().tensor(m_output); }
  /// The type of the operator that makes an input; "" for sources.
  std::string_view producerType(std::size_t input) const;

  /// nullptr: not recorded, or there is no such input or output.
  const core::TensorStatistics* input(std::size_t input);
  const core::TensorStatistics* output() { return row(m_output); }
  const core::TensorStatistics* outputAt(std::size_t slot);
  /// nullptr: not stored.
  const core::Tensor* value(std::size_t input);
  const core::Tensor* outputValue() { return valueOf(m_output); }

  /// The largest finite number of the output's dtype, and that dtype's name: "float32".
  double limit() const;
  std::string limitName() const { return std::string(core::dtypeName(outputInfo().dtype)); }
  /// Above the one exp gives Inf, below the other 0.
  double expOverflow() const;
  double expUnderflow() const;

  /// Where an input is `bad`. `possible` is false where values contradict: no wrong element of the output
  /// belongs to a bad one.
  struct Found {
    bool possible = true;
    std::optional<std::int64_t> element = {};        // of the input
    std::optional<std::int64_t> outputElement = {};  // the wrong one that belongs to it
  };
  using Test = std::function<bool(double)>;
  /// Of an operator that works element by element, with NumPy broadcasting.
  Found find(std::size_t input, const Test& bad);
  /// The first one, whatever the output holds.
  std::optional<std::int64_t> first(std::size_t input, const Test& bad);

  /// " at [7, 0]", " at [7, 0] and 3 more places", " everywhere", " at 4 of 12 places"; "" for the only
  /// element of a tensor.
  std::string places(std::size_t input, std::int64_t count, std::optional<std::int64_t> element) const;
  std::string at(std::size_t input, std::optional<std::int64_t> element) const;  // " at [7, 0]" or ""
  /// "input 1 (network/deviation)"
  std::string inputName(std::size_t input) const;
  /// "input 1 (network/deviation) " + what.
  Blame blame(std::size_t input, const std::string& what, Wrong wrong,
              std::optional<std::int64_t> element = {}) const;

  core::Rank rank() const { return m_rank; }
  core::Iteration iteration() const { return m_iteration; }
  Source& source() const { return m_source; }

 private:
  const core::TensorStatistics* row(core::TensorId tensor);
  const core::Tensor* valueOf(core::TensorId tensor);
  bool wrongElement(double y);

  Source& m_source;
  core::Rank m_rank;
  core::Iteration m_iteration;
  const core::Node m_node;  // as it is on the rank, in our terms where rules may take it so
  core::TensorId m_output;
  Wrong m_wrong;
  std::map<core::TensorId, std::optional<core::TensorStatistics>> m_rows;
  std::map<core::TensorId, std::optional<core::Tensor>> m_values;
};

/// The flat index of the element of `from` that NumPy's broadcasting reads for element `flat` of `to`.
std::int64_t broadcastFrom(const core::Shape& from, const core::Shape& to, std::int64_t flat);
bool broadcasts(const core::Shape& from, const core::Shape& to);

}  // namespace msdbg::watch
