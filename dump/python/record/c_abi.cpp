// The C functions: arguments checked and turned into values, one call at a time.
#include <exception>
#include <mutex>
#include <string>

#include "dump/python/record/attributes.h"
#include "dump/python/record/foreign_recording.h"
#include "dump/python/record/msdbg_record.h"

using namespace msdbg;

struct msdbg_recording {
  std::mutex mutex;
  std::unique_ptr<dump::ForeignRecording> rank;
  std::string runId;
};

namespace {

thread_local std::string t_error;

constexpr std::pair<std::string_view, core::TensorRole> kRoles[] = {
    {"input", core::TensorRole::kInput},         {"label", core::TensorRole::kLabel},
    {"parameter", core::TensorRole::kParameter}, {"state", core::TensorRole::kOptimizerState},
    {"constant", core::TensorRole::kConstant},   {"activation", core::TensorRole::kActivation},
    {"loss", core::TensorRole::kLoss},           {"gradient", core::TensorRole::kGradient},
    {"updated", core::TensorRole::kUpdated},     {"hyperparameter", core::TensorRole::kHyperparameter}};
constexpr std::pair<std::string_view, core::Phase> kPhases[] = {{"forward", core::Phase::kForward},
                                                                {"backward", core::Phase::kBackward},
                                                                {"update", core::Phase::kUpdate},
                                                                {"collective", core::Phase::kCollective}};

template <typename Row, std::size_t n>
core::Result<decltype(Row::second)> named(const Row (&rows)[n], const char* name) {
  for (const Row& row : rows)
    if (name && row.first == name) return row.second;
  return core::Error(core::ErrorCode::kUsage, "there is no '" + std::string(name ? name : "") + "' here");
}

std::string text(const char* given) { return given ? given : ""; }

template <typename Id>
std::vector<Id> idsOf(const std::int64_t* ids, std::int32_t count) {
  std::vector<Id> all;
  for (std::int32_t i = 0; i < count; ++i) all.emplace_back(ids[i]);
  return all;
}

core::Result<core::TensorInfo> infoOf(const msdbg_tensor& given) {
  core::TensorInfo info;
  const auto dtype = core::dtypeFromNumber(given.dtype);
  if (!dtype)
    return core::Error(core::ErrorCode::kUsage,
                       text(given.name) + ": no dtype " + std::to_string(given.dtype));
  MSDBG_ASSIGN(info.role, named(kRoles, given.role));
  info.name = text(given.name);
  info.alias = text(given.alias);
  info.dtype = *dtype;
  info.trainable = given.trainable != 0;
  info.shape = core::Shape(std::vector<std::int64_t>(given.dims, given.dims + given.rank));
  info.frames = idsOf<core::FrameId>(given.frames, given.frame_count);
  info.gradientOf = core::TensorId(given.gradient_of);
  info.updateOf = core::TensorId(given.update_of);
  return info;
}

core::Result<core::Node> nodeOf(const msdbg_node& given) {
  core::Node node;
  MSDBG_ASSIGN(node.phase, named(kPhases, given.phase));
  MSDBG_ASSIGN(node.attributes, dump::attributesFromJson(text(given.attributes)));
  node.name = text(given.name);
  node.domain = text(given.domain);
  node.opType = text(given.type);
  node.inputs = idsOf<core::TensorId>(given.inputs, given.input_count);
  node.frames = idsOf<core::FrameId>(given.frames, given.frame_count);
  node.derivedFrom = core::NodeId(given.derived_from);
  return node;
}

// No exception leaves C++: memory that is not there, threads that cannot be made.
template <typename Call>
auto guarded(msdbg_recording* recording, const Call& call) -> decltype(call(*recording->rank)) {
  try {
    const std::lock_guard lock(recording->mutex);
    return call(*recording->rank);
  } catch (const std::exception& thrown) {
    return core::Error(core::ErrorCode::kInternal, thrown.what());
  }
}

template <typename Call>
int statusOf(msdbg_recording* recording, const Call& call) {
  const core::Status status =
      guarded(recording, [&](dump::ForeignRecording& rank) -> core::Status { return call(rank); });
  if (status.ok()) return 0;
  t_error = status.error().message();
  return -1;
}

template <typename Call>
std::int64_t idOf(msdbg_recording* recording, const Call& call) {
  const core::Result<std::int64_t> id = guarded(
      recording, [&](dump::ForeignRecording& rank) -> core::Result<std::int64_t> { return call(rank); });
  if (id.ok()) return *id;
  t_error = id.error().message();
  return -1;
}

dump::SeenValue valueOf(const void* data, std::int32_t dtype, const std::int64_t* dims, std::int32_t rank) {
  return {data, core::dtypeFromNumber(dtype).value_or(core::DType::Unsupported),
          std::span(dims, static_cast<std::size_t>(rank))};
}

core::Result<std::unique_ptr<msdbg_recording>> opened(const char* json) {
  MSDBG_ASSIGN(const dump::ForeignSettings settings, dump::ForeignSettings::fromJson(text(json)));
  auto recording = std::make_unique<msdbg_recording>();
  MSDBG_ASSIGN(recording->rank, dump::ForeignRecording::open(settings));
  recording->runId = recording->rank->runId();
  return recording;
}

}  // namespace

