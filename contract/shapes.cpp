#include "contract/shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace tokitai {
namespace {

using Shape = std::vector<std::string_view>;

class Shapes {
 public:
  Shapes(const Contract& contract, const Record& record) : contract_(contract), record_(record) {}

  std::optional<Disagreement> check() {
    const Set used = record_.reads | record_.writes | record_.made;
    switch (record_.pattern) {
      case Pattern::each:
        if (contract_.list)
          list(used);
        else
          elements(used);
        break;
      case Pattern::list_sum: list(used); break;
      case Pattern::row: rows(used); break;
      case Pattern::segment: segments(); break;
      case Pattern::tile: tiles(); break;
    }
    batch();
    return found_;
  }

 private:
  Shape of(int operand) const {
    const OperandSpec& spec = contract_.operands[static_cast<std::size_t>(operand)];
    return {spec.shape.begin(), spec.shape.begin() + spec.rank()};
  }
  static Shape leading(const Shape& shape) { return {shape.begin(), shape.end() - 1}; }

  void refuse(int operand, const std::string& what) {
    const OperandSpec& spec = contract_.operands[static_cast<std::size_t>(operand)];
    if (!found_)
      found_ = Disagreement{
          fmt::format("{}: {} has shape [{}]; {}", contract_.name, spec.name, fmt::join(of(operand), ", "), what),
          operand, spec.role != Role::in, true};
  }
  void expect(Set operands, const Shape& shape, std::string_view as) {
    for (int i = 0; i < static_cast<int>(contract_.operands.size()); ++i)
      if (holds(operands, i) && of(i) != shape)
        refuse(i, fmt::format("{} it must be [{}]", as, fmt::join(shape, ", ")));
  }

  void elements(Set used) {
    const Shape first = of(0);
    if (holds(record_.tables | record_.row_values | record_.once, 0)) refuse(0, "the first operand holds the elements");
    expect(used & ~(record_.tables | record_.row_values | record_.once), first, "as the first operand's elements,");
    if (first.size() > 1) expect(record_.row_values, leading(first), "with one value for each row");
    for (int i = 0; i < static_cast<int>(contract_.operands.size()); ++i)
      if (holds(record_.tables, i) && of(i).size() != 2) refuse(i, "a table has two sizes");
  }
  void list(Set used) {
    Set tensors = 0;
    for (int i = 0; i < static_cast<int>(contract_.operands.size()); ++i)
      if (!contract_.has_once(contract_.operands[static_cast<std::size_t>(i)])) tensors |= set_of(i);
    if (of(0).size() != 1) refuse(0, "the one size of a list stands for a tensor's elements, whatever its shape");
    expect(used & tensors, of(0), "as all of a list,");
  }
  void rows(Set used) {
    const Shape first = of(0);
    const Set whole = record_.loaded | record_.read | record_.made | record_.stored;
    if (!holds(whole, 0) || first.size() < 2) return refuse(0, "the first operand holds the rows, [rows, cols]");
    expect(whole, first, "as the first operand's rows,");
    expect(record_.columns | record_.column_sums, {first.back()}, "with one value for each column");
    expect(record_.once, {"1"}, "as the call has one,");
    const Set puts = used & ~(whole | record_.columns | record_.column_sums | record_.once);
    expect(puts | record_.row_values, leading(first), "with one value for each row");
  }
  void segments() {
    const Shape table = of(record_.table), queries = of(record_.queries);
    if (table.size() != 2) return refuse(record_.table, "a table has two sizes");
    if (queries.size() != 2 || queries[1] != table[1])
      refuse(record_.queries, fmt::format("its rows are as wide as the table's, {}", table[1]));
    else
      expect(set_of(record_.index), {queries[0]}, "with one index for each row");
  }
  // Of grouped products the first factor's rows are sorted by group. They are the product's too, or else what is summed
  // over; what does not have them has a matrix per group.
  void tiles() {
    const bool grouped = record_.offsets >= 0;
    const auto matrices = [&](int operand) {
      return grouped && operand == (record_.a_transposed ? record_.out : record_.b);
    };
    for (const int operand : {record_.a, record_.b, record_.out})
      if (of(operand).size() != (matrices(operand) ? 3 : 2))
        return refuse(operand, matrices(operand) ? "it must have a matrix per group: three sizes"
                                                 : "a factor or a product has two sizes");
    if (grouped) {
      const Shape all = of(record_.a_transposed ? record_.out : record_.b);
      const Shape offsets = of(record_.offsets);
      if (offsets.size() != 1 || size_named(offsets[0]).symbol != all[0] || size_named(offsets[0]).more != 1)
        return refuse(record_.offsets, fmt::format("as offsets it must be [{}+1]", all[0]));
    }
    const auto one = [&](int operand) {
      const Shape shape = of(operand);
      return matrices(operand) ? Shape{shape[1], shape[2]} : shape;
    };
    const auto turned = [&](int operand, bool transposed) {
      Shape shape = one(operand);
      if (transposed) std::swap(shape[0], shape[1]);
      return shape;
    };
    const Shape a = turned(record_.a, record_.a_transposed), b = turned(record_.b, record_.b_transposed);
    if (a[1] != b[0]) refuse(record_.b, fmt::format("what is summed over is {} in the other factor", a[1]));
    if (one(record_.out) != Shape{a[0], b[1]})
      refuse(record_.out,
             fmt::format("as the product of both factors it must be [{}{}, {}]",
                         matrices(record_.out) ? fmt::format("{}, ", of(record_.out)[0]) : "", a[0], b[1]));
  }

  // Elements and rows are cut between rows.
  void batch() {
    if (contract_.batch.empty() || contract_.list) return;
    if (record_.pattern != Pattern::each && record_.pattern != Pattern::row) return;
    for (int i = 0; i < static_cast<int>(contract_.operands.size()); ++i) {
      const Shape shape = of(i);
      const auto at = std::find(shape.begin(), shape.end(), contract_.batch);
      if (at != shape.end() && at != shape.begin())
        refuse(i, fmt::format("a call can be cut along its first size alone, and batch is {}", contract_.batch));
    }
  }

  const Contract& contract_;
  const Record& record_;
  std::optional<Disagreement> found_;
};

}  // namespace

std::optional<Disagreement> shape_disagreement(const Contract& contract, const Record& record) {
  return Shapes(contract, record).check();
}

}  // namespace tokitai
