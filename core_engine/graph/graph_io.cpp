#include "core_engine/graph/graph_io.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>

#include "core_engine/graph/graph.pb.h"
#include "core_engine/graph/verify.h"

namespace msdbg::core {
namespace {

constexpr std::uint32_t kMostRevision = 1'000'000;

namespace pb = msdbg::graph;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr std::uint32_t kFormat = 3;
static_assert(pb::DType_MAX == static_cast<int>(kDTypes.size()));
constexpr std::size_t kMaxBytes = 256u << 20;
constexpr std::int64_t kMaxMessages =
    4'000'000;  // far above any graph; bounds what a small file can make us allocate

std::uint32_t entries(const pb::Graph& g) {
  return static_cast<std::uint32_t>(g.frames_size() + g.tensors_size() + g.nodes_size() + g.kernels_size());
}

constexpr std::size_t kFirstAttributeKinds = 4;  // of AttributeValue, that formats 1 and 2 have

bool needsFormat3(const Node& node) {
  return !node.isOwn() || std::ranges::any_of(node.attributes, [](const auto& attribute) {
    return attribute.second.index() >= kFirstAttributeKinds;
  });
}

/// The oldest format that says all of the graph: whoever reads that one only can read it.
std::uint32_t formatOf(const Graph& graph) {
  if (std::ranges::any_of(graph.nodes(), needsFormat3)) return 3;
  std::uint32_t format = 1;
  for (const TensorInfo& info : graph.tensors()) {
    if (info.initializer.kind > Initializer::Kind::kKaimingNormal) format = std::max(format, 2u);
    if (!isComputed(info.dtype) || info.value.valid()) format = 3;  // others than the first six dtypes
  }
  return isComputed(graph.floatingDType()) ? format : 3;
}

// --- writing
// -------------------------------------------------------------------------------------------------------

class Writer {
 public:
  pb::Graph write(const Graph& graph) {
    text("");
    m_out.set_format(formatOf(graph));
    m_out.set_name_text(text(graph.name()));
    m_out.set_floating_dtype(static_cast<pb::DType>(graph.floatingDType()));
    m_out.set_version(graph.version());
    for (const Frame& frame : graph.frames()) write(frame, *m_out.add_frames());
    for (const TensorInfo& info : graph.tensors()) write(info, *m_out.add_tensors());
    for (const Node& node : graph.nodes()) write(node, *m_out.add_nodes());
    for (const Kernel& kernel : graph.kernels()) write(kernel, *m_out.add_kernels());
    for (const auto& [path, className] : graph.modules()) {
      pb::Module& module = *m_out.add_modules();
      module.set_path_text(text(path));
      module.set_class_text(text(className));
    }
    m_out.set_entries_plus_one(entries(m_out) + 1);
    return std::move(m_out);
  }

 private:
  std::uint32_t text(const std::string& value) {
    const auto [place, isNew] = m_texts.emplace(value, static_cast<std::uint32_t>(m_texts.size()));
    if (isNew) m_out.add_strings(value);
    return place->second;
  }
  template <typename Id>
  static std::uint32_t plusOne(Id id) {
    return static_cast<std::uint32_t>(id.value + 1);
  }
  template <typename Ids, typename Field>
  static void writeIds(const Ids& ids, Field* field) {
    for (const auto id : ids) field->Add(static_cast<std::uint32_t>(id.value));
  }

  void write(const Frame& frame, pb::Frame& out) {
    out.set_file_text(text(frame.file));
    out.set_line(frame.line);
    out.set_function_text(text(frame.function));
    out.set_code_text(text(frame.code));
    out.set_engine(frame.engine);
  }

  void write(const TensorInfo& info, pb::Tensor& out) {
    out.set_name_text(text(info.name));
    out.set_slot(info.slot);
    out.set_dtype(static_cast<pb::DType>(
        info.dtype == DType::Unsupported ? info.dtypeNumber : static_cast<std::int32_t>(info.dtype)));
    for (const std::int64_t d : info.shape.dims()) out.add_shape(d);
    out.set_role(static_cast<pb::Role>(info.role));
    out.set_producer_plus_one(plusOne(info.producer));
    out.set_alias_text(text(info.alias));
    out.set_gradient_of_plus_one(plusOne(info.gradientOf));
    out.set_update_of_plus_one(plusOne(info.updateOf));
    out.set_replicated(info.replicated);
    for (const std::int32_t rank : info.replicas) out.add_replicas(rank);
    out.set_trainable(info.trainable);
    if (info.initializer != Initializer{}) {
      out.mutable_initializer()->set_kind(static_cast<pb::Initializer::Kind>(info.initializer.kind));
      out.mutable_initializer()->set_value(info.initializer.value);
      out.mutable_initializer()->set_high(info.initializer.high);
    }
    writeIds(info.frames, out.mutable_frames());
    if (info.value.valid()) write(info.value, *out.mutable_value());
    out.set_device_text(text(info.device));
  }

