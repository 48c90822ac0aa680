#include "replay/recompute/elements.h"

#include <algorithm>

#include "replay/recompute/walk.h"

namespace msdbg::replay {

using core::Iteration;
using core::Rank;
using core::Result;
using core::TensorId;

namespace {

// Takes one element of some tensors as they are computed.
class Picker : public Judge {
 public:
  using Judge::Judge;

  void pick(const std::vector<TensorId>* columns, std::int64_t element) {
    m_columns = columns;
    m_element = element;
    values.assign(columns->size(), std::nullopt);
  }
  void tensorReady(const core::TensorReady& ready) override {
    Judge::tensorReady(ready);
    if (!m_columns) return;
    const auto found = std::ranges::find(*m_columns, recorded().runId(ready.tensor));
    if (found == m_columns->end() || m_element >= ready.value.elements()) return;
    values[static_cast<std::size_t>(found - m_columns->begin())] = ready.value.at(m_element);
  }

  std::vector<std::optional<double>> values;

 private:
  const std::vector<TensorId>* m_columns = nullptr;
  std::int64_t m_element = 0;
};

class Elements : public ElementComputer {
 public:
  static Result<std::unique_ptr<ElementComputer>> create(Run& run, core::CancelToken cancel) {
    auto made = std::make_unique<Elements>();
    MSDBG_ASSIGN(made->m_walk,
                 Walk::create(run, std::move(cancel), [&](std::mutex& lock, Rank rank, int threads) {
                   auto picker = std::make_unique<Picker>(run, lock, rank, threads);
                   made->m_pickers.push_back(picker.get());
                   return picker;
                 }));
    return std::unique_ptr<ElementComputer>(std::move(made));
  }

  Result<ComputedElements> compute(Iteration iteration, const std::vector<TensorId>& tensors,
                                   std::int64_t element) override {
    const auto ready = [&](Rank, Judge& judge, Iteration) {
      static_cast<Picker&>(judge).pick(&tensors, element);
    };
    MSDBG_TRY(m_walk->to(iteration, ready, [](Iteration) {}));
    ComputedElements found;
    for (const Picker* picker : m_pickers) found.values.push_back(picker->values);
    found.other = m_walk->since().has_value();
    return found;
  }
  std::vector<std::string> otherHere() const override { return m_walk->engine().otherHere(); }

 private:
  std::unique_ptr<Walk> m_walk;
  std::vector<Picker*> m_pickers;  // its judges, by rank
};

}  // namespace

Result<std::unique_ptr<ElementComputer>> makeElementComputer(Run& run, core::CancelToken cancel) {
  return Elements::create(run, std::move(cancel));
}

}  // namespace msdbg::replay
