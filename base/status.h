// What a call answers: good, or a code and one sentence naming the operand, the value and the limit.
// The library neither prints nor throws nor aborts, but where a Result is asked for a value that it does not have. The
// codes are the command's exit codes.
#pragma once
#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace tokitai {

enum class Code {
  ok = 0,
  check_failed = 1,  // a comparison or a check did not hold
  invalid = 2,       // bad usage or input; nothing was written
  unavailable = 3,   // a device or toolchain is missing
  internal = 4,      // a bug of ours
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  static Status invalid(std::string message) { return {Code::invalid, std::move(message)}; }

  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::ok;
  std::string message_;
};

// Prints "tokitai: " and the status's sentence to standard error, and aborts.
[[noreturn]] void end_without_value(const Status& status);

// A value, or the reason there is none. It holds both itself and refers to nothing else. Asking for the value without
// looking first is to say that there is one: where there is none, the program ends with the reason.
template <class T> class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                                  // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return there(), *value_; }
  const T& value() const& { return there(), *value_; }
  T value() && { return there(), *std::move(value_); }
  T* operator->() { return there(), &*value_; }
  const T* operator->() const { return there(), &*value_; }

 private:
  void there() const {
    if (!value_.has_value()) [[unlikely]]
      end_without_value(status_);
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace tokitai
