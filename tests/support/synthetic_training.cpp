// A training of any size without a framework, recorded through the C functions of msdbg_record.h as a
// recorder of PyTorch does at level train: for long and wide runs.
//
//   synthetic_training RUN RANKS PARAMETERS ITERATIONS [STEP_MS [JOBS]]
//
// What is recorded MSDBG_DUMP_OPTIONS says. Each parameter makes seven tensors: itself, its gradient, two
// states of AdamW, and what the update makes of the three. A rank is a process, JOBS of them at a time (1);
// rank 0 prints its resident memory after a tenth of the iterations and at the end, in kB.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dump/python/record/msdbg_record.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kElements = 16;  // a [4, 4] of float32
constexpr std::array<std::int64_t, 2> kShape = {4, 4};

struct Wanted {
  std::string run;
  int ranks = 1;
  std::int64_t parameters = 1, iterations = 1;
  double stepSeconds = 0;
  int jobs = 1;
};

std::int64_t checked(std::int64_t answer) {
  if (answer < 0) throw std::runtime_error(msdbg_record_error());
  return answer;
}

std::int64_t residentKilobytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE) / 1024;
}

// One rank of it.
class Rank {
 public:
  Rank(const Wanted& wanted, int rank) : m_wanted(wanted), m_rank(rank) {
    const std::string settings =
        R"({"run": ")" + wanted.run + R"(", "rank": )" + std::to_string(rank) + R"(, "ranks": )" +
        std::to_string(wanted.ranks) + R"(, "create": )" + (rank == 0 ? "true" : "false") +
        R"(, "command": ["train.py"], "program": "train.py", "launcher": false, "run_id": ")" +
        std::string(32, 'f') +
        R"(", "libraries": {"torch": "2.15.0"}, "backend": "pytorch cpu",)"
        R"( "level": "train", "seed": 0, "threads": 1})";
    m_recording = msdbg_record_open(settings.c_str());
    if (!m_recording) throw std::runtime_error(msdbg_record_error());
    m_float = msdbg_record_dtype("float32");
    define();
  }

  void train() {
    const Clock::time_point begin = Clock::now();
    for (std::int64_t i = 0; i < m_wanted.iterations; ++i) {
      iterate(i);
      std::this_thread::sleep_until(
          begin + std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(m_wanted.stepSeconds) * static_cast<double>(i + 1)));
      if (m_rank == 0 && (i + 1) * 10 == m_wanted.iterations) sayMemory(i + 1);
    }
    if (m_rank == 0) sayMemory(m_wanted.iterations);
    checked(msdbg_record_finish(m_recording, "finished", "", 0));
  }

 private:
  struct Parameter {
    std::array<std::int64_t, 3> sources = {}, updated = {};  // itself, exp_avg, exp_avg_sq
    std::int64_t backward = -1, gradient = -1, update = -1;
  };

  msdbg_tensor tensor(const std::string& name, const char* role, std::int64_t gradientOf = -1,
                      std::int64_t updateOf = -1) const {
    return {.name = name.c_str(),
            .alias = "",
            .role = role,
            .dtype = m_float,
            .trainable = role[0] == 'p',
            .dims = kShape.data(),
            .rank = 2,
            .frames = nullptr,
            .frame_count = 0,
            .gradient_of = gradientOf,
            .update_of = updateOf};
  }

  std::int64_t source(const std::string& name, const char* role) const {
    const msdbg_tensor made = tensor(name, role);
    return checked(msdbg_record_source(m_recording, &made));
  }

  std::int64_t node(const std::string& name, const char* type, const char* phase,
                    const std::vector<std::int64_t>& inputs, const std::vector<msdbg_tensor>& outputs,
                    std::int64_t* ids) const {
    const msdbg_node made = {.name = name.c_str(),
                             .domain = "torch",
                             .type = type,
                             .phase = phase,
                             .attributes = "{}",
                             .inputs = inputs.data(),
                             .input_count = static_cast<std::int32_t>(inputs.size()),
                             .outputs = outputs.data(),
                             .output_count = static_cast<std::int32_t>(outputs.size()),
                             .frames = &m_line,
                             .frame_count = 1,
                             .derived_from = -1};
    return checked(msdbg_record_node(m_recording, &made, ids));
  }

  void define() {
    m_line = checked(msdbg_record_frame(m_recording, "train.py", 10, "main", "loss.backward()", 0));
    m_input = source("Net/x", "input");
    m_forward = node("Net/forward-op1", "forward", "forward", {m_input}, {tensor("", "loss")}, &m_loss);
    for (std::int64_t i = 0; i < m_wanted.parameters; ++i) {
      const std::string name = "Net/layers/" + std::to_string(i / 10) + "/m" + std::to_string(i % 10);
      Parameter p;
      p.sources = {source(name + "/weight", "parameter"), source("state/" + name + "/exp_avg", "state"),
                   source("state/" + name + "/exp_avg_sq", "state")};
      p.backward = node("grad/" + name + "/AccumulateGrad-op1", "AccumulateGrad", "backward", {m_loss},
                        {tensor("", "gradient", p.sources[0])}, &p.gradient);
      p.update = node("update/" + name + "/AdamW-op1", "AdamW", "update",
                      {p.sources[0], p.gradient, p.sources[1], p.sources[2]},
                      {tensor("", "updated", -1, p.sources[0]), tensor("", "updated", -1, p.sources[1]),
                       tensor("", "updated", -1, p.sources[2])},
                      p.updated.data());
      m_parameters.push_back(p);
    }
  }

  // Another value for each tensor and iteration, none of them strange.
  void saw(std::int64_t id, std::int64_t seed) const {
    std::array<float, kElements> values;
    for (std::size_t i = 0; i < kElements; ++i)
      values[i] = 0.01F * static_cast<float>((seed * 31 + static_cast<std::int64_t>(i) * 17) % 97 - 48);
    checked(msdbg_record_saw(m_recording, id, values.data(), m_float, kShape.data(), 2));
  }

  void iterate(std::int64_t iteration) {
    const Clock::time_point begin = Clock::now();
    checked(msdbg_record_begin(m_recording, iteration));
    saw(m_input, iteration);
    checked(msdbg_record_ran(m_recording, m_forward));
    saw(m_loss, 1);
    for (const Parameter& p : m_parameters) {
      for (const std::int64_t id : p.sources) saw(id, id + iteration);
      checked(msdbg_record_ran(m_recording, p.backward));
      saw(p.gradient, p.gradient + iteration);
      checked(msdbg_record_ran(m_recording, p.update));
      for (std::size_t i = 0; i < 3; ++i) saw(p.updated[i], p.sources[i] + iteration + 1);
    }
    const char* const names[] = {"loss", "learning_rate", "step_time"};
    const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
    const double values[] = {2.0 + 1.0 / static_cast<double>(iteration + 1), 1e-3,
                             std::max(m_wanted.stepSeconds, spent)};
    checked(msdbg_record_end(m_recording, names, values, 3));
  }

  static void sayMemory(std::int64_t iterations) {
    std::printf("%lld iterations: %lld kB\n", static_cast<long long>(iterations),
                static_cast<long long>(residentKilobytes()));
    std::fflush(stdout);
  }

  const Wanted& m_wanted;
  int m_rank;
  msdbg_recording* m_recording = nullptr;  // the library's
  std::int32_t m_float = 0;
  std::int64_t m_line = 0, m_input = 0, m_loss = 0, m_forward = 0;
  std::vector<Parameter> m_parameters;
};

