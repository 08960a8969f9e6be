#include "loader/hand_over.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "contract/registry.h"

namespace tokitai::loader {
namespace {

Status failed(const char* what) {
  return {Code::unavailable, fmt::format("loaded operators cannot be handed over: {}: {}", what, std::strerror(errno))};
}

}  // namespace

Result<base::Descriptor> loaded_folders() {
  std::string all;
  for (const auto& folder : operator_folders())
    if (!folder->written.empty()) all += fmt::format("{}\n{}", folder->written.size(), folder->written);
  if (all.empty()) return base::Descriptor();
  base::Descriptor file(::memfd_create("operators", MFD_CLOEXEC));
  if (!file) return failed("memfd_create");
  for (std::size_t done = 0; done < all.size();) {
    const ssize_t put = ::pwrite(file.get(), all.data() + done, all.size() - done, static_cast<off_t>(done));
    if (put < 0 && errno != EINTR) return failed("write");
    done += static_cast<std::size_t>(std::max<ssize_t>(put, 0));
  }
  return file;
}

Status load_handed_over(int descriptor) {
  std::string all;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::pread(descriptor, buffer, sizeof buffer, static_cast<off_t>(all.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read");
    if (got == 0) break;
    all.append(buffer, static_cast<std::size_t>(got));
  }
  for (std::string_view left = all; !left.empty();) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), length);
    left.remove_prefix(static_cast<std::size_t>(end - left.data()));
    if (error != std::errc() || !left.starts_with('\n') || length > left.size() - 1)
      return {Code::internal, "folders of operators that were handed over cannot be read"};
    if (Status s = load_written(left.substr(1, length)); !s.ok()) return s;
    left.remove_prefix(1 + length);
  }
  return {};
}

}  // namespace tokitai::loader
