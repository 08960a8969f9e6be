#include "server/inbox.h"

#include <fmt/format.h>

namespace tokitai::server {

std::span<char> Inbox::room() {
  if (got_ < kHeaderBytes) return std::span(header_).subspan(got_);
  return granted_ ? std::span(message_.body).subspan(got_ - kHeaderBytes) : std::span<char>();
}

Status Inbox::took(std::size_t bytes) {
  const bool had_header = got_ >= kHeaderBytes;
  got_ += bytes;
  if (had_header || got_ < kHeaderBytes) return {};
  auto header = decode_header({header_.data(), header_.size()});
  if (!header.ok()) return header.status();
  if (header->length > most_body_)
    return Status::invalid(fmt::format("a message of {} bytes; the most here is {}", header->length, most_body_));
  message_.header = header.value();
  return {};
}

void Inbox::grant() {
  message_.body.resize(message_.header.length);
  granted_ = true;
}

Message Inbox::take() {
  got_ = 0;
  granted_ = false;
  return std::exchange(message_, {});
}

}  // namespace tokitai::server
