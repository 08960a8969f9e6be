#include "loader/parts.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/at_once.h"
#include "base/files.h"
#include "base/sha256.h"
#include "compiler/cache.h"
#include "loader/diagnosis.h"
#include "loader/texts.h"
#include "tokitai/device.h"

namespace tokitai::loader {
namespace {

struct IsaFlags {
  const char* isa;
  std::vector<std::string> flags;
};
const std::vector<IsaFlags>& isa_flags() {
  static const std::vector<IsaFlags> all = {
#include "loader_flags.inc"
  };
  return all;
}

constexpr compiler::Target kHost{"operators", compiler::Vendor::host, 1, 0, false};

const std::string& headers_digest() {
  static const std::string digest = [] {
    base::PartsDigest all;
    for (const compiler::Header& header : headers()) all.add(header.name).add(header.text);
    return all.hex();
  }();
  return digest;
}

Words words_with(const void* intervals) {
  return {.describe = [](const Call& call) { return tokitai::describe(call); },
          .sets_of = [](const Call& call) { return tokitai::sets_of(call); },
          .dispatch = [](cpu::Pool& pool, std::int64_t units, cpu::Pool::Work work,
                         void* context) { pool.dispatch(units, work, context); },
          .reserve = [](cpu::Scratch& scratch, std::size_t bytes) { return scratch.reserve(bytes); },
          .intervals = intervals};
}

// The main file of a part.
std::string source_of(const Definition& definition, std::string_view part) {
  const bool cpu = part != "reference" && part != "analysis";
  std::string text = fmt::format("#define TK_HEADERS \"{}\"\n", headers_digest());
  if (cpu) text += fmt::format("#define TK_ISA {}\n", part);
  text += fmt::format("#include \"loader/part_{}.h\"\n#include \"{}\"\n", cpu ? "cpu" : part, definition.header);
  for (const std::string& name : definition.structs)
    text +=
        fmt::format("static_assert(std::is_base_of_v<{0}Contract, {0}>, \"{1} does not derive from {1}Contract\");\n",
                    name, name.substr(name.rfind(':') + 1));
  text += "TK_PART(";
  for (const std::string& name : definition.structs)
    text += fmt::format("{}entry<{}>()", &name == definition.structs.data() ? "" : ", ", name);
  return text + ")\n";
}

std::vector<std::string> options_of(std::string_view part) {
  std::vector<std::string> options{"-O2"};
  for (const IsaFlags& one : isa_flags())
    if (one.isa == part) {
      options = {"-O3"};
      options.insert(options.end(), one.flags.begin(), one.flags.end());
    }
  return options;
}

Result<compiler::Artifact> compiled(const Definition& definition, std::string_view part) {
  auto cache = compiler::Cache::open();
  if (!cache.ok()) return cache.status();
  std::vector<compiler::Header> included(headers().begin(), headers().end());
  included.push_back({definition.header, definition.text});
  const std::string label = fmt::format("{} for {}", definition.path, part);
  auto artifact = cache->get({label, source_of(definition, part), included, options_of(part)}, kHost);
  if (!artifact.ok() && artifact.status().code() == Code::internal)
    return diagnosis(definition, artifact.status().message());
  return artifact;
}

// From a folder that only its owner may enter and that is gone afterwards.
Result<const Table*> load(const std::string& binary, const Words& words, const std::string& path) {
  auto folder = base::TemporaryFolder::make();
  if (!folder.ok()) return folder.status();
  const std::filesystem::path file = folder->path() / "operators.so";
  if (Status s = base::write_file(file, binary); !s.ok()) return s;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Status(Code::unavailable, fmt::format("{}: its library does not load ({})", path, dlerror()));
  const auto part = reinterpret_cast<Part>(dlsym(library, kPart));
  const Table* table = part != nullptr ? part(&words) : nullptr;
  if (table == nullptr || table->version != kVersion || headers_digest() != table->headers ||
      table->call_bytes != sizeof(Call) || table->record_bytes != sizeof(Record))
    return Status(Code::internal, fmt::format("{}: its library was made for another version", path));
  return table;
}

}  // namespace

const std::vector<std::string>& part_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names{"reference"};
    for (const IsaFlags& one : isa_flags()) names.emplace_back(one.isa);
    names.emplace_back("analysis");
    return names;
  }();
  return all;
}

std::vector<std::string> first_parts() {
  std::vector<std::string> first{"reference"};
  const std::vector<std::string> isas = cpu_isas();
  if (!isas.empty()) first.push_back(isas.front());
  return first;
}

// No lock is held while compiling, because a fork could not take it: who comes second compiles too, finds it in the
// cache, and the first to be done is kept.
Result<const Table*> Parts::get(std::string_view part, const void* intervals) {
  const std::vector<std::string>& names = part_names();
  const auto place = static_cast<std::size_t>(std::find(names.begin(), names.end(), part) - names.begin());
  if (place >= std::min(names.size(), kMost))
    return Status(Code::internal, fmt::format("{}: no kernels for {}", definition_.path, part));
  std::atomic<const Table*>& kept = loaded_[place].table;
  if (const Table* table = kept.load(std::memory_order_acquire)) return table;
  auto artifact = compiled(definition_, part);
  if (!artifact.ok()) return artifact.status();
  auto words = std::make_unique<Words>(words_with(intervals));
  auto table = load(artifact->binary, *words, definition_.path);
  if (!table.ok()) return table.status();
  [[maybe_unused]] const Words* forever = words.release();  // the library calls through it as long as it is loaded
  const Table* before = nullptr;
  return kept.compare_exchange_strong(before, table.value()) ? table.value() : before;
}

Result<const Entry*> Parts::entry(std::string_view name, const Table& table) const {
  for (std::uint64_t i = 0; i < table.count; ++i)
    if (table.entries[i].name == name) return &table.entries[i];
  return Status(Code::internal, fmt::format("{}: its library lacks {}", definition_.path, name));
}

Result<const Entry*> Parts::reference(std::string_view name) {
  auto table = get("reference");
  if (!table.ok()) return table.status();
  return entry(name, *table.value());
}

Result<cpu::Kernel> Parts::cpu(std::string_view name, std::string_view isa) {
  auto table = get(isa);
  if (!table.ok()) return table.status();
  auto found = entry(name, *table.value());
  if (!found.ok()) return found.status();
  return found.value()->cpu;
}

Result<const analysis::Kernels*> Parts::analysis(std::string_view name, const void* intervals) {
  auto table = get("analysis", intervals);
  if (!table.ok()) return table.status();
  auto found = entry(name, *table.value());
  if (!found.ok()) return found.status();
  return found.value()->analysis;
}

Status Parts::prepare(const std::vector<std::string>& parts) {
  std::vector<std::optional<Status>> said(parts.size());
  base::at_once(parts.size(), [&](std::size_t i) { said[i] = get(parts[i]).status(); });
  for (const auto& status : said)
    if (!status->ok()) return *status;
  return {};
}

}  // namespace tokitai::loader