const char* msdbg_record_error(void) { return t_error.c_str(); }

msdbg_recording* msdbg_record_open(const char* settings) {
  try {
    auto recording = opened(settings);
    if (recording.ok()) return std::move(recording).value().release();
    t_error = recording.error().message();
  } catch (const std::exception& thrown) {
    t_error = thrown.what();
  }
  return nullptr;
}

const char* msdbg_record_run_id(const msdbg_recording* recording) { return recording->runId.c_str(); }

int msdbg_record_active(msdbg_recording* recording) {
  return idOf(recording, [](dump::ForeignRecording& rank) { return std::int64_t{rank.active()}; }) == 1;
}

std::int32_t msdbg_record_dtype(const char* name) {
  std::string_view plain = name ? name : "";
  if (plain.starts_with("torch.")) plain.remove_prefix(6);
  const auto dtype = core::dtypeFromName(plain);
  return dtype ? static_cast<std::int32_t>(*dtype) : -1;
}

std::int64_t msdbg_record_frame(msdbg_recording* recording, const char* file, std::int32_t line,
                                const char* function, const char* code, int engine) {
  return idOf(recording, [&](dump::ForeignRecording& rank) {
    return rank.definitions().frame({text(file), line, text(function), text(code), engine != 0}).value;
  });
}

std::int64_t msdbg_record_source(msdbg_recording* recording, const msdbg_tensor* source) {
  return idOf(recording, [&](dump::ForeignRecording& rank) -> core::Result<std::int64_t> {
    MSDBG_ASSIGN(core::TensorInfo info, infoOf(*source));
    MSDBG_ASSIGN(const core::TensorId id, rank.definitions().source(std::move(info)));
    return id.value;
  });
}

std::int64_t msdbg_record_node(msdbg_recording* recording, const msdbg_node* node, std::int64_t* outputs) {
  return idOf(recording, [&](dump::ForeignRecording& rank) -> core::Result<std::int64_t> {
    MSDBG_ASSIGN(core::Node defined, nodeOf(*node));
    std::vector<core::TensorInfo> infos;
    for (std::int32_t i = 0; i < node->output_count; ++i) {
      MSDBG_ASSIGN(core::TensorInfo info, infoOf(node->outputs[i]));
      infos.push_back(std::move(info));
    }
    MSDBG_ASSIGN(const core::NodeId id, rank.definitions().node(std::move(defined), std::move(infos)));
    for (const core::TensorId output : rank.definitions().node(id).outputs) *outputs++ = output.value;
    return id.value;
  });
}

int msdbg_record_role(msdbg_recording* recording, std::int64_t tensor, const char* role) {
  return statusOf(recording, [&](dump::ForeignRecording& rank) -> core::Status {
    MSDBG_ASSIGN(const core::TensorRole is, named(kRoles, role));
    return rank.setRole(core::TensorId(tensor), is);
  });
}

int msdbg_record_device(msdbg_recording* recording, std::int64_t tensor, const char* device) {
  return statusOf(recording, [&](dump::ForeignRecording& rank) {
    return rank.definitions().setDevice(core::TensorId(tensor), text(device));
  });
}

int msdbg_record_module(msdbg_recording* recording, const char* path, const char* className) {
  return statusOf(recording, [&](dump::ForeignRecording& rank) -> core::Status {
    if (text(path).empty()) return core::Error(core::ErrorCode::kUsage, "a module without a path");
    rank.definitions().module(text(path), text(className));
    return core::Ok{};
  });
}

int msdbg_record_mesh(msdbg_recording* recording, const char* axis, std::int32_t index, std::int32_t size) {
  return statusOf(recording, [&](dump::ForeignRecording& rank) {
    return rank.setMesh({text(axis), index, size});
  });
}

