// PyTorch as a peer: its timings come from a Python process that runs torch_peer.py or torch_gpu_peer.py, which are
// part of this binary.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/peers.h"

namespace tokitai::bench {
namespace {

constexpr const char* kScript =
#include "torch_peer.inc"
    ;
constexpr const char* kGpuScript =
#include "torch_gpu_peer.inc"
    ;

std::string request(const testing::Problem& problem) {
  constexpr const char* spreads[] = {"uniform", "zipf", "equal"};
  nlohmann::json sizes = nlohmann::json::object();
  for (const auto& [name, value] : problem.sizes) sizes[name] = value;
  nlohmann::json options = nlohmann::json::object();
  for (const auto& [name, value] : problem.options) options[name] = value;
  return nlohmann::json{{"key", problem.text()},
                        {"operator", problem.contract->name},
                        {"sizes", sizes},
                        {"options", options},
                        {"to", name_of(problem.to)},
                        {"list", problem.list},
                        {"type", name_of(problem.storage)},
                        {"spread", spreads[static_cast<std::size_t>(problem.spread)]}}
      .dump();
}

// A folder that is gone when this is.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    path_ = fmt::format("{}/tokitai-XXXXXX", base != nullptr ? base : "/tmp");
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    for (const char* name : {"peer.py", "problems"}) unlink(file(name).c_str());
    if (!path_.empty()) rmdir(path_.c_str());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  bool made() const { return !path_.empty(); }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A warm process has its memory: ours was touched before the clock starts. By default the C library maps every large
// tensor anew and gives it back, and page faults would be most of PyTorch's time (1.7 times the time of a softmax, 3.2
// of a gather). So everything comes from the heap, and the heap is never given back.
constexpr const char* kWarmMemory = "MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=1099511627776";

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// `argument` is the script's: how many threads, or which device.
Result<Peer> ask(const char* script, int argument, const std::vector<testing::Problem>& problems,
                 const std::string& python) {
  const std::string interpreter = python.empty() ? "python3" : python;
  if (std::system(fmt::format("{} -c 'import torch' >/dev/null 2>&1", quoted(interpreter)).c_str()) != 0)
    return Status(
        Code::unavailable,
        fmt::format("no PyTorch: '{} -c \"import torch\"' failed; --python names another Python", interpreter));
  const TemporaryFolder folder;
  if (!folder.made()) return Status(Code::unavailable, "cannot make a temporary folder for the torch peer");
  std::ofstream(folder.file("peer.py")) << script;
  {
    std::ofstream lines(folder.file("problems"));
    for (const testing::Problem& problem : problems) lines << request(problem) << '\n';
  }
  const std::string command = fmt::format("{} {} {} {} < {} 2>/dev/null", kWarmMemory, quoted(interpreter),
                                          quoted(folder.file("peer.py")), argument, quoted(folder.file("problems")));
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return Status(Code::unavailable, "cannot start " + interpreter);
  Peer peer;
  char* line = nullptr;
  std::size_t capacity = 0;
  while (getline(&line, &capacity, pipe) > 0) {
    const auto answer = nlohmann::json::parse(line, nullptr, false);
    if (!answer.is_object()) continue;
    if (answer.contains("version")) peer.name = "torch " + answer["version"].get<std::string>();
    if (!answer.contains("key")) continue;
    const auto key = answer["key"].get<std::string>();
    if (answer.contains("seconds")) peer.seconds[key] = answer["seconds"].get<double>();
    if (answer.contains("host_seconds")) peer.host_seconds[key] = answer["host_seconds"].get<double>();
    if (answer.contains("bytes")) peer.bytes[key] = answer["bytes"].get<double>();
    peer.notes[key] = answer.contains("error") ? answer["error"].get<std::string>() : answer.value("remark", "");
  }
  std::free(line);
  if (pclose(pipe) != 0 && peer.seconds.empty())
    return Status(Code::unavailable, interpreter + " failed while timing torch");
  return peer;
}

}  // namespace

Result<Peer> torch_peer(const std::vector<testing::Problem>& problems, int threads, const std::string& python) {
  return ask(kScript, threads, problems, python);
}
Result<Peer> torch_gpu_peer(const std::vector<testing::Problem>& problems, int index, const std::string& python) {
  return ask(kGpuScript, index, problems, python);
}

}  // namespace tokitai::bench