  static void write(const Tensor& tensor, pb::TensorData& out) {
    if (!tensor.valid()) return;  // of a later version's dtype: read as such again
    out.set_dtype(static_cast<pb::DType>(tensor.dtype()));
    for (const std::int64_t d : tensor.shape().dims()) out.add_shape(d);
    out.set_data(tensor.raw(), tensor.bytes());
  }

  void write(const AttributeValue& value, pb::Attribute& out) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) out.set_integer(*integer);
    if (const auto* number = std::get_if<double>(&value)) out.set_number(*number);
    if (const auto* string = std::get_if<std::string>(&value)) out.set_string_text(text(*string));
    if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value))
      out.mutable_integers()->mutable_values()->Add(integers->begin(), integers->end());
    if (const auto* flag = std::get_if<bool>(&value)) out.set_flag(*flag);
    if (const auto* numbers = std::get_if<std::vector<double>>(&value))
      out.mutable_numbers()->mutable_values()->Add(numbers->begin(), numbers->end());
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
      out.mutable_texts();
      for (const std::string& one : *texts) out.mutable_texts()->add_values(text(one));
    }
    if (const auto* tensor = std::get_if<TensorValue>(&value)) write(tensor->tensor, *out.mutable_tensor());
  }

  void write(const Node& node, pb::Node& out) {
    out.set_name_text(text(node.name));
    out.set_op_type_text(text(node.opType));
    out.set_scope_text(text(node.scope));
    out.set_phase(static_cast<pb::Phase>(node.phase));
    writeIds(node.inputs, out.mutable_inputs());
    writeIds(node.outputs, out.mutable_outputs());
    for (const auto& [name, value] : node.attributes) {
      pb::Attribute& attribute = *out.add_attributes();
      attribute.set_name_text(text(name));
      write(value, attribute);
    }
    writeIds(node.frames, out.mutable_frames());
    out.set_derived_from_plus_one(plusOne(node.derivedFrom));
    if (!node.isOwn()) out.set_domain_text(text(node.domain));
  }

  void write(const Kernel& kernel, pb::Kernel& out) {
    out.set_name_text(text(kernel.name));
    writeIds(kernel.nodes, out.mutable_nodes());
    for (const int revision : kernel.revisions) out.add_revisions(static_cast<std::uint32_t>(revision));
    out.set_implementation_text(text(kernel.implementation));
  }

  pb::Graph m_out;
  std::unordered_map<std::string, std::uint32_t> m_texts;  // looked up only, never walked
};

// --- reading
// -------------------------------------------------------------------------------------------------------

/// Counts the messages in `bytes` without making any; false when the bytes are no fields at all. Only Graph's
/// and Node's own fields hold messages that can be small and many.
bool countMessages(CodedInputStream& in, bool top, std::int64_t& count) {
  for (std::uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    std::uint32_t length = 0;
    if (++count > kMaxMessages || !in.ReadVarint32(&length) || length > kMaxBytes) return false;
    if (top && WireFormatLite::GetTagFieldNumber(tag) == pb::Graph::kNodesFieldNumber) {
      const auto limit = in.PushLimit(static_cast<int>(length));
      if (!countMessages(in, false, count)) return false;
      in.PopLimit(limit);
    } else if (!in.Skip(static_cast<int>(length))) {
      return false;
    }
  }
  return in.ConsumedEntireMessage();
}

bool fewMessages(std::span<const std::byte> bytes) {
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  std::int64_t count = 0;
  return countMessages(in, true, count);
}

class Reader {
 public:
  Reader(const pb::Graph& in, const std::string& origin) : m_in(in), m_origin(origin) {}

  Result<Graph> read() {
    for (const pb::Frame& in : m_in.frames()) readFrame(in, m_frames.emplace_back());
    for (const pb::Tensor& in : m_in.tensors()) readTensor(in, m_tensors.emplace_back());
    for (const pb::Node& in : m_in.nodes()) readNode(in, m_nodes.emplace_back());
    for (const pb::Kernel& in : m_in.kernels()) readKernel(in, m_kernels.emplace_back());
    const std::string name = text(m_in.name_text());
    const DType floating = dtypeOf(m_in.floating_dtype());
    if (floating != DType::Unsupported && !isFloating(floating)) fail("the floating dtype is none");
    if (m_in.version() < 0) fail("the version is negative");
    if (!m_status.ok()) return m_status.error();
    Graph graph = Graph::fromTables(name, floating, m_in.version(), std::move(m_nodes), std::move(m_tensors),
                                    std::move(m_frames), std::move(m_kernels));
    for (const pb::Module& in : m_in.modules()) graph.addModule(text(in.path_text()), text(in.class_text()));
    if (!m_status.ok()) return m_status.error();
    if (const Status status = verify(graph); !status.ok())
      return Error(ErrorCode::kDamaged, m_origin + ": " + status.error().message());
    return graph;
  }