int msdbg_record_begin(msdbg_recording* recording, std::int64_t iteration) {
  return statusOf(recording, [&](auto& rank) { return rank.begin(core::Iteration(iteration)); });
}

int msdbg_record_ran(msdbg_recording* recording, std::int64_t node) {
  return statusOf(recording, [&](auto& rank) { return rank.ran(core::NodeId(node)); });
}

int msdbg_record_ran_before(msdbg_recording* recording, std::int64_t node, std::int64_t reader,
                            const std::int64_t* inputs, std::int32_t inputCount) {
  return statusOf(recording, [&](auto& rank) {
    std::vector<core::TensorId> ids;
    for (std::int32_t i = 0; i < inputCount; ++i) ids.emplace_back(inputs[i]);
    return rank.ranBefore(core::NodeId(node), core::NodeId(reader), std::move(ids));
  });
}

int msdbg_record_is_finite(msdbg_recording* recording, std::int64_t tensor) {
  return static_cast<int>(idOf(recording, [&](dump::ForeignRecording& rank) {
    const std::optional<bool> finite = rank.isFinite(core::TensorId(tensor));
    return std::int64_t{finite ? *finite : -1};
  }));
}

int msdbg_record_is_same(msdbg_recording* recording, std::int64_t tensor, const void* data,
                         std::int32_t dtype, const std::int64_t* dims, std::int32_t rankOf) {
  return static_cast<int>(idOf(recording, [&](dump::ForeignRecording& rank) {
    const std::optional<bool> same = rank.isSame(core::TensorId(tensor), valueOf(data, dtype, dims, rankOf));
    return std::int64_t{same ? *same : -1};
  }));
}

int msdbg_record_saw(msdbg_recording* recording, std::int64_t tensor, const void* data, std::int32_t dtype,
                     const std::int64_t* dims, std::int32_t rankOf) {
  return statusOf(recording, [&](auto& rank) {
    return rank.saw(core::TensorId(tensor), valueOf(data, dtype, dims, rankOf));
  });
}

int msdbg_record_saw_same(msdbg_recording* recording, std::int64_t tensor, std::int64_t other) {
  return statusOf(recording,
                  [&](auto& rank) { return rank.sawSame(core::TensorId(tensor), core::TensorId(other)); });
}

int msdbg_record_keep(msdbg_recording* recording, std::int64_t tensor, const void* data, std::int32_t dtype,
                      const std::int64_t* dims, std::int32_t rankOf) {
  return statusOf(recording, [&](auto& rank) {
    return rank.keep(core::TensorId(tensor), valueOf(data, dtype, dims, rankOf));
  });
}

int msdbg_record_end(msdbg_recording* recording, const char* const* names, const double* values,
                     std::int32_t count) {
  return statusOf(recording, [&](auto& rank) {
    core::Scalars scalars;
    for (std::int32_t i = 0; i < count; ++i) scalars.emplace_back(text(names[i]), values[i]);
    return rank.end(scalars);
  });
}

int msdbg_record_metric(msdbg_recording* recording, const char* name, double value) {
  return statusOf(recording, [&](auto& rank) { return rank.metric(text(name), value); });
}

int msdbg_record_failed_at(msdbg_recording* recording, std::int64_t node) {
  return statusOf(recording, [&](auto& rank) { return rank.failedAt(core::NodeId(node)); });
}

int msdbg_record_finish(msdbg_recording* recording, const char* state, const char* message, int exitStatus) {
  return statusOf(recording, [&](auto& rank) -> core::Status {
    dump::RunEnd how;
    how.state = text(state);
    how.message = text(message);
    if (exitStatus >= 0) how.exitStatus = exitStatus;
    rank.finish(how);
    return core::Ok{};
  });
}

const char* msdbg_record_stop_hit(msdbg_recording* recording) {
  thread_local std::string hit;
  const std::lock_guard lock(recording->mutex);
  const std::optional<std::string> told = recording->rank->stopHit();
  hit = told.value_or("");
  return told ? hit.c_str() : nullptr;
}

int msdbg_record_finish_on_hit(msdbg_recording* recording, const char* hit) {
  return statusOf(recording, [&](auto& rank) { return rank.finishOnHit(text(hit)); });
}

// Another thread of the parent may have held the lock: it is not taken.
void msdbg_record_child(msdbg_recording* recording) { recording->rank->leaveToParent(); }
