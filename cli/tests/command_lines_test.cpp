// No command line makes the command crash, whatever is written there: random lines (random_lines.h), each run in a
// process forked for it, some of them with standard output or error that cannot be written. A line must end with one of
// the documented codes but 4; where it refuses it must say why, in one sentence with nothing in it that a terminal
// would act on, and bad usage must not have changed a file. TOKITAI_COMMAND_LINES says how many lines are tried; `make
// fuzz` tries 100,000.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "cli/commands.h"
#include "cli/npy.h"
#include "cli/tests/random_lines.h"

namespace tokitai::cli {
namespace {

namespace fs = std::filesystem;

// Once they have begun, these work as long as they like: what is asked here is whether they begin.
const std::map<std::string, double> kWorking = {{"verify", 0.2}, {"accuracy", 0.2}, {"gradients", 0.2},
                                                {"bench", 0.1},  {"prove", 0.1},    {"serve", 0.1}};
constexpr double kSeconds = 60;  // the others must have ended by then

// What standard output and error of a line are.
enum class Kind : std::uint8_t { good, full, closed, unread };
struct Streams {
  Kind out = Kind::good, error = Kind::good;
};
Streams random_streams(std::uint64_t number) {
  std::mt19937_64 bits(number);
  const auto kind = [&] {
    const std::uint64_t drawn = bits() % 16;
    return drawn == 0 ? Kind::full : drawn == 1 ? Kind::closed : drawn == 2 ? Kind::unread : Kind::good;
  };
  const Kind out = kind();
  return {out, kind()};
}
// As a shell would take it.
std::string shown(const char* direction, Kind kind) {
  if (kind == Kind::good) return "";
  return fmt::format(" {}{}", direction, kind == Kind::full ? "/dev/full" : kind == Kind::closed ? "&-" : " >(true)");
}
int unread_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) == 0) close(ends[0]);
  return ends[1];
}
void put_behind(int descriptor, Kind kind, int good) {
  switch (kind) {
    case Kind::good: dup2(good, descriptor); break;
    case Kind::full: dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), descriptor); break;
    case Kind::closed: close(descriptor); break;
    case Kind::unread: dup2(unread_pipe(), descriptor); break;
  }
}

struct Ending {
  int status = 0;  // as waitpid gives it
  std::string said;
  bool cut() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM; }
  int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }
};

// As a shell would take it.
std::string quoted(const std::vector<std::string>& words) {
  std::string text = "tokitai";
  for (const std::string& word : words) {
    text += " $'";
    for (const char c : word)
      text += c == '\'' || c == '\\' || c < ' ' || c == 0x7f ? fmt::format("\\x{:02x}", static_cast<unsigned char>(c))
                                                             : std::string(1, c);
    text += "'";
  }
  return text;
}