 private:
  void fail(const std::string& what) {
    if (m_status.ok()) m_status = Error(ErrorCode::kDamaged, m_origin + ": damaged graph: " + what);
  }
  std::string text(std::uint32_t index) {
    if (index < static_cast<std::uint32_t>(m_in.strings_size())) return m_in.strings(static_cast<int>(index));
    fail("text " + std::to_string(index) + " of " + std::to_string(m_in.strings_size()) + " does not exist");
    return "";
  }
  template <typename Enum>
  Enum enumOf(int value, int first, int last, const char* what) {
    if (value >= first && value <= last) return static_cast<Enum>(value);
    fail(std::string("unknown ") + what + " " + std::to_string(value));
    return static_cast<Enum>(first);
  }
  /// A number of a later version costs that tensor's values, not the graph.
  static DType dtypeOf(int number) { return dtypeFromNumber(number).value_or(DType::Unsupported); }
  template <typename Id>
  Id idOf(std::uint32_t index, int count, const char* what) {
    if (index < static_cast<std::uint32_t>(count)) return Id(static_cast<std::int64_t>(index));
    fail(std::string(what) + " " + std::to_string(index) + " of " + std::to_string(count) +
         " does not exist");
    return {};
  }
  template <typename Id>
  Id optionalId(std::uint32_t plusOne, int count, const char* what) {
    return plusOne == 0 ? Id{} : idOf<Id>(plusOne - 1, count, what);
  }
  template <typename Id, typename Field>
  std::vector<Id> idsOf(const Field& field, int count, const char* what) {
    std::vector<Id> ids;
    for (const std::uint32_t index : field) ids.push_back(idOf<Id>(index, count, what));
    return ids;
  }

  void readFrame(const pb::Frame& in, Frame& frame) {
    frame.file = text(in.file_text());
    frame.line = in.line();
    frame.function = text(in.function_text());
    frame.code = text(in.code_text());
    frame.engine = in.engine();
  }

  void readTensor(const pb::Tensor& in, TensorInfo& info) {
    info.id = TensorId(static_cast<std::int64_t>(m_tensors.size()) - 1);
    info.name = text(in.name_text());
    info.slot = in.slot();
    info.dtype = dtypeOf(in.dtype());
    if (info.dtype == DType::Unsupported) info.dtypeNumber = in.dtype();
    if (in.dtype() == pb::DTYPE_NONE) fail("tensor " + info.name + " has no dtype");
    info.shape = Shape(std::vector<std::int64_t>(in.shape().begin(), in.shape().end()));
    info.role = enumOf<TensorRole>(in.role(), 1, 10, "role");
    info.producer = optionalId<NodeId>(in.producer_plus_one(), m_in.nodes_size(), "node");
    info.alias = text(in.alias_text());
    info.gradientOf = optionalId<TensorId>(in.gradient_of_plus_one(), m_in.tensors_size(), "tensor");
    info.updateOf = optionalId<TensorId>(in.update_of_plus_one(), m_in.tensors_size(), "tensor");
    info.replicated = in.replicated();
    info.replicas.assign(in.replicas().begin(), in.replicas().end());
    if (!info.replicas.empty() && (info.replicas[0] < 0 || !std::ranges::is_sorted(info.replicas)))
      fail("the ranks that share " + info.name + " are not in order");
    info.trainable = in.trainable();
    info.initializer.kind = enumOf<Initializer::Kind>(in.initializer().kind(), 0, 5, "initializer");
    info.initializer.value = in.initializer().value();
    info.initializer.high = in.initializer().high();
    info.frames = idsOf<FrameId>(in.frames(), m_in.frames_size(), "frame");
    if (in.has_value()) info.value = readTensorData(in.value(), "the value of " + info.name);
    info.device = text(in.device_text());
  }

  /// nullopt: extents that no file can hold, one of which may be 0.
  static std::optional<std::size_t> bytesOf(DType dtype, const pb::TensorData& in) {
    std::size_t bytes = dtypeSize(dtype);
    for (const std::int64_t d : in.shape()) {
      if (d < 0 || (d > 0 && bytes > kMaxBytes / static_cast<std::size_t>(d))) return std::nullopt;
      bytes *= static_cast<std::size_t>(std::max<std::int64_t>(d, 1));
    }
    return std::ranges::count(in.shape(), 0) > 0 ? 0 : bytes;
  }

