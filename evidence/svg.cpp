#include "evidence/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "reports/page.h"

namespace tokitai::evidence {
namespace {

// The drawing's size, and the plot's place in it.
constexpr double kWidth = 440, kHeight = 230, kLeft = 54, kRight = 16, kTop = 12, kBottom = 44;

class Drawing {
 public:
  explicit Drawing(std::string_view title)
      : out_(fmt::format(R"(<svg viewBox="0 0 {} {}" role="img" aria-label="{}">)", kWidth, kHeight, escaped(title))) {}
  void line(double x1, double y1, double x2, double y2, std::string_view kind) {
    add(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", kind, x1, y1, x2, y2);
  }
  void bar(double x, double y, double width, double height, std::string_view title) {
    add(R"(<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>)", x, y,
        width, height, escaped(title));
  }
  void dot(double x, double y, std::string_view title) {
    add(R"(<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="6"><title>{}</title></circle>)", x, y, escaped(title));
  }
  void text(double x, double y, std::string_view anchor, std::string_view words) {
    add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor, escaped(words));
  }
  std::string done() { return out_ + "</svg>"; }

 private:
  template <class... Values> void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }
  std::string out_;
};

// A place on an axis, linear in what it is given.
struct Axis {
  double least, most, from, to;
  double at(double value) const { return from + (value - least) / (most - least) * (to - from); }
};

// Labels at the ends of an axis stay within the drawing and clear of the other axis's.
std::string_view anchor_of(bool first, bool last) { return first ? "start" : last ? "end" : "middle"; }

std::string power_of_ten(double exponent) {
  return exponent >= -2 && exponent <= 4 ? fmt::format("{:g}", std::pow(10, exponent))
                                         : fmt::format("1e{:.0f}", exponent);
}

}  // namespace

std::string error_histogram(const ErrorFigures& f) {
  if (f.bins.empty() || f.bin_edges.size() != f.bins.size() + 1) return {};
  Drawing d(fmt::format("{}: f16 outputs by their error in units in the last place", f.name));
  const double tallest = static_cast<double>(*std::max_element(f.bins.begin(), f.bins.end()));
  // Bins are equally wide whatever they hold: most errors lie below one unit, and the few others matter.
  const Axis x{0, static_cast<double>(f.bins.size()), kLeft, kWidth - kRight};
  const Axis y{0, std::max(1.0, std::ceil(std::log10(1 + tallest))), kHeight - kBottom, kTop};
  const int step = y.most > 5 ? 2 : 1;
  for (int decade = 0; decade <= static_cast<int>(y.most); decade += step) {
    d.line(kLeft, y.at(decade), kWidth - kRight, y.at(decade), "grid");
    d.text(kLeft - 6, y.at(decade) + 4, "end", power_of_ten(decade));
  }
  for (std::size_t i = 0; i < f.bins.size(); ++i) {
    if (f.bins[i] <= 0) continue;
    const double left = x.at(static_cast<double>(i)), right = x.at(static_cast<double>(i + 1));
    // A single output is a visible bar.
    const double top = y.at(std::max(std::log10(1 + static_cast<double>(f.bins[i])), y.most / 60));
    d.bar(left + 0.5, top, std::max(right - left - 1, 0.5), y.from - top,
          fmt::format("{:g} to {:g}: {}", f.bin_edges[i], f.bin_edges[i + 1], f.bins[i]));
  }
  d.line(kLeft, y.from, kWidth - kRight, y.from, "axis");
  for (std::size_t i = 0; i < f.bins.size(); ++i)  // the last bin ends with the worst error, which is told in words
    d.text(x.at(static_cast<double>(i)), y.from + 16, anchor_of(i == 0, false), fmt::format("{:.3g}", f.bin_edges[i]));
  d.text((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle",
         "error in units in the last place; f16 outputs, logarithmic");
  return d.done();
}

std::string roofline(const SpeedFigures& f) {
  if (f.flops <= 0 || f.bytes <= 0 || f.seconds <= 0 || f.copy_gb_per_s <= 0) return {};
  Drawing d(fmt::format("{}: speed under the roof of the copy bandwidth", f.name));
  const double intensity = std::log10(static_cast<double>(f.flops) / static_cast<double>(f.bytes));
  const double speed = std::log10(f.gflop_per_s()), copy = std::log10(f.copy_gb_per_s);
  const Axis x{std::floor(intensity) - 1, std::floor(intensity) + 2, kLeft, kWidth - kRight};
  const double roof_least = x.least + copy, roof_most = x.most + copy;
  const Axis y{std::floor(std::min(roof_least, speed)), std::ceil(std::max(roof_most, speed)), kHeight - kBottom, kTop};
  for (double decade = y.least; decade <= y.most; decade += 1) {
    d.line(kLeft, y.at(decade), kWidth - kRight, y.at(decade), "grid");
    d.text(kLeft - 6, y.at(decade) + 4, "end", power_of_ten(decade));
  }
  for (double decade = x.least; decade <= x.most; decade += 1)
    d.text(x.at(decade), y.from + 16, anchor_of(decade == x.least, decade == x.most), power_of_ten(decade));
  d.line(x.from, y.at(roof_least), x.to, y.at(roof_most), "roof");
  d.line(x.at(intensity), y.from, x.at(intensity), y.at(intensity + copy), "drop");
  d.dot(x.at(intensity), y.at(speed), fmt::format("{:.1f} GFLOP/s, {:.1f} GB/s", f.gflop_per_s(), f.gb_per_s()));
  d.line(kLeft, y.from, kWidth - kRight, y.from, "axis");
  d.text((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", "operations per byte moved; GFLOP/s upwards");
  return d.done();
}

}  // namespace tokitai::evidence