// What a folder holds, without reading it: a file that is replaced or written has another number or time.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat about{};
    if (lstat(entry.path().c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    all[entry.path().string()] =
        fmt::format("{} {} {} {}", about.st_ino, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
  }
  return all;
}

// A folder with files that lines name, put back to what it was after every line that changed it.
class Scratch {
 public:
  explicit Scratch(const fs::path& root) : root_(root), first_(root / "first"), work_(root / "here/work") {
    fs::remove_all(root);
    for (const fs::path& folder : {first_ / "a_folder", work_, root / "cache"}) fs::create_directories(folder);
    for (const auto& [type, npy] :
         {std::pair(Type::f16, NpyType::f2), {Type::f32, NpyType::f4}, {Type::i64, NpyType::i8}})
      for (const int rank : {1, 2}) {
        const NpyHeader header{npy, std::vector<std::int64_t>(static_cast<std::size_t>(rank), 3), 0};
        std::ofstream(first_ / file_for(type, rank), std::ios::binary)
            << npy_header_text(header) << std::string(static_cast<std::size_t>(header.bytes()), '\0');
      }
    fs::create_symlink("out.json", first_ / "link");
    run({"key", "new", (first_ / "mine.key").string()}, kSeconds);
    run({"verify", "--problem", "softmax.forward rows=2 cols=3", "--no-figures", "--report", first_.string()},
        kSeconds);
    EXPECT_TRUE(fs::exists(first_ / "evidence.json") && fs::exists(first_ / "mine.key.pub"));
    restore();
  }

  // Runs a line here. Whoever it left behind is ended too.
  Ending run(const std::vector<std::string>& words, double seconds, Streams streams = {}) {
    const fs::path output = root_ / "said";
    const pid_t child = fork();
    if (child == 0) {
      setpgid(0, 0);
      std::_Exit(child_main(words, seconds, streams, output));
    }
    Ending ending;
    while (waitpid(child, &ending.status, 0) < 0 && errno == EINTR) {}
    kill(-child, SIGKILL);
    std::ifstream said(output, std::ios::binary);
    ending.said.assign(std::istreambuf_iterator<char>(said), {});
    return ending;
  }

  // Whether a file is not what it was before; from then on it is again.
  bool changed() {
    if (contents(work_) == held_) return false;
    restore();
    return true;
  }

 private:
  int child_main(const std::vector<std::string>& words, double seconds, Streams streams, const fs::path& output) const {
    std::signal(SIGALRM, SIG_DFL);
    itimerval limit{};
    limit.it_value = {static_cast<time_t>(seconds), static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6)};
    setitimer(ITIMER_REAL, &limit, nullptr);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const rlimit memory{rlim_t{2} << 30, rlim_t{2} << 30};
    setrlimit(RLIMIT_AS, &memory);
#endif
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int said = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (chdir(work_.c_str()) != 0 || nothing < 0 || said < 0) return 99;
    dup2(nothing, STDIN_FILENO);
    put_behind(STDOUT_FILENO, streams.out, nothing);
    put_behind(STDERR_FILENO, streams.error, said);
    std::vector<const char*> argv{"tokitai"};
    for (const std::string& word : words) argv.push_back(word.c_str());
    const int code = run_command(static_cast<int>(argv.size()), argv.data());
    std::exit(code);  // what is destroyed at the end must not crash either
  }

  void restore() {
    fs::remove_all(work_);
    fs::copy(first_, work_, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    held_ = contents(work_);
  }

  fs::path root_, first_, work_;
  std::map<std::string, std::string> held_;
};

// Whether that is one sentence: what belongs to it, such as a compiler's log, is indented.
bool one_sentence(const std::string& said) {
  if (!said.starts_with("tokitai: ") || !said.ends_with('\n')) return false;
  for (std::size_t end = said.find('\n'); end + 1 < said.size(); end = said.find('\n', end + 1))
    if (said.compare(end + 1, 2, "  ") != 0) return false;
  return true;
}

// What is wrong with how a line ended; nothing where all is well.
std::string finding(const std::vector<std::string>& words, const Ending& ending, Streams streams, bool changed) {
  const std::string command = words.empty() ? "" : words.front();
  const int code = ending.code();
  if (ending.cut()) return kWorking.contains(command) ? "" : fmt::format("did not end within {} s", kSeconds);
  if (code < 0) return fmt::format("signal {}", WTERMSIG(ending.status));
  if (command == "worker") return code == 99 ? "the folder is gone" : "";  // its codes are an older protocol's
  if (code > 3) return fmt::format("code {}: {}", code, ending.said);
  if (code < 2) return "";
  if (changed && code == 2) return fmt::format("code {}, but a file was changed: {}", code, ending.said);
  const auto acts = [](char c) { return (c >= 0 && c < ' ' && c != '\n') || c == 0x7f; };
  if (std::any_of(ending.said.begin(), ending.said.end(), acts)) return "control characters: " + ending.said;
  return one_sentence(ending.said) || words.empty() || streams.error != Kind::good
             ? ""
             : fmt::format("code {} without one sentence: {}", code, ending.said);
}

// One of several processes that share the lines; its findings, one a line, in a file.
void try_lines(std::uint64_t first, std::uint64_t end, std::uint64_t step, const fs::path& root) {
  int exit_code = 0;
  const auto app = command_line(exit_code);
  const auto commands = known_commands(*app);
  Scratch scratch(root);
  std::ofstream found(root.string() + ".found");
  std::map<int, int> codes;
  std::map<std::string, int> cut;
  for (std::uint64_t number = first; number < end; number += step) {
    const auto words = random_line(commands, number);
    const std::string command = words.empty() ? "" : words.front();
    const auto limit = kWorking.find(command);
    const Streams streams = random_streams(number);
    const Ending ending = scratch.run(words, limit == kWorking.end() ? kSeconds : limit->second, streams);
    ++codes[ending.code()];
    if (ending.cut()) ++cut[command];
    const bool changed = scratch.changed();
    if (const std::string what = finding(words, ending, streams, changed); !what.empty())
      found << fmt::format("line {}: {}\n  {}{}{}", number, what, quoted(words), shown(">", streams.out),
                           shown("2>", streams.error))
            << std::endl;
  }
  for (const int code : {0, 2, 3}) EXPECT_GT(codes[code], 0) << "no line ended with code " << code;
  std::ofstream(root.string() + ".codes") << fmt::format("{} cut {}\n", codes, cut);
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CommandLines, EveryFlagOfEveryCommandIsTried) {
  int exit_code = 0;
  const auto app = command_line(exit_code);
  const auto commands = known_commands(*app);
  std::set<std::string> tried;
  for (std::uint64_t number = 0; number < 5000; ++number) {
    const auto words = random_line(commands, number);
    for (const std::string& word : words) tried.insert(words.front() + " " + word);
  }
  for (const KnownCommand& command : commands)
    for (const KnownCommand::Flag& flag : command.flags) {
      const std::string name = command.words.empty() ? flag.name : command.words.front();
      EXPECT_TRUE(tried.contains(name + " " + flag.name)) << name << " " << flag.name;
    }
}

TEST(CommandLines, EveryLineEndsInADocumentedWay) {
  const char* asked = std::getenv("TOKITAI_COMMAND_LINES");
  const std::uint64_t lines = asked != nullptr ? std::strtoull(asked, nullptr, 10) : TK_COMMAND_LINES;
  const fs::path root = fs::path(::testing::TempDir()) / fmt::format("command_lines_{}", getpid());
  fs::create_directories(root);
  // No device and no compiler of this machine: what a line does is the same everywhere, and none waits for a compiler.
  for (const char* name :
       {"TOKITAI_CUDA_DRIVER", "TOKITAI_HIP_RUNTIME", "TOKITAI_NVRTC", "TOKITAI_CLANG", "TOKITAI_CXX"})
    setenv(name, "/nonexistent/nothing", 1);
  setenv("TOKITAI_CACHE", (root / "kernels").c_str(), 1);
  const std::uint64_t processes = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
  std::vector<pid_t> children;
  for (std::uint64_t p = 0; p < processes; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      try_lines(p, lines, processes, root / fmt::format("{}", p));
      std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (std::uint64_t p = 0; p < processes; ++p) {
    int status = 0;
    waitpid(children[p], &status, 0);
    EXPECT_EQ(status, 0);
    const std::string name = (root / fmt::format("{}", p)).string();
    EXPECT_EQ(text_of(name + ".found"), "");
    fmt::print("{}", text_of(name + ".codes"));
  }
  fs::remove_all(root);
}

}  // namespace
}  // namespace tokitai::cli

// `bench --workers` starts the program it runs in as the command.
int main(int argc, char** argv) {
  if (argc > 1 && !std::string_view(argv[1]).starts_with("--gtest")) return tokitai::cli::run_command(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
