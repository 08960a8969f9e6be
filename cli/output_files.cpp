// Temporaries and earlier contents live under names of this process until the last rename is done.
#include "cli/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace tokitai::cli {
namespace {

namespace fs = std::filesystem;

// What would end the process waits as long as this lives, and does so then, when no file is half of what it shall be. A
// handler and no mask: other threads would take what this one blocks.
class HeldSignals {
 public:
  HeldSignals() {
    held_ = 0;
    for (std::size_t i = 0; i < kEnding.size(); ++i) {
      struct sigaction hold{};
      hold.sa_handler = [](int signal) { held_ = signal; };
      sigaction(kEnding[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_DFL) sigaction(kEnding[i], &hold, nullptr);  // nohup's is left alone
    }
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() {
    for (std::size_t i = 0; i < kEnding.size(); ++i) sigaction(kEnding[i], &before_[i], nullptr);
    if (const int signal = held_) raise(signal);
  }
  static bool any() { return held_ != 0; }

 private:
  static constexpr std::array kEnding{SIGINT, SIGTERM, SIGHUP};
  static inline std::atomic<int> held_ = 0;
  std::array<struct sigaction, kEnding.size()> before_{};
};

bool write_bytes(int descriptor, const void* data, std::int64_t bytes) {
  constexpr std::int64_t kMost = 1 << 26;  // bytes between two looks at the signals
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    if (HeldSignals::any()) {
      errno = EINTR;
      return false;
    }
    const ssize_t done = write(descriptor, from, static_cast<std::size_t>(std::min(bytes, kMost)));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    from += done, bytes -= done;
  }
  return true;
}

// One destination on its way from old to new. Whatever was begun and not kept is undone by the destructor.
class Replacement {
 public:
  explicit Replacement(const OutputFile& file) : file_(file) {}
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    if (!temporary_.empty()) unlink(temporary_.c_str());
    if (!backup_.empty())
      restore();
    else if (renamed_)
      unlink(file_.path.c_str());
  }

  Status write_temporary() {
    const int descriptor = create();
    if (descriptor < 0) return failed("create a file beside");
    struct stat old{};
    bool good = stat(file_.path.c_str(), &old) != 0 || fchmod(descriptor, old.st_mode & 07777) == 0;
    good = good && write_bytes(descriptor, file_.head.data(), static_cast<std::int64_t>(file_.head.size()));
    good = good && write_bytes(descriptor, file_.data, file_.bytes);
    good = good && fsync(descriptor) == 0;
    const Status status = good ? Status() : failed("write");
    return close(descriptor) == 0 || !status.ok() ? status : failed("write");
  }

  Status rename_into_place() {
    if (access(file_.path.c_str(), F_OK) == 0) {
      const std::string backup = backup_of(temporary_);
      // Not every file system has links; without them the destination is missing for a moment.
      if (link(file_.path.c_str(), backup.c_str()) != 0 &&
          (errno == EEXIST || std::rename(file_.path.c_str(), backup.c_str()) != 0))
        return failed("keep the old content of");
      backup_ = backup;
    }
    if (std::rename(temporary_.c_str(), file_.path.c_str()) != 0) return failed("replace");
    renamed_ = true;
    temporary_.clear();
    return {};
  }

  void keep() {
    if (!backup_.empty()) unlink(backup_.c_str());
    backup_.clear();
    renamed_ = false;
  }

 private:
  static std::string backup_of(const std::string& temporary) { return temporary + ".old"; }
  int create() {
    const fs::path folder = fs::path(file_.path).parent_path();
    for (int number = 0;; ++number) {  // an earlier process of our number may have been killed at this very work
      const std::string name = (folder / fmt::format(".tokitai-{}-{}", getpid(), number)).string();
      if (fs::exists(fs::symlink_status(backup_of(name)))) continue;  // and may have left the only copy of a file
      const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor < 0 && errno == EEXIST) continue;
      if (descriptor >= 0) temporary_ = name;
      return descriptor;
    }
  }
  void restore() {
    std::rename(backup_.c_str(), file_.path.c_str());
    unlink(backup_.c_str());  // a rename between two links of one file does nothing
  }
  Status failed(std::string_view what) const {
    return Status::invalid(fmt::format("{}{}cannot {} {}: {}", file_.label, file_.label.empty() ? "" : ": ", what,
                                       file_.path, std::strerror(errno)));
  }

  const OutputFile& file_;
  std::string temporary_, backup_;
  bool renamed_ = false;
};

// The absolute path with every link followed, also the last one where it leads to a file that is yet to be made.
fs::path followed(const fs::path& path, std::error_code& error) {
  constexpr int kMostLinks = 40;  // as the kernel has it
  fs::path full = fs::weakly_canonical(fs::absolute(path, error), error);
  for (int links = 0; !error && fs::is_symlink(fs::symlink_status(full)); ++links) {
    if (links == kMostLinks) error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
    if (!error) full = fs::weakly_canonical(full.parent_path() / fs::read_symlink(full, error), error);
  }
  return full;
}

bool is_behind(int descriptor, const fs::path& path) {
  struct stat file{}, stream{};
  return stat(path.c_str(), &file) == 0 && fstat(descriptor, &stream) == 0 && file.st_dev == stream.st_dev &&
         file.st_ino == stream.st_ino;
}

}  // namespace

