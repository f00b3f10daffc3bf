// Tables for people: columns as wide as they need to be, cut to the width of the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"

namespace pawl::cli {

// Columns that a terminal needs for it: two for wide characters, none for marks on others.
std::size_t display_width(std::string_view utf8);
// Control characters escaped, and cut to so many columns, with "…" at the end.
std::string fitted(std::string_view text, std::size_t columns);

class Table {
 public:
  // An empty name: a column without a head. The column that gives way if it is too wide is the
  // widest one.
  explicit Table(std::vector<std::string> heads) : heads_(std::move(heads)) {}

  struct Cell {
    std::string text;
    Tone tone = Tone::kPlain;
  };
  void add(std::vector<Cell> cells) { rows_.push_back(std::move(cells)); }
  bool is_empty() const { return rows_.empty(); }
  // With the heads, if there are any.
  void print(Console& console) const;

 private:
  std::vector<std::string> heads_;
  std::vector<std::vector<Cell>> rows_;
};

// "completed" in green …
Tone status_tone(std::string_view status);

}  // namespace pawl::cli
