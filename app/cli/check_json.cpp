#include "app/cli/check_view.h"
#include "app/cli/computing.h"
#include "app/cli/metrics_view.h"
#include "app/cli/step_options.h"
#include "replay/recorded_from.h"

namespace msdbg::app {

using watch::Hit;

namespace {

Json inputsJson(const OpenedRun& run, const Hit& hit) {
  Json list = Json::array();
  for (const replay::HitInput& input : replay::hitInputs(*run.run, hit)) {
    const core::TensorInfo& tensor = run.graph().tensor(input.tensor);
    list.push_back({{"tensor", tensor.fullName()},
                    {"rank", input.rank.value},
                    {"dtype", core::dtypeName(tensor.dtype)},
                    {"shape", shapeJson(tensor.shape)},
                    {"role", core::roleName(tensor.role)},
                    {"statistics", input.statistics ? statisticsJson(*input.statistics) : Json()}});
  }
  return list;
}

Json hitJson(const OpenedRun& run, const Hit& hit) {
  const core::Graph& graph = run.graph();
  const core::Node* node = hit.node.valid() ? &graph.node(hit.node) : nullptr;
  const auto frames = replay::framesOf(graph, hit);
  const watch::StatisticsRow* row =
      hit.tensor.valid() ? run.run->flags(hit.rank, hit.iteration, hit.tensor) : nullptr;
  const auto index = hit.tensor.valid() ? replay::wrongIndex(graph, hit) : std::nullopt;
  Json json = {{"condition", hit.condition->id},
               {"severity", hit.effectiveSeverity == watch::Severity::kFault ? "fault" : "hint"},
               {"parameter", textOrNull(hit.parameter)},
               {"preset", hit.parameter.empty() ? Json() : number(hit.preset)},
               {"actual", number(hit.actual)},
               {"iteration", hit.iteration.value},
               {"rank", hit.rank.value},
               {"order", hit.order == Hit::kAfterAll ? Json() : Json(hit.order)},
               {"node", node ? Json(node->name) : Json()},
               {"op_type", node ? Json(node->opType) : Json()},
               {"phase", node ? Json(core::phaseName(node->phase)) : Json()},
               {"tensor", hit.tensor.valid() ? Json(graph.tensor(hit.tensor).fullName()) : Json()},
               {"element", hit.element ? Json(*hit.element) : Json()},
               {"index", index ? Json(*index) : Json()},
               {"count", hit.count},
               {"source", sourceJson(graph, frames)},
               {"frames", framesJson(graph, frames)}};
  addStep(json, run, hit.rank, hit.iteration);
  json["statistics"] = row ? statisticsJson(*row) : Json();
  json["inputs"] = inputsJson(run, hit);
  json["derived_from"] =
      node && node->derivedFrom.valid() ? Json(graph.node(node->derivedFrom).name) : Json();
  json["detail"] = textOrNull(hit.detail);
  json["advice"] = hit.whatNext();
  return json;
}

Json hitsJson(const CheckView& view, const std::vector<Hit>& hits) {
  Json list = Json::array();
  for (const replay::FoldedHit& folded : replay::foldHits(hits, view.detail)) {
    list.push_back(hitJson(view.run, *folded.hit));
    list.back()["occurrences"] = folded.occurrences;
    list.back()["last_iteration"] = folded.lastIteration;
  }
  return list;
}

Json notEvaluableJson(const CheckView& view) {
  Json list = Json::array();
  for (const watch::NotEvaluable& n : view.report.notEvaluable)
    list.push_back(
        {{"condition", n.condition},
         {"reason", n.reason},
         {"iteration", n.iteration.valid() ? Json(n.iteration.value) : Json()},
         {"rank", n.rank.valid() ? Json(n.rank.value) : Json()},
         {"tensor", n.tensor.valid() ? Json(view.run.graph().tensor(n.tensor).fullName()) : Json()},
         {"detail", textOrNull(n.detail)},
         {"count", n.count}});
  return list;
}

Json whyJson(const CheckView& view) {
  const core::Graph& graph = view.run.graph();
  Json list = Json::array();
  for (const replay::WhyStep& step : *view.why) {
    const core::TensorInfo& tensor = graph.tensor(step.tensor);
    list.push_back({{"tensor", tensor.fullName()},
                    {"rank", step.rank.value},
                    {"iteration", step.iteration.value},
                    {"reason", step.reason},
                    {"node", tensor.isSource() ? Json() : Json(graph.node(tensor.producer).name)},
                    {"source", sourceJson(graph, framesOf(graph, step.tensor))},
                    {"statistics", step.statistics ? statisticsJson(*step.statistics) : Json()},
                    {"before", step.before ? statisticsJson(*step.before) : Json()}});
    addStep(list.back(), view.run, step.rank, step.iteration);
  }
  return list;
}

Json verdictJson(const CheckView& view) {
  const replay::Verdict& verdict = view.verdict;
  Json unread = Json::array();
  for (const replay::DamagedFile& file : replay::damagedFiles(view.run.run->damage()))
    unread.push_back(replay::damageText(file));
  for (const replay::Gap& gap : view.run.run->gaps()) unread.push_back(replay::gapText(gap));
  return {{"kind", replay::kindName(verdict.kind)},
          {"whole", verdict.whole},
          {"text", headline(view) + "; " + verdict.state()},
          {"ended", verdict.ended},
          {"unread", std::move(unread)}};
}

Json lossJson(const CheckView& view) {
  const std::optional<replay::LossCourse> loss = replay::lossCourseOf(*view.run.run);
  if (!loss) return {};
  return {{"first", number(loss->first)},
          {"last", number(loss->last)},
          {"first_mean", number(loss->firstMean)},
          {"last_mean", number(loss->lastMean)},
          {"mean_of", loss->window},
          {"iterations", loss->iterations},
          {"since", loss->since.valid() ? Json(loss->since.value) : Json()},
          {"classes", loss->classes > 0 ? Json(loss->classes) : Json()},
          {"guessing", loss->guessing() ? number(*loss->guessing()) : Json()}};
}

}  // namespace

Json checkJson(const CheckView& view) {
  const watch::CheckReport& report = view.report;
  Json json = document("check");
  json["run"] = view.run.path;
  json["verdict"] = verdictJson(view);
  json["loss"] = lossJson(view);
  if (Json metrics = metricsJson(*view.run.run); !metrics.empty()) json["metrics"] = std::move(metrics);
  json["first"] = report.first ? hitJson(view.run, *report.first) : Json();
  const replay::RunDescription& description = view.run.run->description();
  const std::string deeper = report.first
                                 ? replay::deeperCommand(description, view.run.graph(), *report.first)
                                 : replay::deeperLook(description);
  if (!deeper.empty()) json["deeper_command"] = deeper;
  if (const std::int64_t regions = replay::compiledRegions(view.run.graph()); regions > 0)
    json["compiled_regions"] = regions;
  json["first_per_rank"] = Json::array();
  for (const Hit& hit : report.firstPerRank) json["first_per_rank"].push_back(hitJson(view.run, hit));
  const bool lists = view.detail != replay::HitDetail::kFirstOnly;
  json["hits"] = lists ? hitsJson(view, report.hits) : Json::array();
  if (!lists && report.first) json["hits"].push_back(hitJson(view.run, *report.first));
  json["hints"] = lists ? hitsJson(view, report.hints) : Json::array();
  json["not_evaluable"] = notEvaluableJson(view);
  json["hits_in_all"] = report.hits.size();
  json["hints_in_all"] = report.hints.size();
  json["evaluated"] = report.evaluated;
  json["watchpoints"] = Json::array();
  for (const watch::Watchpoint& w : view.watchpoints) json["watchpoints"].push_back(w.text());
  json["consequences"] = replay::consequences(*view.run.run, report);
  json["damage"] = damageJson(view.run.run->damage());
  if (view.why) json["why"] = whyJson(view);
  if (view.recomputes) json["different_since"] = Computing::json(view.run, view.differs);
  return json;
}

}  // namespace msdbg::app
