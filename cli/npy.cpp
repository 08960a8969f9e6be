// Reading .npy files: sizes are checked against the file before a byte of data is read, and the read must
// deliver every byte. Files are opened twice rather than kept open: a list may have thousands.
#include "cli/npy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/files.h"

static_assert(std::endian::native == std::endian::little, "files are little-endian and read as they are");

namespace tokitai::cli {
namespace {

constexpr std::int64_t kLongestHeader = 65535;

class File {
 public:
  explicit File(const std::string& path) : file_(base::open_regular(path)) {}

  // Its size, or why it has none.
  Result<std::int64_t> size() const {
    if (!file_.ok()) return Status::invalid(fmt::format("cannot be opened: {}", file_.status().message()));
    return std::int64_t{file_->about.st_size};
  }

  Status read_at(std::int64_t offset, void* memory, std::int64_t bytes) const {
    constexpr std::int64_t kMost = 1 << 30;  // one read gives no more than 2 GiB
    auto* to = static_cast<char*>(memory);
    while (bytes > 0) {
      const ssize_t got = pread(file_->descriptor.get(), to, static_cast<std::size_t>(std::min(bytes, kMost)), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Status::invalid(fmt::format("cannot be read: {}", std::strerror(errno)));
      if (got == 0) return Status::invalid(fmt::format("ends {} bytes too early", bytes));
      to += got, offset += got, bytes -= got;
    }
    return {};
  }

 private:
  Result<base::OpenFile> file_;
};

std::uint32_t little_endian(const unsigned char* bytes, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

Result<NpyHeader> header_of(const File& file) {
  const auto size = file.size();
  if (!size.ok()) return size.status();
  unsigned char prefix[12] = {};
  const std::int64_t present = std::min<std::int64_t>(size.value(), sizeof prefix);
  if (Status status = file.read_at(0, prefix, present); !status.ok()) return status;
  if (present < 10 || std::memcmp(prefix, "\x93NUMPY", 6) != 0)
    return Status::invalid(fmt::format("is not a NumPy file: its {} bytes do not begin as one", size.value()));
  const int major = prefix[6], minor = prefix[7];
  if (major < 1 || major > 3 || minor != 0)
    return Status::invalid(fmt::format("has format version {}.{}; allowed are 1.0, 2.0 and 3.0", major, minor));

  const std::int64_t begin = major == 1 ? 10 : 12;
  const std::int64_t length = little_endian(prefix + 8, major == 1 ? 2 : 4);
  if (length > kLongestHeader)
    return Status::invalid(fmt::format("claims a header of {} bytes; at most {} are allowed", length, kLongestHeader));
  if (begin + length > size.value())
    return Status::invalid(fmt::format("claims a header of {} bytes, but has {} bytes in all", length, size.value()));
  std::string text(static_cast<std::size_t>(length), ' ');
  if (Status status = file.read_at(begin, text.data(), length); !status.ok()) return status;

  auto header = parse_npy_dictionary(text);
  if (!header.ok()) return Status::invalid("is not readable: " + header.status().message());
  header->data_offset = begin + length;
  if (const std::int64_t data = size.value() - header->data_offset; data != header->bytes())
    return Status::invalid(fmt::format("holds {} bytes of data; its shape and type need {}", data, header->bytes()));
  return header;
}

Status named(const std::string& path, const Status& status) {
  return status.ok() ? status : Status(status.code(), fmt::format("{} {}", path, status.message()));
}

}  // namespace

Result<NpyHeader> read_npy_header(const std::string& path) {
  auto header = header_of(File(path));
  return header.ok() ? header : named(path, header.status());
}

Status read_npy_data(const std::string& path, const NpyHeader& header, void* memory) {
  const File file(path);
  const auto size = file.size();
  if (!size.ok()) return named(path, size.status());
  if (size.value() != header.data_offset + header.bytes()) return Status::invalid(path + " changed while it was read");
  return named(path, file.read_at(header.data_offset, memory, header.bytes()));
}

}  // namespace tokitai::cli
