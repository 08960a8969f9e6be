#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tokitai::base {
namespace {

namespace fs = std::filesystem;

Status fail(std::string_view what, const fs::path& path) {
  return {Code::unavailable, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno))};
}

Status write_all(const Descriptor& file, const fs::path& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

enum class Whose : std::uint8_t { anybodys, own };

Result<std::string> read(const fs::path& path, std::uint64_t most, Whose whose) {
  const auto refuse = [&](std::string_view why) {
    return Status(Code::unavailable, fmt::format("cannot read {}: {}", path.string(), why));
  };
  const auto file = open_regular(path);
  if (!file.ok()) return refuse(file.status().message());
  if (whose == Whose::own)
    if (const std::string others = changeable_by(file->about); !others.empty()) return refuse(others);
  if (const auto bytes = static_cast<std::uint64_t>(file->about.st_size); bytes > most)
    return refuse(fmt::format("it has {} bytes; at most {} are read", bytes, most));
  std::string out;
  char buffer[1 << 16];
  while (out.size() <= most) {
    const ssize_t got = ::read(file->descriptor.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(std::strerror(errno));
    if (got == 0) return out;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  return refuse(fmt::format("it grew; at most {} bytes are read", most));
}

}  // namespace

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Result<OpenFile> open_regular(const fs::path& path) {
  OpenFile file{Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))};
  if (!file.descriptor || ::fstat(file.descriptor.get(), &file.about) != 0)
    return Status::invalid(std::strerror(errno));
  if (!S_ISREG(file.about.st_mode)) return Status::invalid("it is not a regular file");
  return file;
}

Result<std::string> read_file(const fs::path& path, std::uint64_t most) { return read(path, most, Whose::anybodys); }
Result<std::string> read_own_file(const fs::path& path) { return read(path, kLargestFile, Whose::own); }

std::string changeable_by(const struct stat& about) {
  if (about.st_uid != ::geteuid() && about.st_uid != 0)
    return fmt::format("it belongs to user {}; we are {}", about.st_uid, ::geteuid());
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("others may write it: its mode is {:o}", about.st_mode & 07777);
  return {};
}

Status write_file(const fs::path& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return fail("write", path);
  return write_all(file, path, bytes);
}

Status replace_file(const fs::path& path, std::string_view bytes) {
  std::string beside = path.string() + ".XXXXXX";
  Descriptor file(::mkostemp(beside.data(), O_CLOEXEC));
  if (!file) return fail("write", beside);
  Status status = write_all(file, beside, bytes);
  file.close();
  if (status.ok() && ::rename(beside.c_str(), path.c_str()) != 0) status = fail("write", path);
  if (!status.ok()) ::unlink(beside.c_str());
  return status;
}

Status make_own_folders(const fs::path& path) {
  fs::path made;
  for (const fs::path& part : path) {
    made /= part;
    if (::mkdir(made.c_str(), S_IRWXU) != 0 && errno != EEXIST) return fail("make the folder", made);
  }
  return {};
}

Result<fs::path> make_folder(const fs::path& parent, std::string_view prefix) {
  std::string name = (parent / fmt::format("{}XXXXXX", prefix)).string();
  if (::mkdtemp(name.data()) == nullptr) return fail("make the folder", name);
  return fs::path(name);
}

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error) parent = "/tmp";
  auto path = make_folder(parent, "tokitai-");
  if (!path.ok()) return path.status();
  return TemporaryFolder(std::move(path).value());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace tokitai::base
