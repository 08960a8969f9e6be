#include "compiler/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tokitai::compiler {
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

}  // namespace

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Result<std::string> read_file(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail("read", path);
  std::string out;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail("read", path);
    if (got == 0) return out;
    out.append(buffer, static_cast<std::size_t>(got));
  }
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

}  // namespace tokitai::compiler
