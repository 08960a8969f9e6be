// PyTorch as a peer: its timings come from a Python process that runs torch_peer.py or torch_gpu_peer.py with the
// families' peer.py beside it. All of them are part of this binary.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "bench/peers.h"
#include "contract/registry.h"

namespace tokitai::bench {
namespace {

constexpr const char* kScript =
#include "torch_peer.inc"
    ;
constexpr const char* kGpuScript =
#include "torch_gpu_peer.inc"
    ;

std::string request(const problems::Problem& problem) {
  constexpr const char* spreads[] = {"uniform", "zipf", "equal"};
  nlohmann::json sizes = nlohmann::json::object();
  for (const auto& [name, value] : problem.sizes) sizes[name] = value;
  nlohmann::json optional = nlohmann::json::array();  // the optional operands that are given
  for (const OperandSpec& spec : problem.contract->operands)
    if (spec.optional && problem.gives(spec, 0)) optional.push_back(spec.name);
  nlohmann::json options = nlohmann::json::object();
  for (const auto& [name, value] : problem.options) options[name] = value;
  return nlohmann::json{{"key", problem.text()},
                        {"operator", problem.contract->name},
                        {"sizes", sizes},
                        {"options", options},
                        {"to", name_of(problem.to)},
                        {"list", problem.list},
                        {"optional", optional},
                        {"type", name_of(problem.storage)},
                        {"spread", spreads[static_cast<std::size_t>(problem.spread)]}}
      .dump();
}

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
Result<Peer> ask(const char* script, int argument, const std::vector<problems::Problem>& problems,
                 const std::string& python) {
  const std::string interpreter = python.empty() ? "python3" : python;
  if (std::system(fmt::format("{} -c 'import torch' >/dev/null 2>&1", quoted(interpreter)).c_str()) != 0)
    return Status(
        Code::unavailable,
        fmt::format("no PyTorch: '{} -c \"import torch\"' failed; --python names another Python", interpreter));
  auto folder = base::TemporaryFolder::make();
  if (!folder.ok()) return folder.status();
  std::string lines;
  for (const problems::Problem& problem : problems) lines += request(problem) + "\n";
  std::vector<std::pair<std::string, std::string>> files{{"peer.py", script}, {"problems", lines}};
  for (const problems::Problem& problem : problems)
    files.emplace_back(fmt::format("peer_{}.py", problem.contract->family()),
                       find_operator(*problem.contract)->folder->peer);
  for (const auto& [name, text] : files)
    if (Status s = base::write_file(folder->path() / name, text); !s.ok()) return s;
  const std::string command = fmt::format("{} {} {} {} < {} 2>/dev/null", kWarmMemory, quoted(interpreter),
                                          quoted((folder->path() / "peer.py").string()), argument,
                                          quoted((folder->path() / "problems").string()));
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

Result<Peer> torch_peer(const std::vector<problems::Problem>& problems, int threads, const std::string& python) {
  return ask(kScript, threads, problems, python);
}
Result<Peer> torch_gpu_peer(const std::vector<problems::Problem>& problems, int index, const std::string& python) {
  return ask(kGpuScript, index, problems, python);
}

}  // namespace tokitai::bench
