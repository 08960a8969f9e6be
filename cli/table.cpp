// Column widths and alignment from the cells themselves.
#include "cli/table.h"

#include <algorithm>
#include <string_view>

#include "base/printable.h"

namespace tokitai::cli {
namespace {

bool is_empty(std::string_view cell) { return cell.empty() || cell == "-"; }
bool is_number(std::string_view cell) {
  return cell.find_first_not_of("0123456789.,+-eE%") == std::string_view::npos &&
         cell.find_first_of("0123456789") <= 2;  // after a sign and a point at the most
}

// Characters on the screen: bytes that do not continue a UTF-8 sequence.
std::size_t width_of(std::string_view cell) {
  return static_cast<std::size_t>(
      std::count_if(cell.begin(), cell.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// No cell begins a line.
std::vector<std::string> in_line(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = base::one_line(cell);
  return cells;
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(in_line(std::move(header))) {}

void Table::add(std::vector<std::string> row) {
  row.resize(header_.size());
  rows_.push_back(in_line(std::move(row)));
}

std::string Table::text(std::size_t indent) const {
  const std::size_t columns = header_.size();
  std::vector<std::size_t> width(columns);
  std::vector<bool> right(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    width[c] = width_of(header_[c]);
    bool numbers = false, words = false;
    for (const auto& row : rows_) {
      width[c] = std::max(width[c], width_of(row[c]));
      numbers = numbers || is_number(row[c]);
      words = words || !(is_number(row[c]) || is_empty(row[c]));
    }
    right[c] = numbers && !words;
  }

  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(indent, ' ');
    for (std::size_t c = 0; c < columns; ++c) {
      const std::string blanks(width[c] - width_of(cells[c]), ' ');
      text += (c == 0 ? "" : "  ") + (right[c] ? blanks + cells[c] : cells[c] + blanks);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line(header_);
  std::vector<std::string> rule(columns);
  for (std::size_t c = 0; c < columns; ++c) rule[c] = std::string(width[c], '-');
  line(rule);
  for (const auto& row : rows_) line(row);
  return out;
}

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  const std::string margin(indent, ' ');
  std::string out, line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (!line.empty() && indent + width_of(line) + 1 + width_of(word) > width) {
      out += margin + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + margin + line + "\n";
}

}  // namespace tokitai::cli