  Tensor readTensorData(const pb::TensorData& in, const std::string& what) {
    const DType dtype = dtypeOf(in.dtype());
    if (dtype == DType::Unsupported) return {};  // of a later version: without its value
    if (bytesOf(dtype, in) != in.data().size()) {
      fail(what + " has " + std::to_string(in.data().size()) + " bytes, which its shape does not say");
      return {};
    }
    Tensor tensor(dtype, Shape(std::vector<std::int64_t>(in.shape().begin(), in.shape().end())));
    std::ranges::copy(std::as_bytes(std::span(in.data())), tensor.byteSpan().begin());
    return tensor;
  }

  AttributeValue readValue(const pb::Attribute& in) {
    switch (in.value_case()) {
      case pb::Attribute::kInteger:
        return in.integer();
      case pb::Attribute::kNumber:
        return in.number();
      case pb::Attribute::kStringText:
        return text(in.string_text());
      case pb::Attribute::kIntegers:
        return std::vector<std::int64_t>(in.integers().values().begin(), in.integers().values().end());
      case pb::Attribute::kFlag:
        return in.flag();
      case pb::Attribute::kNumbers:
        return std::vector<double>(in.numbers().values().begin(), in.numbers().values().end());
      case pb::Attribute::kTexts: {
        std::vector<std::string> texts;
        for (const std::uint32_t index : in.texts().values()) texts.push_back(text(index));
        return texts;
      }
      case pb::Attribute::kTensor:
        return TensorValue{readTensorData(in.tensor(), "attribute " + text(in.name_text()))};
      case pb::Attribute::VALUE_NOT_SET:
        break;
    }
    fail("attribute " + text(in.name_text()) + " has no value");
    return std::int64_t{0};
  }

  void readNode(const pb::Node& in, Node& node) {
    node.id = NodeId(static_cast<std::int64_t>(m_nodes.size()) - 1);
    node.name = text(in.name_text());
    node.opType = text(in.op_type_text());
    node.scope = text(in.scope_text());
    node.phase = enumOf<Phase>(in.phase(), 1, 4, "phase");
    node.inputs = idsOf<TensorId>(in.inputs(), m_in.tensors_size(), "tensor");
    node.outputs = idsOf<TensorId>(in.outputs(), m_in.tensors_size(), "tensor");
    for (const pb::Attribute& attribute : in.attributes())
      if (!node.attributes.emplace(text(attribute.name_text()), readValue(attribute)).second)
        fail("node " + node.name + " has the attribute " + text(attribute.name_text()) + " twice");
    node.frames = idsOf<FrameId>(in.frames(), m_in.frames_size(), "frame");
    node.derivedFrom = optionalId<NodeId>(in.derived_from_plus_one(), m_in.nodes_size(), "node");
    if (in.domain_text() != 0) node.domain = text(in.domain_text());
  }

  void readKernel(const pb::Kernel& in, Kernel& kernel) {
    kernel.id = KernelId(static_cast<std::int64_t>(m_kernels.size()) - 1);
    kernel.name = text(in.name_text());
    kernel.nodes = idsOf<NodeId>(in.nodes(), m_in.nodes_size(), "node");
    if (in.revisions_size() != 0 && in.revisions_size() != in.nodes_size())
      fail("kernel " + kernel.name + " has revisions of " + std::to_string(in.revisions_size()) + " of its " +
           std::to_string(in.nodes_size()) + " nodes");
    for (const std::uint32_t revision : in.revisions()) {
      if (revision > kMostRevision) fail("kernel " + kernel.name + " has an impossible revision");
      kernel.revisions.push_back(static_cast<int>(std::min(revision, kMostRevision)));
    }
    kernel.implementation = text(in.implementation_text());
  }

  const pb::Graph& m_in;
  const std::string& m_origin;
  Status m_status;
  std::vector<Frame> m_frames;
  std::vector<TensorInfo> m_tensors;
  std::vector<Node> m_nodes;
  std::vector<Kernel> m_kernels;
};

}  // namespace

std::string serializeGraph(const Graph& graph) {
  const pb::Graph message = Writer().write(graph);
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

Result<Graph> parseGraph(std::span<const std::byte> bytes, const std::string& origin) {
  const auto damaged = [&](const std::string& what) {
    return Error(ErrorCode::kDamaged, origin + ": " + what);
  };
  if (bytes.size() > kMaxBytes) return damaged("larger than 256 MiB, no graph of msdbg");
  static const std::string kBroken = "not a graph, or cut short; restore the file from a copy of the run";
  if (!fewMessages(bytes)) return damaged(kBroken);
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  in.SetRecursionLimit(8);
  pb::Graph message;
  if (!message.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage()) return damaged(kBroken);
  if (message.format() > kFormat)
    return Error(ErrorCode::kUnsupported, origin + ": graph format " + std::to_string(message.format()) +
                                              " is newer than this msdbg; update msdbg");
  if (message.format() == 0 || message.entries_plus_one() != entries(message) + 1) return damaged(kBroken);
  return Reader(message, origin).read();
}

}  // namespace msdbg::core