Result<std::string> destination(const std::string& path) {
  const auto refuse = [&](std::string_view why) {
    return Status::invalid(fmt::format("cannot write {}: {}", path, why));
  };
  if (path.empty()) return Status::invalid("the name of the file is missing");
  std::error_code error;
  const fs::path full = followed(path, error);
  if (error) return refuse(error.message());
  const fs::path folder = full.parent_path();
  if (!fs::is_directory(folder, error)) return refuse(fmt::format("there is no folder {}", folder.string()));
  const fs::file_status status = fs::status(full, error);
  if (fs::is_directory(status)) return refuse("it is a folder");
  // Renaming onto a device would take the device away.
  if (fs::exists(status) && !fs::is_regular_file(status)) return refuse("it is not a regular file");
  for (const auto& [stream, name] : {std::pair(STDOUT_FILENO, "standard output"), {STDERR_FILENO, "standard error"}})
    if (is_behind(stream, full)) return refuse(fmt::format("{} goes there, and what it holds would be lost", name));
  if (fs::exists(status) && access(full.c_str(), W_OK) != 0) return refuse(std::strerror(errno));
  if (access(folder.c_str(), W_OK | X_OK) != 0) return refuse(std::strerror(errno));
  return full.string();
}

void FileUses::reads(const std::string& what, const std::string& path) {
  std::error_code error;
  const fs::path full = followed(path, error);
  if (!error) read_.emplace(full.string(), what);
}

Status FileUses::take(const std::string& what, const std::string& where, const std::string& path) {
  if (const auto [other, is_new] = written_.emplace(where, what); !is_new)
    return Status::invalid(fmt::format("{} and {} would both be written to {}", other->second, what, path));
  return {};
}

Result<std::string> FileUses::writes(const std::string& what, const std::string& path,
                                     const std::vector<std::string>& over) {
  auto where = destination(path);
  if (!where.ok()) return Status::invalid(fmt::format("{}: {}", what, where.status().message()));
  const auto [first, last] = read_.equal_range(where.value());
  for (auto reader = first; reader != last; ++reader)
    if (reader->second != what && std::find(over.begin(), over.end(), reader->second) == over.end())
      return Status::invalid(
          fmt::format("{} would be written to {}, which {} is read from", what, path, reader->second));
  if (Status s = take(what, where.value(), path); !s.ok()) return s;
  return where;
}

Status FileUses::writes_text(const std::string& what, const std::string& path) {
  if (path.empty()) return {};
  if (path == kStandardOutput) return take(what, path, "standard output");
  return writes(what, path).status();
}

namespace {

Status replace_all(const std::vector<OutputFile>& files) {
  const HeldSignals held;
  std::vector<std::unique_ptr<Replacement>> replacements;
  for (const OutputFile& file : files) {
    if (file.path == kStandardOutput) continue;
    replacements.push_back(std::make_unique<Replacement>(file));
    if (Status status = replacements.back()->write_temporary(); !status.ok()) return status;
  }
  if (HeldSignals::any()) return {Code::unavailable, "interrupted"};
  for (const auto& replacement : replacements)
    if (Status status = replacement->rename_into_place(); !status.ok()) return status;
  for (const auto& replacement : replacements) replacement->keep();
  return {};
}

}  // namespace

Status write_all(const std::vector<OutputFile>& files) {
  if (Status status = replace_all(files); !status.ok()) return status;
  for (const OutputFile& file : files)
    if (file.path == kStandardOutput)
      std::fwrite(file.head.data(), 1, file.head.size(), stdout);  // run_command asks whether that went well
  return {};
}

Status add_text(std::vector<OutputFile>& files, const std::string& path, std::string text) {
  if (path.empty()) return {};
  if (path == kStandardOutput) {
    files.push_back({"", path, std::move(text)});
    return {};
  }
  auto where = destination(path);
  if (!where.ok()) return where.status();
  files.push_back({"", std::move(where).value(), std::move(text)});
  return {};
}

Status write_text(const std::string& path, std::string text) {
  std::vector<OutputFile> files;
  if (Status s = add_text(files, path, std::move(text)); !s.ok()) return s;
  return write_all(files);
}

Result<MadeFolder> MadeFolder::make(const std::string& path) {
  MadeFolder folder;
  std::error_code error;
  std::vector<fs::path> missing;  // the deepest first
  for (fs::path at = fs::absolute(path, error); !error && !fs::exists(at, error) && !error; at = at.parent_path())
    missing.push_back(at);
  for (auto at = missing.rbegin(); at != missing.rend() && !error; ++at)
    if (fs::create_directory(*at, error)) folder.made_.push_back(at->string());
  if (!error && !fs::is_directory(path, error) && !error) error = std::make_error_code(std::errc::not_a_directory);
  if (error) return Status::invalid(fmt::format("cannot make the folder {}: {}", path, error.message()));
  return folder;
}

MadeFolder::~MadeFolder() {
  for (auto at = made_.rbegin(); at != made_.rend(); ++at) rmdir(at->c_str());
}

}  // namespace tokitai::cli
