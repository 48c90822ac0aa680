#include "app/cli/diff_view.h"
#include "app/cli/step_options.h"
#include "core_engine/tensor/index_text.h"

namespace msdbg::app {

using replay::Agreement;
using replay::ComparedBy;
using replay::ComparisonMode;
using replay::TensorComparison;

const char* agreementName(Agreement verdict) {
  switch (verdict) {
    case Agreement::kEqual:
      return "equal";
    case Agreement::kWithin:
      return "within_tolerance";
    case Agreement::kDifferent:
      return "different";
    case Agreement::kUndecided:
      return "undecided";
    case Agreement::kUnknown:
      return "not_recorded";
    case Agreement::kByNature:
      return "by_nature";
  }
  return "";
}

namespace {

const char* byName(ComparedBy by) {
  switch (by) {
    case ComparedBy::kNothing:
      return nullptr;
    case ComparedBy::kHashes:
      return "hashes";
    case ComparedBy::kValues:
      return "values";
    case ComparedBy::kStatistics:
      return "statistics";
  }
  return nullptr;
}

const char* modeName(ComparisonMode mode) {
  switch (mode) {
    case ComparisonMode::kRuns:
      return "runs";
    case ComparisonMode::kRanks:
      return "ranks";
    case ComparisonMode::kIterations:
      return "iterations";
    case ComparisonMode::kComputed:
      return "recomputed";
  }
  return "";
}

Json placeJson(const core::Shape& shape, std::optional<std::int64_t> at) {
  return at ? Json(core::indexOf(shape, *at)) : Json();
}

Json ulpsJson(const replay::Measures& m) {
  if (!m.ulps) return {};
  Json bins = Json::array();
  for (std::size_t i = 0; i < m.ulps->size(); ++i)
    if ((*m.ulps)[i] > 0)
      bins.push_back({{"from", i == 0 ? 0 : std::uint64_t{1} << (i - 1)}, {"count", (*m.ulps)[i]}});
  return {{"largest", m.maxUlp}, {"bins", bins}};
}

Json whereJson(const replay::Measures& m) {
  Json dimensions = Json::array();
  for (const replay::Spread::Dimension& d : m.where.dimensions)
    dimensions.push_back(
        {{"size", d.size}, {"first", d.first}, {"last", d.last}, {"count", d.count}, {"step", d.step}});
  return {{"text", replay::spreadText(m.where, m.different, m.elements)}, {"dimensions", dimensions}};
}

Json tensorJson(const DiffView& view, const TensorComparison& c) {
  const core::Graph &a = view.a.graph(), &b = view.b.graph();
  Json json;
  json["tensor"] = a.tensor(c.a).fullName();
  json["tensor_b"] = c.b.valid() ? Json(b.tensor(c.b).fullName()) : Json();
  json["iteration"] = c.iterationA.value;
  json["iteration_b"] = c.iterationB.value;
  addStep(json, view.a, c.rankA, c.iterationA);
  json["rank"] = c.rankA.value;
  json["rank_b"] = c.rankB.value;
  json["order"] = c.order < 0 ? Json() : Json(c.order);
  json["verdict"] = agreementName(c.verdict);
  json["by"] = byName(c.by) ? Json(byName(c.by)) : Json();
  json["other_type"] = c.otherType;
  json["inputs_differ"] = c.inputsDiffer;
  json["inputs_unknown"] = c.inputsUnknown;
  json["inputs_by_nature"] = c.inputsByNature;
  json["measures"] = c.measures ? measuresJson(*c.measures) : Json();
  json["last_bit"] = numberOrNull(c.lastBit);
  json["statistics"] = Json();
  if (c.statistics)
    json["statistics"] = {{"a", statisticsJson({c.statistics->first, {}, {}})},
                          {"b", statisticsJson({c.statistics->second, {}, {}})},
                          {"at_least", number(c.atLeast)}};
  return json;
}

Json firstJson(const DiffView& view, const replay::FirstDifference& first) {
  Json json = tensorJson(view, first.what);
  json["source"] = sourceJson(view.a.graph(), framesOf(view.a.graph(), first.what.a));
  json["source_b"] = sourceJson(view.b.graph(), framesOf(view.b.graph(), first.what.b));
  json["kernel"] = textOrNull(first.kernelA);
  json["kernel_b"] = textOrNull(first.kernelB);
  json["equal_after_update"] = first.equalAfterUpdate ? Json(*first.equalAfterUpdate) : Json();
  json["reads"] = Json::array();
  for (const TensorComparison& each : first.reads) json["reads"].push_back(tensorJson(view, each));
  for (std::size_t i = 0; i < first.instead.size(); ++i)
    if (first.instead[i].valid())
      json["reads"][i]["instead_b"] = view.b.graph().tensor(first.instead[i]).fullName();
  return json;
}

Json graphJson(const DiffView& view) {
  const replay::GraphDifference& g = view.found.graph;
  const core::Graph &a = view.a.graph(), &b = view.b.graph();
  const auto nodes = [](const core::Graph& graph, const std::vector<core::NodeId>& ids,
                        const std::vector<core::TensorId>& sources) {
    Json names = Json::array();
    for (const core::TensorId id : sources) names.push_back(graph.tensor(id).name);
    for (const core::NodeId id : ids) names.push_back(graph.node(id).name);
    return names;
  };
  Json json;
  json["same"] = g.same();
  json["nodes"] = g.nodesA;
  json["nodes_b"] = g.nodesB;
  json["aligned"] = g.aligned;
  json["only_a"] = nodes(a, g.onlyA, g.sourcesOnlyA);
  json["only_b"] = nodes(b, g.onlyB, g.sourcesOnlyB);
  json["renamed"] = Json::array();
  for (const replay::AlignedNode& each : g.renamed)
    json["renamed"].push_back({{"node", a.node(each.a).name},
                               {"node_b", b.node(each.b).name},
                               {"by", replay::alignedByName(each.by)}});
  json["changed"] = Json::array();
  for (const auto& each : g.changed)
    json["changed"].push_back(
        {{"node", a.node(each.a).name}, {"node_b", b.node(each.b).name}, {"what", each.what}});
  return json;
}

Json countsJson(const replay::Counts& counts) {
  return {{"equal", counts.equal},          {"within_tolerance", counts.within},
          {"different", counts.different},  {"undecided", counts.undecided},
          {"not_recorded", counts.unknown}, {"by_nature", counts.byNature}};
}

void addConfiguration(const DiffView& view, Json& json) {
  json["configuration"] = Json::array();
  for (const replay::ConfigurationDifference& each : view.found.configuration)
    json["configuration"].push_back({{"what", each.what},
                                     {"a", textOrNull(each.a)},
                                     {"b", textOrNull(each.b)},
                                     {"numbers", each.numbers}});
  json["sources"] = Json::array();
  for (const replay::SourceDifference& each : view.found.sources)
    json["sources"].push_back({{"file", each.file}, {"in_a", each.inA}, {"in_b", each.inB}});
  json["given"] = Json::array();
  for (const replay::GivenGroup& group : view.found.given)
    json["given"].push_back({{"name", group.name},
                             {"compared", group.compared},
                             {"first", group.first ? tensorJson(view, *group.first) : Json()}});
}

}  // namespace

Json measuresJson(const replay::Measures& m) {
  Json json;
  json["dtype"] = core::dtypeName(m.dtypeA);
  json["dtype_b"] = core::dtypeName(m.dtypeB);
  json["shape"] = shapeJson(m.shape);
  json["elements"] = m.elements;
  json["different"] = m.different;
  json["share"] = number(m.share());
  json["first"] = placeJson(m.shape, m.first);
  json["first_a"] = m.first ? number(m.firstA) : Json();
  json["first_b"] = m.first ? number(m.firstB) : Json();
  json["max_abs"] = number(m.maxAbs);
  json["max_abs_at"] = placeJson(m.shape, m.maxAt);
  json["max_rel"] = number(m.maxRel);
  json["max_rel_at"] = placeJson(m.shape, m.maxRelAt);
  json["mean_abs"] = number(m.meanAbs);
  json["largest"] = number(m.magnitude);
  json["cosine"] = std::isnan(m.cosine) ? Json() : number(m.cosine);
  json["relative_norm"] = std::isnan(m.relativeNorm) ? Json() : number(m.relativeNorm);
  json["nan_only_a"] = m.nanOnlyA;
  json["nan_only_b"] = m.nanOnlyB;
  json["nan_bits"] = m.nanBits;
  json["infinite"] = m.infinite;
  json["other_sign"] = m.otherSign;
  json["zero_sign"] = m.zeroSign;
  json["ulps"] = ulpsJson(m);
  json["where"] = whereJson(m);
  return json;
}

Json diffJson(const DiffView& view) {
  const replay::Comparison& found = view.found;
  Json json = document("diff");
  json["run"] = view.a.path;
  json["run_b"] = view.b.path;
  json["mode"] = modeName(found.mode);
  json["a"] = view.nameA;
  json["b"] = view.nameB;
  json["tolerance"] = found.tolerance.text();
  json["verdict"] = diffVerdict(view);
  json["differs"] = found.differs();
  addConfiguration(view, json);
  json["graph"] = graphJson(view);
  json["iterations"] = found.compared.text();
  json["only_a"] = found.onlyA.text();
  json["only_b"] = found.onlyB.text();
  json["replicas_only"] = !found.allJudged;
  json["counts"] = countsJson(found.counts);
  json["first"] = found.first ? firstJson(view, *found.first) : Json();
  json["different"] = Json::array();
  for (const TensorComparison& each : found.different) json["different"].push_back(tensorJson(view, each));
  json["course"] = Json::array();
  for (const replay::StepSummary& step : found.course) {
    json["course"].push_back({{"iteration", step.a.value},
                              {"iteration_b", step.b.value},
                              {"counts", countsJson(step.counts)},
                              {"loss", numberOrNull(step.lossA)},
                              {"loss_b", numberOrNull(step.lossB)}});
    addStep(json["course"].back(), view.a, view.a.run->ranks().front(), step.a);
  }
  json["notes"] = found.notes;
  return json;
}

Json valuesDiffJson(const ValuesView& view) {
  Json json = document("diff");
  json["run"] = view.run.path;
  json["mode"] = "values";
  json["file"] = view.file;
  json["tensor"] = view.run.graph().tensor(view.tensor).fullName();
  json["rank"] = view.rank.value;
  json["iteration"] = view.iteration.value;
  addStep(json, view.run, view.rank, view.iteration);
  json["tolerance"] = view.tolerance;
  json["verdict"] = agreementName(view.verdict);
  json["differs"] = view.verdict == Agreement::kDifferent;
  json["source"] = sourceJson(view.run.graph(), framesOf(view.run.graph(), view.tensor));
  json["measures"] = measuresJson(view.measures);
  return json;
}

}  // namespace msdbg::app
