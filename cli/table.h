// A table of text with aligned columns: numbers to the right, everything else to the left.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace tokitai::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void add(std::vector<std::string> row);  // a shorter row is filled up with empty cells
  // The header, a rule, the rows; two blanks between columns, none at the end of a line.
  std::string text(std::size_t indent = 0) const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` in lines of at most `width` characters, broken at blanks, each line with that indent.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width = 100);

}  // namespace tokitai::cli
