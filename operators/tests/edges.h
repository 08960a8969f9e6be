// A call with data put in place by hand, on every device of the host: what contracts say of their edges is looked at
// where it is claimed to be.
#pragma once
#include <gtest/gtest.h>

#include "machines/reference/memory.h"
#include "problems/instance.h"
#include "tokitai/device.h"

namespace tokitai {

inline std::vector<Device> host_devices() {
  std::vector<Device> devices{open("reference").value()};
  for (const std::string& isa : cpu_isas()) devices.push_back(open("cpu", {.threads = 3, .isa = isa}).value());
  return devices;
}

// The operands of one set, by name.
struct Operand {
  const Contract* contract;
  const Operands* set;
  const View& operator()(std::string_view name) const {
    return (*set)[static_cast<std::size_t>(contract->operand_index(name))];
  }
};

// `fill` writes into operands, `look` reads what is in them after the call. A line stands for several problems.
template <class Fill, class Look> void on_every_device(std::string_view line, const Fill& fill, const Look& look) {
  for (const problems::Problem& problem : problems::parse_problems(line).value())
    for (Device& device : host_devices()) {
      SCOPED_TRACE(problem.text() + " on " + device.description());
      const auto instance = problems::Instance::make(problem).value();
      const Operand operand{problem.contract, &instance.sets()[0]};
      fill(operand);
      Call call = instance.call();
      const Status status = device.run(call);
      ASSERT_TRUE(status.ok()) << status.message();
      look(operand);
    }
}

inline void set_all(const View& view, float value) {
  for (std::int64_t r = 0; r < view.rows(); ++r)
    for (std::int64_t c = 0; c < view.cols(); ++c) reference::write(view, r, c, value);
}
inline void set_row(const View& view, std::int64_t row, std::initializer_list<float> values) {
  std::int64_t c = 0;
  for (const float value : values) reference::write(view, row, c++, value);
}
inline float value_at(const View& view, std::int64_t row, std::int64_t col = 0) {
  return reference::read(view, row, col);
}

constexpr char kTypes[] = " type=f16,bf16,f32";
inline std::string in_every_type(std::string_view line) { return std::string(line) + kTypes; }
inline float largest(Type type) {
  return type == Type::f16 ? 65504.0f : type == Type::bf16 ? 0x1.fep127f : 0x1.fffffep127f;
}
inline float smallest(Type type) { return type == Type::f16 ? 0x1p-24f : type == Type::bf16 ? 0x1p-133f : 0x1p-149f; }
// A number below the normal range.
inline float three(const View& view) { return 3 * smallest(view.type); }

inline const float kNan = from_bits(0xffc12345u);  // not the canonical one

inline bool is_nan(float x) { return x != x; }
inline bool is_plus_zero(float x) { return bits(x) == 0; }
inline bool is_subnormal(float x, Type type) {
  const float smallest_normal = type == Type::f16 ? 0x1p-14f : 0x1p-126f;
  return x != 0 && (x < 0 ? -x : x) < smallest_normal;
}
// The NaN of its type that every operator stores.
inline bool is_canonical_nan(const View& view, std::int64_t row, std::int64_t col = 0) {
  switch (view.type) {
    case Type::f16: return reference::at<std::uint16_t>(view, row, col) == kCanonicalNanF16;
    case Type::bf16: return reference::at<std::uint16_t>(view, row, col) == kCanonicalNanBf16;
    default: return bits(reference::at<float>(view, row, col)) == kCanonicalNan;
  }
}

// With NaNs of other bits in every input, every NaN that is stored is the canonical one, and some are.
inline void expect_canonical_nans(std::string_view line) {
  std::int64_t nans = 0;
  const problems::Problem problem = problems::parse_problems(line).value().front();
  on_every_device(
      in_every_type(line) + " data=special",
      [&](const Operand& operand) {
        for (const OperandSpec& spec : problem.contract->operands)
          if (const View& view = operand(spec.name);
              view.present() && spec.role != Role::out && spec.type != TypeRule::index)
            for (std::int64_t r = 0; r < view.rows(); r += 2) {
              if (view.type == Type::f32)
                reference::at<float>(view, r, 0) = kNan;
              else
                reference::at<std::uint16_t>(view, r, 0) = view.type == Type::f16 ? 0xfe01 : 0xffc1;
            }
      },
      [&](const Operand& operand) {
        for (const OperandSpec& spec : problem.contract->operands)
          if (const View& view = operand(spec.name);
              view.present() && spec.role != Role::in && spec.type != TypeRule::i64)
            for (std::int64_t r = 0; r < view.rows(); ++r)
              for (std::int64_t c = 0; c < view.cols(); ++c)
                if (is_nan(value_at(view, r, c))) {
                  ++nans;
                  ASSERT_TRUE(is_canonical_nan(view, r, c)) << spec.name << "[" << r << ", " << c << "]";
                }
      });
  EXPECT_GT(nans, 0) << line;
}

// A number below the normal range comes in by `fill`, is computed with and comes out.
template <class Fill> void expect_subnormal(std::string_view line, std::string_view output, const Fill& fill) {
  on_every_device(in_every_type(line), fill, [&](const Operand& operand) {
    EXPECT_TRUE(is_subnormal(value_at(operand(output), 0, 0), operand(output).type)) << line;
  });
}

}  // namespace tokitai
