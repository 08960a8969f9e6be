// A message that arrives in pieces. Whoever reads asks where the next bytes go; the memory of a body is there only once
// it has been granted, so that a length costs nothing by itself.
#pragma once
#include <array>
#include <span>

#include "server/channel.h"

namespace tokitai::server {

class Inbox {
 public:
  explicit Inbox(std::uint32_t most_body) : most_body_(most_body) {}

  // Where the next bytes go. Empty: the message is complete, or its body has not been granted.
  std::span<char> room();
  // So many of them have come. Bad: this is no message, and nothing more can be read.
  Status took(std::size_t bytes);
  bool begun() const { return got_ > 0; }
  // Its header is there, and the body's memory is not.
  bool asks() const { return got_ == kHeaderBytes && !granted_; }
  std::uint32_t length() const { return message_.header.length; }
  void grant();
  bool complete() const { return granted_ && got_ == kHeaderBytes + message_.header.length; }
  // The complete message; the next one begins.
  Message take();

 private:
  const std::uint32_t most_body_;
  std::array<char, kHeaderBytes> header_{};
  Message message_;
  std::size_t got_ = 0;
  bool granted_ = false;
};

}  // namespace tokitai::server