int trainRank(const Wanted& wanted, int rank) {
  try {
    Rank(wanted, rank).train();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    return 1;
  }
}

// One process has ended.
bool waitForOne() {
  int status = 0;
  return wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int trainAll(const Wanted& wanted) {
  bool well = true;
  int running = 0;
  for (int rank = 0; rank < wanted.ranks && well; ++rank) {
    if (running == wanted.jobs) well = waitForOne(), --running;
    if (fork() == 0) std::_Exit(trainRank(wanted, rank));
    ++running;
    for (int i = 0; i < 1000 && !std::filesystem::exists(wanted.run + "/run.json"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // rank 0 makes the folder
  }
  for (; running > 0; --running) well = waitForOne() && well;
  return well ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "synthetic_training RUN RANKS PARAMETERS ITERATIONS [STEP_MS [JOBS]]\n");
    return 2;
  }
  Wanted wanted{.run = std::filesystem::absolute(argv[1]).string(),
                .ranks = std::atoi(argv[2]),
                .parameters = std::atoll(argv[3]),
                .iterations = std::atoll(argv[4])};
  if (argc > 5) wanted.stepSeconds = std::atof(argv[5]) / 1000;
  if (argc > 6) wanted.jobs = std::max(1, std::atoi(argv[6]));
  return wanted.ranks == 1 ? trainRank(wanted, 0) : trainAll(wanted);
}
